// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bump moves all modules to another version of client-go, and says what there is to do.
//
//	cd tools && go run ./bump              # the newest patch of the minor that go.mod has
//	cd tools && go run ./bump -to v0.38    # the newest patch of another minor
//	cd tools && go run ./bump -n -to v0.38 # change nothing: list what is new in client-go
//	cd tools && go run ./bump -test        # run our tests of the root, and client-go's own, too
//
// It asks the module proxy for the versions, and lists which names of tools/cache, synctrack and
// testing are new, have changed, are gone or have become deprecated. Then it changes the
// requirements of all go.mod files, runs go generate, builds and vets each module, and tidies it;
// where that fails it goes on with the next one. The last step is TestSurface, which has a line for
// each name that is missing or different.
//
// What it cannot do is written in docs/versioning.md. Run it in a clean tree: git then shows what
// it has changed, and git checkout takes it back.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errToDo):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "bump:", err)
		os.Exit(2)
	}
}

// errToDo is returned when a step has failed, which has been printed.
var errToDo = errors.New("there is something to do")

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("bump", flag.ContinueOnError)
	flags.SetOutput(complaints)
	b := bump{out: out}
	flags.StringVar(&b.dir, "C", "..", "`folder` of the root module")
	to := flags.String("to", "", "a `version` of client-go, or a minor like v0.38 (default the minor that go.mod has)")
	modules := flags.String("modules", "", "move only these `folders` of modules, separated by commas; . is the root (default all)")
	only := flags.Bool("n", false, "change nothing")
	flags.BoolVar(&b.test, "test", false, "run tests at the end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	var err error
	if b.dir, err = filepath.Abs(b.dir); err != nil {
		return err
	}
	if err := b.choose(ctx, *to); err != nil {
		return err
	}
	fmt.Fprintf(out, "client-go %s -> %s\n", b.from, b.to)
	if err := b.printNews(ctx); err != nil {
		return err
	}
	if *only || b.from == b.to && !b.test {
		return nil
	}
	if b.modules = strings.FieldsFunc(*modules, func(r rune) bool { return r == ',' }); len(b.modules) == 0 {
		if b.modules, err = allModules(b.dir); err != nil {
			return err
		}
	}
	return b.move(ctx)
}
