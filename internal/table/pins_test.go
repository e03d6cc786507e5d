// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// stepsOf returns the number of pins and versions that writes examine.
func stepsOf(table *Table, writes int) int {
	steps := func() int {
		table.w.Lock()
		defer table.w.Unlock()
		return table.w.steps
	}
	before := steps()
	for i := range writes {
		put(table, strconv.Itoa(i%100), &half{value: "v"})
	}
	return steps() - before
}

// TestWritesLookAtFewPins checks that the work of a write does not grow with the number of
// snapshots, open or closed.
func TestWritesLookAtFewPins(t *testing.T) {
	const snapshots, writes = 5000, 100
	perm := rand.New(rand.NewPCG(1, 2)).Perm(snapshots)
	orders := map[string]func(i int) int{
		"first to last": func(i int) int { return i },
		"last to first": func(i int) int { return snapshots - 1 - i },
		"any":           func(i int) int { return perm[i] },
	}
	for name, order := range orders {
		for _, every := range []int{1, 100} { // snapshots for each write
			t.Run(name+", a write for "+strconv.Itoa(every), func(t *testing.T) {
				table := newValueTable()
				stepsOf(table, 200)
				require.Zero(t, stepsOf(table, writes), "without snapshots")
				var held []*Snapshot
				for i := range snapshots {
					if i%every == 0 {
						put(table, strconv.Itoa(i/every%100), &half{value: "v", count: i})
					}
					held = append(held, table.Snapshot())
				}
				require.Zero(t, stepsOf(table, 200), "%d open", table.Snapshots().Open)
				table.pins.janitor = true // so that only the writes tidy up
				for i := range held {
					held[order(i)].Close()
					if i%100 == 0 {
						require.LessOrEqual(t, stepsOf(table, 1), tidyStep+tidyPerOp, "%d open", table.Snapshots().Open)
					}
				}
				go table.clean()
				requireNothingKept(t, table)
				require.Zero(t, stepsOf(table, writes), "all closed")
				require.NoError(t, table.verify())
			})
		}
	}
}

// TestVersionsOfOneStateAreExaminedOnce checks that many snapshots of one state, however they are
// closed, cost one step each, and one for each version kept for them.
func TestVersionsOfOneStateAreExaminedOnce(t *testing.T) {
	const snapshots, versions = 500, 100
	table := newValueTable()
	stepsOf(table, versions)
	var held []*Snapshot
	for range snapshots {
		held = append(held, table.Snapshot())
	}
	require.Zero(t, stepsOf(table, versions))
	before := table.w.steps
	require.Equal(t, versions, table.Snapshots().Kept)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(snapshots) {
		held[i].Close()
	}
	requireNothingKept(t, table)
	require.Equal(t, snapshots+versions, table.w.steps-before)
}

// TestVersionsOfOneStateBesideWrites is the same with a write before each Close, so that the next
// snapshot has versions of its own when it inherits.
func TestVersionsOfOneStateBesideWrites(t *testing.T) {
	const snapshots = 500
	table := newValueTable()
	for i := range snapshots {
		put(table, strconv.Itoa(i), &half{value: "v"})
	}
	var held []*Snapshot
	for range snapshots {
		held = append(held, table.Snapshot())
	}
	table.pins.janitor = true // so that only the writes tidy up
	for i, s := range slices.Backward(held) {
		put(table, strconv.Itoa(i), &half{value: "v"})
		s.Close()
	}
	go table.clean()
	requireNothingKept(t, table)
	require.LessOrEqual(t, table.w.steps, 4*snapshots)
}

// TestJanitorLooksAtNoOpenPin checks that the work of the janitor does not grow with the number of
// snapshots of the newest state.
func TestJanitorLooksAtNoOpenPin(t *testing.T) {
	const snapshots, versions = 5000, 100
	table := newValueTable()
	stepsOf(table, versions)
	old := table.Snapshot()
	stepsOf(table, versions)
	for range snapshots {
		defer table.Snapshot().Close()
	}
	before := table.w.steps
	old.Close()
	requireNothingKept(t, table)
	require.Equal(t, 1+versions, table.w.steps-before)
}

