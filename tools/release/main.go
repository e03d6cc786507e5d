// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command release checks that a version can be tagged, and tags it.
//
//	cd tools && go run ./release -version v0.37.0 -dry-run   # checks, prints tags and notes
//	cd tools && go run ./release -version v0.37.1 -write     # before that, for the next version
//	cd tools && go run ./release -version v0.37.0            # checks, runs make test, sets the tags
//	cd tools && go run ./release -version v0.37.0 -sbom      # a bill of materials
//
// It pushes nothing, and prints the command that does. What it checks is a table in checks.go.
//
// # What is published
//
// The root module, and the nested modules kinformerprom and kinformerotel, each by a tag of its own
// on the same commit. The other nested modules are for what only we need and are never tagged.
//
// In this repository a nested module is built with the root beside it, by a replace directive. The
// go command ignores that directive in a module that somebody requires. There the require line
// counts, so it has to name a version that exists: the one that is tagged with it. This is what
// -write does, in all go.mod files, because the go command wants them to agree. Here the replace
// directive lets the line name a version that does not exist yet. The root's tag goes first: a
// module proxy that sees a nested module's tag asks for the root's, and may remember for a while
// that there is none.
//
// Between two releases the nested modules require the last one, so who wants their state of main
// names both:
//
//	go get github.com/kinformer/cache@main github.com/kinformer/cache/kinformerprom@main
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errNotReady):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(2)
	}
}

// errNotReady is returned when a check has failed, which has been printed.
var errNotReady = errors.New("not ready")

func run(ctx context.Context, args []string, out, complaints io.Writer) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	flags.SetOutput(complaints)
	r := ours()
	flags.StringVar(&r.version, "version", "", "the `version` to tag, as v0.37.0")
	flags.StringVar(&r.dir, "C", "..", "`folder` of the root module")
	dry := flags.Bool("dry-run", false, "set no tag")
	write := flags.Bool("write", false, "write the version into all go.mod files that require one of our modules, and end")
	bill := flags.Bool("sbom", false, "print a bill of materials in SPDX 2.3, and end")
	flags.BoolVar(&r.test, "test", false, "run make test in a dry run, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := r.complete(); err != nil {
		return err
	}
	switch {
	case *write:
		return r.write()
	case *bill:
		return r.writeBill(ctx, out, time.Now())
	}
	r.test = r.test || !*dry
	if err := r.check(ctx, out); err != nil {
		return err
	}
	return r.finish(ctx, out, *dry)
}

// finish sets the tags, unless this is a dry run, and prints what is to be done next.
func (r *release) finish(ctx context.Context, out io.Writer, dry bool) error {
	tags, notes := r.tags(), r.notes()
	if dry {
		fmt.Fprintln(out, "\nTags, in this order, all on the same commit (the command without -dry-run sets them):")
	} else {
		fmt.Fprintln(out, "\nTags that were set, in this order:")
	}
	for _, tag := range tags {
		fmt.Fprintln(out, "   ", tag)
		if dry {
			continue
		}
		if _, err := git(ctx, r.dir, "tag", "-a", "-m", tag, tag); err != nil {
			return err
		}
	}
	fmt.Fprintln(out, "\nThen push them, one after the other:")
	for _, tag := range tags {
		fmt.Fprintln(out, "    git push origin", tag)
	}
	fmt.Fprintf(out, "and name %s in tools/api/baseline.txt, so that make api guards its names from then on.\n", r.version)
	fmt.Fprintf(out, "\nNotes:\n\n%s", notes)
	return nil
}
