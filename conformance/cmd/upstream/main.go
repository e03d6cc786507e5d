// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command upstream runs client-go's own tests of tools/cache, read from the module cache, against
// this project.
//
//	cd conformance && go run ./cmd/upstream [-run regexp] [-v] [-keep dir] [-target kinformer|clientgo]
//
// It prints which tests were kept, passed and failed, and why each other one was dropped. The exit
// status is 1 when a test did not end as expected, 2 when the tests could not be run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strings"
	"syscall"

	"github.com/kinformer/cache/conformance/upstream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:])
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, "upstream:", err)
	if errors.Is(err, upstream.ErrNotAsExpected) {
		os.Exit(1)
	}
	os.Exit(2)
}

func run(ctx context.Context, args []string) error {
	o := upstream.Options{Out: os.Stdout}
	flags := flag.NewFlagSet("upstream", flag.ContinueOnError)
	target := flags.String("target", "kinformer", "what to test: kinformer, or clientgo to test the machinery itself")
	filter := flags.String("run", "", "run only the tests whose names match this regular `expression`")
	packages := flags.String("packages", "", "run only these packages of client-go, separated by commas")
	flags.StringVar(&o.Dir, "keep", "", "write the rewritten tests into this empty `directory` and leave them there")
	flags.BoolVar(&o.Verbose, "v", false, "print the tests' output")
	flags.BoolVar(&o.DropsOnly, "n", false, "only say which tests are kept and dropped")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
	if o.Target, err = upstream.TargetNamed(*target); err != nil {
		return err
	}
	if *filter != "" {
		if o.Filter, err = regexp.Compile(*filter); err != nil {
			return fmt.Errorf("reading -run: %w", err)
		}
	}
	if *packages != "" {
		o.Packages = strings.Split(*packages, ",")
	}
	return upstream.Run(ctx, o)
}
