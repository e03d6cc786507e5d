// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kinformer/cache/bench/cluster/internal/follow"
	"github.com/kinformer/cache/bench/internal/report"
)

// course is a value by the number of nodes.
type course struct {
	file, title, unit string
	value             func(Result) float64
}

var courses = []course{
	{"latency", "latency of 99.9 % of the events", "ms", func(r Result) float64 { return float64(r.Phase(Steady).Latency.Prompt.P999) / 1e3 }},
	{"cpu", "CPU time", "% of a core", func(r Result) float64 { return 100 * r.Phase(Steady).Share() }},
	{"rss", "memory, steady", "MiB", func(r Result) float64 { return float64(r.Phase(Steady).RSS) / (1 << 20) }},
	{"storm", "memory in a relist storm", "MiB", func(r Result) float64 { return float64(r.Phase(Storm).Peak) / (1 << 20) }},
	{"sync", "time to sync", "s", func(r Result) float64 { return r.Sync.Seconds() }},
}

// Figures are the pictures of results, which are in the order of Sort. A run that failed is in them
// with the phases that it came through.
func Figures(all []Result) []report.Figure {
	var made []report.Figure
	for group := range groups(all) {
		if group[0].Spec.Nodes < group[len(group)-1].Spec.Nodes {
			for _, c := range courses {
				made = append(made, c.of(group))
			}
		}
		made = append(made, distribution(group))
	}
	return slices.DeleteFunc(made, func(f report.Figure) bool { return len(f.Lines) == 0 })
}

// groups yields results that are compared with each other.
func groups(all []Result) func(func([]Result) bool) {
	return func(yield func([]Result) bool) {
		for begin := 0; begin < len(all); {
			end := begin
			for end < len(all) && all[end].Spec.group() == all[begin].Spec.group() {
				end++
			}
			if !yield(all[begin:end]) {
				return
			}
			begin = end
		}
	}
}

// pictureOf is the file of a picture of a group.
func pictureOf(s Spec, name string) string {
	return strings.NewReplacer(", ", "-", " ", "-").Replace(strings.ToLower(s.group())) + "-" + name + ".svg"
}

// of draws a line for each side.
func (c course) of(group []Result) report.Figure {
	s := group[0].Spec
	f := report.Figure{File: pictureOf(s, c.file), Title: c.title + " (" + s.group() + ")", X: "nodes", Y: c.unit}
	for color, side := range follow.Sides() {
		line := report.FigureLine{Label: follow.Title(side), Color: color}
		for _, r := range group {
			if v := c.value(r); r.Spec.Side == side && v > 0 { // the axis is logarithmic
				line.Points = append(line.Points, report.Point{float64(r.Spec.Nodes), v})
			}
		}
		if len(line.Points) > 0 {
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}

// distribution draws the latencies at the most nodes that all sides have.
func distribution(group []Result) report.Figure {
	nodes := comparedAt(group)
	s := group[0].Spec
	f := report.Figure{
		File:  pictureOf(s, "distribution"),
		Title: fmt.Sprintf("latency at %d nodes (%s)", nodes, s.group()), X: "percentile", Y: "ms",
	}
	for _, r := range group {
		line := report.FigureLine{Label: follow.Title(r.Spec.Side), Color: slices.Index(follow.Sides(), r.Spec.Side)}
		for _, p := range r.Phase(Steady).Latency.Prompt.Curve {
			line.Points = append(line.Points, report.Point{p[0], p[1] / 1e3})
		}
		if r.Spec.Nodes == nodes && len(line.Points) > 0 {
			f.Lines = append(f.Lines, line)
		}
	}
	return f
}

// comparedAt is the largest of the sizes that the most sides came through.
func comparedAt(group []Result) (nodes int) {
	sides, most := map[int]int{}, 0
	for _, r := range group {
		if r.Phase(Steady).Latency.Prompt.Events > 0 {
			sides[r.Spec.Nodes]++
		}
		if n := sides[r.Spec.Nodes]; n > 0 && n >= most {
			nodes, most = r.Spec.Nodes, n
		}
	}
	return nodes
}
