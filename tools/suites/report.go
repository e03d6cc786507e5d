// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

var (
	closingLine = regexp.MustCompile(`^(ok  |FAIL)\t`)
	redTest     = regexp.MustCompile(`^\s*--- FAIL: (\S+)`)
	// unfinished is how a test binary that ran into its timeout names the tests that were running.
	unfinished = regexp.MustCompile(`^\t\t(Test\S+|Fuzz\S+|Example\S*) \(\d.*\)$`)
)

// reader is a writer that picks what go test says of packages and of red tests.
type reader struct {
	rest    string // the beginning of a line
	closing []string
	red     []string
}

// Write implements io.Writer.
func (r *reader) Write(p []byte) (int, error) {
	text := r.rest + string(p)
	for {
		line, rest, whole := strings.Cut(text, "\n")
		if !whole {
			r.rest = line
			return len(p), nil
		}
		r.line(line)
		text = rest
	}
}

func (r *reader) line(line string) {
	if closingLine.MatchString(line) {
		r.closing = append(r.closing, line)
	}
	for _, pattern := range []*regexp.Regexp{redTest, unfinished} {
		if found := pattern.FindStringSubmatch(line); found != nil && !slices.Contains(r.red, found[1]) {
			r.red = append(r.red, found[1])
		}
	}
}

// redTests returns the names of the red tests, without those that are red because a subtest is.
func (r *reader) redTests() (names []string) {
	for _, name := range r.red {
		if !slices.ContainsFunc(r.red, func(other string) bool { return strings.HasPrefix(other, name+"/") }) {
			names = append(names, name)
		}
	}
	return names
}

// printReport prints the closing lines of the last run of each suite, a table, and the names of the
// tests that were red.
func printReport(out io.Writer, suites []string, results []result) {
	fmt.Fprintln(out, "\n=== summary")
	for _, suite := range suites {
		if runs := runsOf(suite, results); len(runs) > 0 {
			for _, line := range runs[len(runs)-1].Closing {
				fmt.Fprintln(out, line)
			}
		}
	}
	fmt.Fprintf(out, "\n%-24s %5s %5s %9s %9s  %s\n", "suite", "runs", "red", "seconds", "at most", "red tests")
	var total line
	for _, suite := range suites {
		l := lineOf(suite, runsOf(suite, results))
		l.print(out)
		total.runs, total.red, total.sum = total.runs+l.runs, total.red+l.red, total.sum+l.sum
	}
	verdict := "all green"
	if total.red > 0 {
		verdict = "RED"
	}
	fmt.Fprintf(out, "%-24s %5d %5d %9.1f %9s  %s\n", "total", total.runs, total.red, total.sum, "", verdict)
}

func runsOf(suite string, results []result) (runs []result) {
	for _, one := range results {
		if one.Suite == suite {
			runs = append(runs, one)
		}
	}
	return runs
}

// line is a line of the table.
type line struct {
	suite     string
	runs, red int
	sum, most float64 // seconds
	tests     []string
}

func lineOf(suite string, runs []result) line {
	l := line{suite: suite, runs: len(runs)}
	count, order := map[string]int{}, []string(nil)
	for _, one := range runs {
		l.sum, l.most = l.sum+one.Seconds, max(l.most, one.Seconds)
		if !one.Red {
			continue
		}
		l.red++
		if len(one.Tests) == 0 {
			one.Tests = []string{"(no test is named: see its log)"}
		}
		for _, test := range one.Tests {
			if count[test]++; count[test] == 1 {
				order = append(order, test)
			}
		}
	}
	for _, test := range order {
		if l.runs > 1 {
			test = fmt.Sprintf("%s %dx", test, count[test])
		}
		l.tests = append(l.tests, test)
	}
	return l
}

// print prints the line, with the seconds of a run on average.
func (l line) print(out io.Writer) {
	if l.runs == 0 {
		fmt.Fprintf(out, "%-24s %5d %5s %9s %9s  not run\n", l.suite, 0, "", "", "")
		return
	}
	fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf("%-24s %5d %5d %9.1f %9.1f  %s", l.suite, l.runs, l.red,
		l.sum/float64(l.runs), l.most, strings.Join(l.tests, ", ")), " "))
}
