// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"time"
)

// Options says what to run. The zero value runs everything against this project.
type Options struct {
	// Target is the implementation under test; the zero value is this project.
	Target Target
	// Filter, if not nil, selects tests by name. Packages, if not empty, select suites.
	Filter   *regexp.Regexp
	Packages []string
	// Dir is where the rewritten tests are written and left. Empty means a temporary directory that
	// is removed.
	Dir string
	// Verbose prints the tests' output as it comes, and the helpers dropped.
	Verbose bool
	// DropsOnly stops after pruning.
	DropsOnly bool
	// Out receives the report.
	Out io.Writer
}

// timeout bounds the run of one suite, on a machine that is busy with something else, too.
const timeout = 2 * time.Hour

// ErrNotAsExpected is returned when the machinery worked and a test's outcome was not what it
// should be.
var ErrNotAsExpected = errors.New("client-go's tests did not end as expected")

// Run runs client-go's tests and prints a report. It must be called inside the conformance module.
func Run(ctx context.Context, o Options) (err error) {
	if o.Target.Name == "" {
		o.Target = Targets()[0]
	}
	dir := o.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "upstream-"); err != nil {
			return fmt.Errorf("making a directory for the tests: %w", err)
		}
		made := dir
		defer func() { err = errors.Join(err, os.RemoveAll(made)) }()
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return fmt.Errorf("making a directory for the tests: %w", err)
	}
	if err := checkEmpty(dir); err != nil {
		return err
	}
	w, err := newWorkspace(ctx, dir)
	if err != nil {
		return err
	}
	return runSuites(ctx, o, generator{w: w, target: o.Target})
}

// checkEmpty makes the directory if there is none, and refuses one with files: Go would take them
// for tests.
func checkEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("making a directory for the tests: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("looking into the directory for the tests: %w", err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	}
	return nil
}

func runSuites(ctx context.Context, o Options, g generator) error {
	var verdicts []*verdict
	for _, s := range sources {
		for _, mode := range s.modes {
			if len(o.Packages) > 0 && !slices.Contains(o.Packages, s.path) {
				continue
			}
			v, err := runSuite(ctx, o, g, s, mode)
			if err != nil {
				return fmt.Errorf("%s (%s): %w", s.path, mode, err)
			}
			verdicts = append(verdicts, v)
		}
	}
	fmt.Fprintln(o.Out)
	asExpected := true
	for _, v := range verdicts {
		fmt.Fprintln(o.Out, v.summary())
		asExpected = asExpected && len(v.faults) == 0
	}
	if !asExpected {
		return ErrNotAsExpected
	}
	return nil
}

// runSuite generates, compiles, runs and judges one suite.
func runSuite(ctx context.Context, o Options, g generator, s source, mode Mode) (*verdict, error) {
	suite, err := g.suite(ctx, s, mode)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	v := &verdict{suite: suite, target: o.Target.Name}
	v.printDrops(o.Out, o.Verbose)
	v.checkFloor()
	if !o.DropsOnly {
		dir := filepath.Join(g.w.dir, filepath.FromSlash(suite.dir))
		bin := filepath.Join(dir, "upstream.test")
		if _, err := goOutput(ctx, g.w.dir, "test", "-race", "-c", "-vet=off", "-o", bin, "./"+path.Clean(suite.dir)); err != nil {
			return nil, fmt.Errorf("the pruned tests do not compile: %w", err)
		}
		if err := v.run(ctx, bin, dir, o); err != nil {
			return nil, err
		}
	}
	v.took = time.Since(began)
	v.printFaults(o.Out)
	return v, nil
}