// TestPinsInAnyOrder checks the views of readers that come and go beside a writer.
func TestPinsInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	table := newValueTable()
	put(table, "k", &half{value: "v"})
	type reader struct {
		pin  *pin
		view view
		want any
	}
	var open []reader
	for i := range 20_000 {
		switch n := rng.IntN(5); {
		case n == 0:
			put(table, "k", &half{value: "v", count: i})
		case n < 3 && len(open) < 30:
			v, p := table.pin()
			want, _ := table.Get("k")
			open = append(open, reader{p, v, want})
		case len(open) > 0:
			r := take(rng, &open)
			obj, ok := r.view.get("k")
			require.True(t, ok)
			require.Same(t, r.want, obj)
			table.leave(r.pin)
		}
	}
	for _, r := range open {
		table.leave(r.pin)
	}
	requireNothingKept(t, table)
	require.NoError(t, table.verify())
}

func take[T any](rng *rand.Rand, from *[]T) T {
	s := *from
	i := rng.IntN(len(s))
	taken := s[i]
	s[i] = s[len(s)-1]
	*from = s[:len(s)-1]
	return taken
}

// requireNothingKept waits for the janitor.
func requireNothingKept(t require.TestingT, table *Table) {
	tidied(table)
	require.Zero(t, table.Snapshots().Kept)
}

// tidied waits until the janitor, if one was called, has nothing left to do.
func tidied(table *Table) {
	for tidying(table) {
		runtime.Gosched()
	}
}

func tidying(table *Table) bool {
	table.w.Lock()
	defer table.w.Unlock()
	return hasJanitor(table)
}

func hasJanitor(table *Table) bool {
	table.pins.Lock()
	defer table.pins.Unlock()
	return table.pins.janitor
}

// janitors returns the number of running janitors of all tables.
func janitors() int {
	for stack := make([]byte, 1<<16); ; stack = make([]byte, 2*len(stack)) {
		if n := runtime.Stack(stack, true); n < len(stack) {
			return strings.Count(string(stack[:n]), "table.(*Table).leave in goroutine")
		}
	}
}

// noJanitor waits until the last janitor has ended.
func noJanitor() {
	for janitors() > 0 {
		runtime.Gosched()
	}
}

// crowd returns n snapshots, each of a different state.
func crowd(table *Table, n int) (held []*Snapshot) {
	for i := range n {
		held = append(held, table.Snapshot())
		put(table, "k", &half{value: "v", count: i})
	}
	return held
}

// TestOneJanitorATable releases many pins while a writer is busy. One janitor is started, does
// nothing before the writer is done, then tidies up all of it, and ends.
func TestOneJanitorATable(t *testing.T) {
	noJanitor()
	for _, n := range []int{1, 2, tidyStep - 1, tidyStep, tidyStep + 1, 3*tidyStep + 1} {
		table := newValueTable()
		put(table, "k", &half{value: "v"})
		held := crowd(table, n)
		require.Zero(t, janitors(), "no snapshot was closed")
		table.w.Lock()
		for _, s := range held {
			s.Close()
		}
		require.Equal(t, 1, janitors())
		require.EqualValues(t, n, table.kept.Load())
		table.w.Unlock()
		noJanitor()
		require.False(t, hasJanitor(table))
		require.Zero(t, table.Snapshots().Kept, "%d were open", n)
	}
}

// TestJanitorIsNotCalledForNothing checks that calls for which no version was kept do not start a
// janitor.
func TestJanitorIsNotCalledForNothing(t *testing.T) {
	noJanitor()
	table := newValueTable()
	put(table, "k", &half{value: "v"})
	for range 100 {
		table.Snapshot().Close()
		table.List()
		put(table, "k", &half{value: "v"})
		require.False(t, hasJanitor(table))
	}
	require.Zero(t, janitors())
}
