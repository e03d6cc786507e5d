// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// figures are the results of a run, by label.
type figures struct {
	labels []string // labels of the same measure are adjacent
	values map[string]string
}

// add adds the value of a measure. when is the phase or subject of the value.
func (f *figures) add(measure, when, format string, value any) {
	if f.values == nil {
		f.values = map[string]string{}
	}
	label, at := measure+": "+when, len(f.labels)
	for i := range f.labels {
		if strings.HasPrefix(f.labels[i], measure+": ") {
			at = i + 1
		}
	}
	f.labels = slices.Insert(f.labels, at, label)
	f.values[label] = fmt.Sprintf(format, value)
}

// errorLine matches a line of klog. Its groups are the severity, the position in the source, and the
// text.
var errorLine = regexp.MustCompile(`(?m)^([EW])\d{4} \S+ +\d+ ([\w.-]+:\d+)\] (.*)$`)

// countErrors returns the number of errors and warnings by severity and position in the source.
func countErrors(log string) map[string]int {
	counts := map[string]int{}
	for _, match := range errorLine.FindAllStringSubmatch(log, -1) {
		counts[match[1]+" "+match[2]]++
	}
	return counts
}

// addErrors adds the errors and warnings in the logs.
func (r *run) addErrors() error {
	for _, p := range r.programs()[:2] {
		log, err := os.ReadFile(p.log)
		if err != nil {
			return err
		}
		counts, all := countErrors(string(log)), 0
		for _, n := range counts {
			all += n
		}
		r.figures.add("errors and warnings of "+p.name(), "all", "%d", all)
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			r.figures.add("errors and warnings of "+p.name(), kind, "%d", counts[kind])
		}
	}
	return nil
}

// writeTable writes a table with a column for each run. A figure missing in a run is 0: the run had no
// such error.
func writeTable(w io.Writer, columns []string, runs []figures) error {
	var labels []string
	for _, f := range runs {
		for i, label := range f.labels {
			if slices.Contains(labels, label) {
				continue
			}
			at := 0
			if i > 0 {
				at = slices.Index(labels, f.labels[i-1]) + 1
			}
			labels = slices.Insert(labels, at, label)
		}
	}
	lines := []string{"| | " + strings.Join(columns, " | ") + " |", "| --- |" + strings.Repeat(" ---: |", len(columns))}
	for _, label := range labels {
		line := "| " + label + " |"
		for _, f := range runs {
			line += " " + cmp.Or(f.values[label], "0") + " |"
		}
		lines = append(lines, line)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}
