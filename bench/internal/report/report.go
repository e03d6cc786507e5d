// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report holds the results of a benchmark and writes them: as the
// Markdown of docs/benchmarks/README.md, as JSON, and in the format of benchstat.
package report

import (
	"time"

	"github.com/kinformer/cache/bench/internal/measure"
	"github.com/kinformer/cache/bench/internal/stats"
)

// Document is one run of the benchmark.
type Document struct {
	Machine measure.Machine `json:"machine"`
	// Sides are the two that were compared; less is better, and ratios are the
	// first over the second.
	Sides [2]Side `json:"sides"`
	// LoadBefore and LoadAfter are the load averages over 1, 5 and 15 minutes
	// at the start and the end.
	LoadBefore string `json:"loadBefore"`
	LoadAfter  string `json:"loadAfter"`
	// Busy says that other work ran on the machine when the run started.
	Busy    bool          `json:"busy"`
	Objects int           `json:"objects"`
	Seed    uint64        `json:"seed"`
	Rounds  int           `json:"rounds"`
	Quick   bool          `json:"quick"`
	Started time.Time     `json:"started"`
	Took    time.Duration `json:"tookNanoseconds"`
	Rows    []Row         `json:"rows"`
	// Again says which rows were measured later.
	Again []Again `json:"again,omitempty"`
	// Command is what to call for the same document.
	Command string `json:"command"`
	// Charts is the folder of the pictures that the Markdown shows, as seen
	// from it; without one it shows none.
	Charts string `json:"-"`
	// Notes is Markdown that comes after the rows.
	Notes string `json:"-"`
}

// Side is one implementation.
type Side struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Row is one workload.
type Row struct {
	// Group is the heading under which the row stands, Name is what -run
	// selects it by, and Title says what was done.
	Group string `json:"group"`
	Name  string `json:"name"`
	Title string `json:"title"`
	// Measures are in the order in which the workload reports them.
	Measures []Measure `json:"measures"`
	// Curves are what pictures of the row are drawn from.
	Curves []Curve `json:"curves,omitempty"`
}

// Curve is a line for each side and round: the quantiles of a distribution, or
// something over time.
type Curve struct {
	Name string `json:"name"`
	// X and Y say what the axes are, with units.
	X string `json:"x"`
	Y string `json:"y"`
	// Rounds are the lines of the two sides, in the order of the rounds.
	Rounds [2][][]Point `json:"rounds"`
}

// Point is x and y.
type Point [2]float64

// Measure is one figure of a row, sampled once per side and round.
type Measure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Shown says that less is not better: the sides are not compared.
	Shown bool `json:"shown,omitempty"`
	// Samples are those of the two sides, in the order of the rounds.
	Samples [2][]float64 `json:"samples"`
}

// Summaries condenses the samples of both sides.
func (m Measure) Summaries() [2]stats.Summary {
	return [2]stats.Summary{stats.Summarize(m.Samples[0]), stats.Summarize(m.Samples[1])}
}

// Verdict compares the sides.
func (m Measure) Verdict() stats.Verdict {
	both := m.Summaries()
	return stats.Compare(both[0], both[1])
}

// Record appends a sample of a side to the measure of that name.
func (r *Row) Record(side int, name, unit string, sample float64) {
	m := r.measure(name, unit)
	m.Samples[side] = append(m.Samples[side], sample)
}

// Show is Record for a figure of which less is not better.
func (r *Row) Show(side int, name, unit string, sample float64) {
	m := r.measure(name, unit)
	m.Shown = true
	m.Samples[side] = append(m.Samples[side], sample)
}

// measure is the measure of that name, which is made when it is new.
func (r *Row) measure(name, unit string) *Measure {
	for i := range r.Measures {
		if m := &r.Measures[i]; m.Name == name && m.Unit == unit {
			return m
		}
	}
	r.Measures = append(r.Measures, Measure{Name: name, Unit: unit})
	return &r.Measures[len(r.Measures)-1]
}

// Draw appends a line of a side to the curve of that name.
func (r *Row) Draw(side int, name, x, y string, points []Point) {
	for i := range r.Curves {
		if c := &r.Curves[i]; c.Name == name {
			c.Rounds[side] = append(c.Rounds[side], points)
			return
		}
	}
	c := Curve{Name: name, X: x, Y: y}
	c.Rounds[side] = append(c.Rounds[side], points)
	r.Curves = append(r.Curves, c)
}
