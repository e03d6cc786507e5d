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

	"github.com/kinformer/cache/conformance/internal/testrun"
)

// Options says what to run. The zero value runs everything against this project.
type Options struct {
	// Target is the implementation under test; the zero value is this project.
	Target Target
	// Filter, if not nil, selects tests by name. Packages and Modes, if not empty, select suites.
	Filter   *regexp.Regexp
	Packages []string
	Modes    []Mode
	// Count is how often the tests run that are expected to pass; zero means once.
	Count int
	// Dir is where the rewritten tests are written and left. Empty means a temporary directory that
	// is removed.
	Dir string
	// Timeout bounds the run of one suite, TimeoutListed that of one listed test. Zero means 2
	// hours and 5 minutes, so that a machine that is busy with something else gets there.
	Timeout, TimeoutListed time.Duration
	// Verbose prints the tests' output as it comes, and the helpers dropped.
	Verbose bool
	// DropsOnly stops after pruning.
	DropsOnly bool
	// Out receives the report.
	Out io.Writer
}

func (o Options) withDefaults() Options {
	if o.Target.Name == "" {
		o.Target = Targets()[0]
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Hour
	}
	if o.TimeoutListed == 0 {
		o.TimeoutListed = 5 * time.Minute
	}
	o.Count = max(o.Count, 1)
	return o
}

// ErrNotAsExpected is returned when the machinery worked and a test's outcome was not what it
// should be.
var ErrNotAsExpected = errors.New("client-go's tests did not end as expected")

// Run runs client-go's tests and prints a report. It must be called inside the conformance module.
func Run(ctx context.Context, o Options) (err error) {
	o = o.withDefaults()
	ledger, err := ParseLedger(expectedFailures)
	if err != nil {
		return fmt.Errorf("reading expected_failures.txt: %w", err)
	}
	if o.Target.Name != Targets()[0].Name {
		ledger = nil // it lists what this project does not pass
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
	return runSuites(ctx, o, generator{w: w, target: o.Target}, ledger)
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

func runSuites(ctx context.Context, o Options, g generator, ledger Ledger) error {
	var verdicts []*verdict
	for _, s := range sources {
		for _, mode := range s.modes {
			if !selected(o.Packages, s.path) || !selected(o.Modes, mode) {
				continue
			}
			v, err := runSuite(ctx, o, g, s, mode, ledger)
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
		asExpected = asExpected && v.asExpected()
	}
	if !asExpected {
		return ErrNotAsExpected
	}
	return nil
}

func selected[T comparable](wanted []T, one T) bool {
	return len(wanted) == 0 || slices.Contains(wanted, one)
}

// runSuite generates, compiles, runs and judges one suite.
func runSuite(ctx context.Context, o Options, g generator, s source, mode Mode, ledger Ledger) (*verdict, error) {
	suite, err := g.suite(ctx, s, mode)
	if err != nil {
		return nil, err
	}
	v := &verdict{suite: suite, ledger: ledger, began: time.Now(), filtered: o.Filter != nil, target: o.Target.Name}
	v.printDrops(o.Out, o.Verbose)
	if o.DropsOnly {
		v.checkList()
		v.printFailures(o.Out)
		v.ended = time.Now()
		return v, nil
	}
	dir := filepath.Join(g.w.dir, filepath.FromSlash(suite.dir))
	bin := filepath.Join(dir, "upstream.test")
	if _, err := goOutput(ctx, g.w.dir, "test", "-race", "-c", "-vet=off", "-o", bin, "./"+path.Clean(suite.dir)); err != nil {
		return nil, fmt.Errorf("the pruned tests do not compile: %w", err)
	}
	b := testrun.Binary{Path: bin, Dir: dir, Timeout: o.Timeout}
	if o.Verbose {
		b.Echo = o.Out
	}
	if err := v.run(ctx, b, o); err != nil {
		return nil, err
	}
	v.ended = time.Now()
	v.printFailures(o.Out)
	return v, nil
}
