// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
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
	labels   []string // labels of the same measure are adjacent
	values   map[string]float64
	decimals map[string]int
}

// add adds the value of a measure. when is the phase or subject of the value.
func (f *figures) add(measure, when string, decimals int, value float64) {
	if f.values == nil {
		f.values, f.decimals = map[string]float64{}, map[string]int{}
	}
	label, at := measure+": "+when, len(f.labels)
	for i := range f.labels {
		if strings.HasPrefix(f.labels[i], measure+": ") {
			at = i + 1
		}
	}
	f.labels = slices.Insert(f.labels, at, label)
	f.values[label], f.decimals[label] = value, decimals
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
		r.figures.add("errors and warnings of "+p.name(), "all", 0, float64(all))
		for _, kind := range slices.Sorted(maps.Keys(counts)) {
			r.figures.add("errors and warnings of "+p.name(), kind, 0, float64(counts[kind]))
		}
	}
	return nil
}

// writeTable writes a table with a column for each variant: the median of its runs, and the smallest and
// the largest value. A figure missing in a run is 0: the run had no such error.
func writeTable(w io.Writer, columns []string, runs [][]figures) error {
	var labels []string
	decimals := map[string]int{}
	for _, f := range slices.Concat(runs...) {
		maps.Copy(decimals, f.decimals)
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
		for _, of := range runs {
			line += " " + median(of, label, decimals[label]) + " |"
		}
		lines = append(lines, line)
	}
	_, err := fmt.Fprintln(w, strings.Join(lines, "\n"))
	return err
}

// median returns the median of the runs' values, and if there are several runs, their range.
func median(runs []figures, label string, decimals int) string {
	var values []float64
	for _, f := range runs {
		values = append(values, f.values[label])
	}
	slices.Sort(values)
	n := len(values)
	if n == 0 {
		return "-"
	}
	middle := fmt.Sprintf("%.*f", decimals, (values[(n-1)/2]+values[n/2])/2)
	if n == 1 {
		return middle
	}
	return fmt.Sprintf("%s (%.*f to %.*f)", middle, decimals, values[0], decimals, values[n-1])
}
