// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
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
	shown []sample
	check check
}

// sample is one figure; less is better.
type sample struct {
	name, unit string
	value      float64
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
