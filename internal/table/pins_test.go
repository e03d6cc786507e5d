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

// listed returns the number of pins in the list, which every write examines.
func (l *pins) listed() (n int) {
	for range l.list {
		n++
	}
	return n
}

func (l *pins) list(yield func(*pin) bool) {
	for p := l.head.Load(); p != nil && yield(p); p = p.next.Load() {
	}
}

// stepsOf returns the number of pins and versions that writes examine.
func stepsOf(table *Table, writes int) int {
	steps := func() int {
		table.w.Lock()
		defer table.w.Unlock()
		return table.w.limbo.steps
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
				require.LessOrEqual(t, stepsOf(table, writes), writes, "without snapshots")
				var held []*Snapshot
				for i := range snapshots {
					if i%every == 0 {
						put(table, strconv.Itoa(i/every%100), &half{value: "v", count: i})
					}
					held = append(held, table.Snapshot())
					tidied(table)
					require.LessOrEqual(t, table.pins.listed(), manyPins+2)
				}
				stepsOf(table, 200)
				require.LessOrEqual(t, stepsOf(table, writes), writes, "%d open", table.Snapshots().Open)
				table.janitor.Store(true) // so that only the writes tidy up
				for i := range held {
					held[order(i)].Close()
					if i%100 == 0 {
						require.LessOrEqual(t, stepsOf(table, 1), 2*tidyStep, "%d open", table.Snapshots().Open)
					}
				}
				table.janitor.Store(false)
				table.callJanitor()
				requireNothingKept(t, table)
				require.LessOrEqual(t, stepsOf(table, writes), writes, "all closed")
				require.Empty(t, table.w.limbo.holders)
				require.NoError(t, table.verify())
			})
		}
	}
}

// TestManyCallsAtOnceAreForgotten checks that the pins of many concurrent calls do not stay in the
// list. A removed pin is not free: a reader may have reached it before.
func TestManyCallsAtOnceAreForgotten(t *testing.T) {
	table := newValueTable()
	put(table, "k", &half{value: "v"})
	for _, between := range []func(){func() {}, func() { put(table, "k", &half{value: "v"}) }} {
		var taken []*pin
		for range 1000 {
			_, p := table.pin()
			taken = append(taken, p)
		}
		between()
		for _, p := range taken {
			table.leave(p)
		}
		put(table, "k", &half{value: "v"})
		require.LessOrEqual(t, table.pins.listed(), sparePins)
		stay := slices.Collect(table.pins.list)
		for _, p := range taken {
			require.Equal(t, slices.Contains(stay, p), p.state.Load() == 0)
		}
		put(table, "k", &half{value: "v"})
		_, p := table.pin()
		require.LessOrEqual(t, table.pins.listed(), sparePins+1)
		table.leave(p)
		requireNothingKept(t, table)
	}
}

// TestPinsInAnyOrder checks that a pin that was counted, or marked while arriving, is noticed when
// it is released, wherever it is in the list, and that no reader takes a pin outside of the list.
func TestPinsInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	table := newValueTable()
	put(table, "k", &half{value: "v"})
	type reader struct {
		pin  *pin
		view view
		want *half
	}
	var arriving, settled []reader
	now := func() *half { obj, _ := table.Get("k"); return obj.(*half) }
	for i := range 20_000 {
		switch n := rng.IntN(6); {
		case n == 0:
			put(table, "k", &half{value: "v", count: i})
		case n == 1 && len(arriving) < 2*sparePins:
			p, _ := table.pins.arrive(table.core.Load().published.Load().gen)
			v := table.glance()
			v.pinned = true
			arriving = append(arriving, reader{p, v, now()})
		case n == 2 && len(arriving) > 0:
			r := take(rng, &arriving)
			r.pin.settle(r.view.gen)
			settled = append(settled, r)
		case n == 3 && len(arriving) > 0: // for example a reader that panics
			table.leave(take(rng, &arriving).pin)
		case len(settled) > 0:
			r := take(rng, &settled)
			obj, ok := r.view.get("k")
			require.True(t, ok)
			require.Same(t, r.want, obj)
			table.leave(r.pin)
		}
	}
	for _, r := range append(arriving, settled...) {
		table.leave(r.pin)
	}
	requireNothingKept(t, table)
	require.NoError(t, table.verify())
	put(table, "k", &half{value: "v"})
	require.LessOrEqual(t, table.pins.listed(), sparePins)
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
	require.Nil(t, table.pins.left.Load(), "a released pin was not discounted")
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
	return table.janitor.Load() || len(table.w.limbo.queue) > 0 || table.pins.discountable()
}

// janitors returns the number of running janitors of all tables.
func janitors() int {
	for stack := make([]byte, 1<<16); ; stack = make([]byte, 2*len(stack)) {
		if n := runtime.Stack(stack, true); n < len(stack) {
			return strings.Count(string(stack[:n]), "table.(*Table).callJanitor in goroutine")
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
		require.False(t, table.janitor.Load())
		require.Zero(t, table.Snapshots().Kept, "%d were open", n)
		require.Empty(t, table.w.limbo.holders)
	}
}

// TestJanitorIsNotCalledForNothing checks that calls for which no version was kept do not start a
// janitor.
func TestJanitorIsNotCalledForNothing(t *testing.T) {
	noJanitor()
	table := newValueTable()
	put(table, "k", &half{value: "v"})
	for range 3 * manyPins {
		table.Snapshot().Close()
		table.List()
		put(table, "k", &half{value: "v"})
		require.False(t, table.janitor.Load())
	}
	require.Zero(t, janitors())
}

// TestReaderOfManyPinsStartsTheJanitor checks that a reader that passes many pins starts the janitor although no
// write follows, and that the janitor removes them from the list. A reader that passes fewer does
// not start it.
func TestReaderOfManyPinsStartsTheJanitor(t *testing.T) {
	noJanitor()
	table := newValueTable()
	put(table, "k", &half{value: "v"})
	var held []*Snapshot
	table.w.Lock()
	for range manyPins + 1 {
		held = append(held, table.Snapshot())
		require.False(t, table.janitor.Load(), "%d are open", len(held))
	}
	held = append(held, table.Snapshot())
	require.True(t, table.janitor.Load())
	require.Equal(t, manyPins+2, table.pins.listed())
	table.w.Unlock()
	tidied(table)
	require.Zero(t, table.pins.listed())
	for _, s := range held {
		s.Close()
	}
	requireNothingKept(t, table)
	noJanitor()
}
