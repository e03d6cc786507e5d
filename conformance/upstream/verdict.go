// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/conformance/internal/prune"
	"github.com/kinformer/cache/conformance/internal/testrun"
)

// verdict compares what became of a suite's tests with what should.
type verdict struct {
	suite        *Suite
	ledger       Ledger
	target       string
	filtered     bool // only some tests were run
	began, ended time.Time

	passed, skipped int
	known           []Known  // fail, as listed
	avoided         []Known  // were not run, as listed
	faults          []string // one line each: what is not as expected
	details         []detail // the output behind the faults
}

// detail is the output of something that failed.
type detail struct{ title, output string }

// run runs the tests of the suite: together those that are to pass, one by one those that are
// listed.
func (v *verdict) run(ctx context.Context, b testrun.Binary, o Options) error {
	open, listed := v.divide(o.Filter)
	for range o.Count {
		out, err := b.Run(ctx, open)
		if err != nil {
			return err
		}
		v.takeOpen(open, out)
	}
	b.Timeout = o.TimeoutListed
	for _, t := range listed {
		out, err := b.Run(ctx, []string{t})
		if err != nil {
			return err
		}
		v.takeListed(t, out)
	}
	v.checkList()
	return nil
}

// divide tells the tests that are to pass from those that are listed to fail; what is not to run is
// in neither.
func (v *verdict) divide(filter *regexp.Regexp) (open, listed []string) {
	for _, t := range v.suite.Tests {
		if filter != nil && !filter.MatchString(t) {
			continue
		}
		k, ok := v.ledger.find(v.suite.Package, v.suite.Mode, t)
		switch {
		case !ok:
			open = append(open, t)
		case k.Skip:
			v.avoided = append(v.avoided, k)
		default:
			listed = append(listed, t)
		}
	}
	return open, listed
}

// takeOpen judges a run of the tests that are to pass. The numbers are those of the last run.
func (v *verdict) takeOpen(tests []string, out testrun.Outcome) {
	v.passed, v.skipped = 0, 0
	for _, t := range tests {
		r := out.Results[t]
		switch r.Status {
		case testrun.Passed:
			v.passed++
		case testrun.Skipped:
			v.skipped++
		default:
			v.fault(fmt.Sprintf("%s %s", t, r.Reason), r.Output)
		}
	}
	if out.Package != "" {
		v.fault("the run failed after its tests had passed", out.Package)
	}
}

// takeListed judges the run of one test that is to fail.
func (v *verdict) takeListed(test string, out testrun.Outcome) {
	if out.Results[test].Status != testrun.Failed && out.Package == "" {
		v.fault(test+" passes but is listed in expected_failures.txt: take it out", "")
		return
	}
	k, _ := v.ledger.find(v.suite.Package, v.suite.Mode, test)
	v.known = append(v.known, k)
}

// checkList finds what is wrong about the suite as a whole.
func (v *verdict) checkList() {
	for _, k := range v.ledger.gone(v.suite) {
		v.fault(k.Test+" is listed in expected_failures.txt but is not among the tests kept: take it out", "")
	}
	if n := len(v.suite.Tests); n < v.suite.Floor {
		v.fault(fmt.Sprintf("only %d tests were kept where %d can be", n, v.suite.Floor), "")
	}
}

func (v *verdict) fault(what, output string) {
	v.faults = append(v.faults, what)
	if output != "" {
		v.details = append(v.details, detail{title: what, output: output})
	}
}

func (v *verdict) asExpected() bool { return len(v.faults) == 0 }

// printDrops prints what was left out and why: the tests, and on demand what they share.
func (v *verdict) printDrops(out io.Writer, helpers bool) {
	s := v.suite
	fmt.Fprintf(out, "\n%s (%s) against %s: %d of %d tests kept\n", s.Package, s.Mode, v.target, len(s.Tests), s.Total)
	for _, d := range s.Dropped {
		fmt.Fprintf(out, "    dropped %-60s %s:%d: %s\n", d.Name, d.File, d.Line, because(d))
	}
	if !helpers {
		return
	}
	for _, d := range s.Helpers {
		fmt.Fprintf(out, "    without %-60s %s:%d: %s\n", d.Name, d.File, d.Line, because(d))
	}
}

// because says why a declaration was dropped.
func because(d prune.Drop) string {
	what := d.Cause
	if len(d.Via) > 0 {
		what += " (through " + strings.Join(d.Via, ", ") + ")"
	}
	return "needs " + what
}

// printFailures prints what is not as expected with the output behind it, and then what is known to
// fail.
func (v *verdict) printFailures(out io.Writer) {
	for _, d := range v.details {
		fmt.Fprintf(out, "--- FAIL: %s (%s): %s\n%s\n", v.suite.Package, v.suite.Mode, d.title, indent(d.output))
	}
	for _, f := range v.faults {
		fmt.Fprintf(out, "    FAULT   %s\n", f)
	}
	for _, k := range v.known {
		fmt.Fprintf(out, "    known   %-60s %s\n", k.Test, k.Reason)
	}
	for _, k := range v.avoided {
		fmt.Fprintf(out, "    not run %-60s %s\n", k.Test, k.Reason)
	}
}

// outputLines is how many lines of a failure are printed from either end: a race report or the
// goroutines of a hung test can run to thousands.
const outputLines = 30

func indent(output string) string {
	lines := strings.Split(strings.TrimRight(output, "\n"), "\n")
	if extra := len(lines) - 2*outputLines; extra > 0 {
		note := fmt.Sprintf("... %d lines left out; -v prints all", extra)
		lines = slices.Concat(lines[:outputLines], []string{note}, lines[len(lines)-outputLines:])
	}
	return "    " + strings.Join(lines, "\n    ")
}

// summary is one line, in the manner of go test.
func (v *verdict) summary() string {
	word := "ok  "
	if !v.asExpected() {
		word = "FAIL"
	}
	s := v.suite
	note := ""
	if v.filtered {
		note = " (filtered)"
	}
	return fmt.Sprintf("%s\t%s (%s)\t%.1fs\tkept %d of %d, passed %d, failed %d, known to fail %d, not run %d, skipped %d%s",
		word, s.Package, s.Mode, v.ended.Sub(v.began).Seconds(), len(s.Tests), s.Total, v.passed, len(v.faults),
		len(v.known), len(v.avoided), v.skipped, note)
}
