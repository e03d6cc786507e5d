// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// errRed says that a suite was red.
var errRed = errors.New("a suite was red")

// result is what became of one run of a suite.
type result struct {
	Suite   string
	Code    string // identifies the code that was tested, as far as that is known
	Seconds float64
	Red     bool
	Tests   []string // those that were red, if go test named them
	Closing []string // go test's line for each package
}

// runner runs suites.
type runner struct {
	suites []string
	times  int
	once   []string // those of suites that run once
	logs   string   // folder of the logs; empty: there are none
	state  *state   // nil: nothing is kept
	out    io.Writer

	command func(ctx context.Context, suite string) *exec.Cmd
	results []result
}

// all runs all suites, each as often as it is to run, prints the report, and returns errRed if one
// was red. When ctx ends, the suite that is running is given up, and the report is about those that
// have ended.
func (r *runner) all(ctx context.Context) error {
	if r.state != nil {
		r.results = slices.Clone(r.state.results)
	}
	for round := range r.times {
		for _, suite := range r.suites {
			if r.done(suite) > round || round > 0 && slices.Contains(r.once, suite) {
				continue
			}
			if err := r.one(ctx, suite); err != nil {
				printReport(r.out, r.suites, r.results)
				return err
			}
		}
	}
	printReport(r.out, r.suites, r.results)
	if slices.ContainsFunc(r.results, func(one result) bool { return one.Red }) {
		return errRed
	}
	return nil
}

// done returns how often the suite was run.
func (r *runner) done(suite string) (runs int) {
	for _, one := range r.results {
		if one.Suite == suite {
			runs++
		}
	}
	return runs
}

// one runs a suite. An error says that nothing is known of it.
func (r *runner) one(ctx context.Context, suite string) error {
	fmt.Fprintf(r.out, "=== %s\n", suite)
	log, err := r.openLog(suite)
	if err != nil {
		return err
	}
	seen := &reader{}
	cmd := r.command(ctx, suite)
	cmd.Stdout = io.MultiWriter(r.out, log, seen)
	cmd.Stderr = cmd.Stdout // the same writer, so that the order is kept
	cmd.WaitDelay = 10 * time.Second
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	start := time.Now()
	err = errors.Join(cmd.Run(), log.Close())
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s: interrupted", suite)
	case err != nil && !errors.As(err, &exit):
		return fmt.Errorf("%s: %w", suite, err)
	}
	one := result{Suite: suite, Seconds: time.Since(start).Seconds(), Red: err != nil, Tests: seen.redTests(), Closing: seen.closing}
	if r.state != nil {
		if one, err = r.state.keep(one); err != nil {
			return err
		}
	}
	r.results = append(r.results, one)
	fmt.Fprintf(r.out, "=== %s: %s, %.1f s\n", suite, color(one.Red), one.Seconds)
	return nil
}

func color(red bool) string {
	if red {
		return "RED"
	}
	return "green"
}

// openLog makes the file that gets what the next run of the suite prints.
func (r *runner) openLog(suite string) (io.WriteCloser, error) {
	if r.logs == "" {
		return nothing{io.Discard}, nil
	}
	if err := os.MkdirAll(r.logs, 0o755); err != nil {
		return nil, fmt.Errorf("folder of the logs: %w", err)
	}
	name := suite + ".log"
	if r.times > 1 {
		name = fmt.Sprintf("%s.%d.log", suite, r.done(suite)+1)
	}
	return os.Create(filepath.Join(r.logs, name))
}

type nothing struct{ io.Writer }

func (nothing) Close() error { return nil }
