// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command suites runs test suites, one after the other, and ends with a table of them. A red suite
// does not keep the others from running.
//
//	suites [-logs dir] unit e2e
//	suites -n 10 -once foreign-cache -busy 2 -state bin/flaky unit e2e foreign-cache
//
// A suite is a target of make; what it prints is shown as it comes. Before the table are the
// closing lines of go test again, and after it the names of the tests that were red. With -state,
// the results are kept, and a run that was interrupted goes on where it was, as long as the code is
// the same.
//
// It exits with 0 if all suites were green, 1 if one was red, and 2 if they could not be run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, busy, err := parse(os.Args[1:], os.Stdout, os.Stderr)
	if err == nil {
		spin(ctx, busy)
		err = r.all(ctx)
	}
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errRed):
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, "suites:", err)
		os.Exit(2)
	}
}

// parse makes a runner of the command line. busy is how many loops are to run beside it.
func parse(args []string, out, complaints io.Writer) (r *runner, busy int, err error) {
	r = &runner{out: out, command: target}
	flags := flag.NewFlagSet("suites", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.IntVar(&r.times, "n", 1, "run each suite `n` times")
	once := flags.String("once", "", "but these, separated by spaces, once")
	flags.IntVar(&busy, "busy", 0, "run so many busy loops beside the suites")
	flags.StringVar(&r.logs, "logs", "", "write what a suite prints to a file in this `folder`, too")
	state := flags.String("state", "", "keep results and logs in this `folder`, and go on with those of the same code that are there")
	if err := flags.Parse(args); err != nil {
		return nil, 0, err
	}
	r.suites = flags.Args()
	r.once = strings.Fields(*once)
	switch {
	case len(r.suites) == 0:
		return nil, 0, errors.New("no suite is named")
	case r.times < 1 || busy < 0:
		return nil, 0, errors.New("-n has to be 1 or more, and -busy 0 or more")
	}
	for _, name := range r.once {
		if !slices.Contains(r.suites, name) {
			return nil, 0, fmt.Errorf("-once %s: that suite is not run", name)
		}
	}
	if *state == "" {
		return r, busy, nil
	}
	r.logs = *state
	r.state, err = openState(filepath.Join(*state, "results.json"), codeID())
	return r, busy, err
}

// target is the command of a suite.
func target(ctx context.Context, suite string) *exec.Cmd {
	return exec.CommandContext(ctx, "make", "--no-print-directory", suite)
}

// spin keeps so many processors busy until ctx ends.
func spin(ctx context.Context, loops int) {
	runtime.GOMAXPROCS(runtime.NumCPU() + loops) // so that nothing else of this process waits for them
	for range loops {
		go func() {
			for ctx.Err() == nil {
			}
		}()
	}
}
