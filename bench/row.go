// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/stats"
)

// row is one workload of the benchmark.
type row struct {
	group string // heading in the report
	name  string // what -run selects
	title string // what is done, in a few words
	// light asks for light objects (workload.Config.Light).
	light bool
	// slow rows are left out of a quick run, unless -run names rows.
	slow bool
	// objects is how many objects the row is about, if not as many as the run
	// has: a run with fewer has no such row.
	objects int
	// waits says that most of a round is a wait for a backoff or a period: a
	// quick run does two rounds only.
	waits bool
	// rounds is how many rounds are enough, if not as many as the run has.
	rounds int
	// setup makes what both sides share: objects, events, full stores.
	setup func(ctx context.Context, e *env) (trial, error)
}

// trial runs one round of a row on one side. It leaves the side in the same
// state as the other side's trial of the same round, and says so by its check.
type trial func(ctx context.Context, s side) (outcome, error)

// outcome is what one round gave.
type outcome struct {
	samples []sample
	// shown are figures of which less is not better: they get no ratio.
	shown  []sample
	curves []curve
	check  check
}

// sample is one figure; less is better.
type sample struct {
	name, unit string
	value      float64
}

// curve is a line that pictures draw: quantiles, or something over time.
type curve struct {
	name, x, y string // x and y with their units
	points     []report.Point
}

// quantilesOf is the curve of a distribution, from sorted values.
func quantilesOf(name, unit string, sorted []float64) curve {
	c := curve{name: name, x: "percentile", y: unit}
	for _, p := range [...]float64{0.1, 1, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 100} {
		c.points = append(c.points, report.Point{p, stats.Percentile(sorted, p/100)})
	}
	return c
}

// check is what must be equal on both sides after each round: what handlers or
// readers were given, and what the store holds (see stateOf).
type check struct {
	Adds, Updates, Deletes, Reads int64
	Objects                       int
	State, Index                  uint64
}

// differError is the error of a round whose sides did not end alike.
type differError struct {
	row    string
	round  int
	checks [2]check
}

func (e *differError) Error() string {
	return fmt.Sprintf("%s, round %d: the sides delivered different events or hold different states: %+v and %+v",
		e.row, e.round, e.checks[0], e.checks[1])
}
