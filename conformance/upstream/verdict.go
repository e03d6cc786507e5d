// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"time"

	"github.com/kinformer/cache/conformance/internal/prune"
)

// verdict is what became of a suite's tests.
type verdict struct {
	suite           *Suite
	target          string
	took            time.Duration
	passed, skipped int
	faults          []string // one line each: what should not be
	output          string   // of the tests
}

// run runs the tests of the suite that are selected. The error says that it could not.
func (v *verdict) run(ctx context.Context, path, dir string, o Options) error {
	var tests []string
	for _, t := range v.suite.Tests {
		if o.Filter == nil || o.Filter.MatchString(t) {
			tests = append(tests, t)
		}
	}
	cmd := exec.CommandContext(ctx, path, "-test.v=test2json", "-test.timeout="+timeout.String(), "-test.run=^("+strings.Join(tests, "|")+")$")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout = &out
	if o.Verbose {
		cmd.Stdout = io.MultiWriter(&out, o.Out)
	}
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	v.judge(tests, out.String(), err)
	return nil
}

// ends are the lines by which tests end that are not within others. What a test prints may stand
// before one, and then the mark of test2json between them.
var ends = regexp.MustCompile(`(?m)(?:^|\x16)--- (PASS|FAIL|SKIP): (\w+) `)

// judge reads what the tests have printed. What has not passed and was not skipped is a fault, and
// so is an error of the process that belongs to no test: a leak, or a race after the last one.
func (v *verdict) judge(tests []string, output string, err error) {
	ended := map[string]string{}
	for _, end := range ends.FindAllStringSubmatch(output, -1) {
		ended[end[2]] = end[1]
	}
	v.output = output
	for _, t := range tests {
		switch ended[t] {
		case "PASS":
			v.passed++
		case "SKIP":
			v.skipped++
		case "FAIL":
			v.faults = append(v.faults, t+" failed")
		default:
			v.faults = append(v.faults, t+" did not end")
		}
	}
	if err != nil && len(v.faults) == 0 {
		v.faults = append(v.faults, fmt.Sprintf("the run failed after its tests had passed: %v", err))
	}
}

// checkFloor finds whether too few tests were kept.
func (v *verdict) checkFloor() {
	if n := len(v.suite.Tests); n < v.suite.Floor {
		v.faults = append(v.faults, fmt.Sprintf("only %d tests were kept where %d can be", n, v.suite.Floor))
	}
}

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

// printFaults prints what should not be, with the output behind it.
func (v *verdict) printFaults(out io.Writer) {
	if len(v.faults) > 0 {
		fmt.Fprint(out, v.output)
	}
	for _, f := range v.faults {
		fmt.Fprintf(out, "    FAULT   %s\n", f)
	}
}

// summary is one line, in the manner of go test.
func (v *verdict) summary() string {
	word := "ok  "
	if len(v.faults) > 0 {
		word = "FAIL"
	}
	return fmt.Sprintf("%s\t%s (%s)\t%.1fs\tkept %d of %d, passed %d, failed %d, skipped %d",
		word, v.suite.Package, v.suite.Mode, v.took.Seconds(), len(v.suite.Tests), v.suite.Total, v.passed, len(v.faults), v.skipped)
}
