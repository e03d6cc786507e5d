// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// listed is how many pins are in the list, which all writes look at.
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

// stepsOf is the number of pins and versions that writes look at.
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

// TestWritesLookAtFewPins: what a write does does not grow with the snapshots
// that are open, nor with those that were.
func TestWritesLookAtFewPins(t *testing.T) {
	const snapshots, writes = 5000, 100
	orders := map[string]func(n int) []int{
		"first to last": func(n int) []int { return inOrder(n) },
		"last to first": func(n int) []int {
			order := inOrder(n)
			for i := range order {
				order[i] = n - 1 - i
			}
			return order
		},
		"any": rand.New(rand.NewPCG(1, 2)).Perm,
	}
	for name, order := range orders {
		for _, every := range []int{1, 100} { // a write
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
				table.janitor.Store(true) // so that all is left to the writes
				for i, at := range order(snapshots) {
					held[at].Close()
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

func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// TestManyCallsAtOnceAreForgotten: the pins of a crowd of calls do not stay. One
// that has gone is not free: a reader may have come to it before.
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

// TestPinsInAnyOrder: a pin that was counted, or marked while it arrived, is
// heard of when it leaves, wherever it stands in the list, and nobody takes one
// that is not in the list.
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
			p, _ := table.pins.arrive(table.core.Load().published.Load())
			v := table.glance()
			v.pinned = true
			arriving = append(arriving, reader{p, v, now()})
		case n == 2 && len(arriving) > 0:
			r := take(rng, &arriving)
			r.pin.settle(r.view.gen)
			settled = append(settled, r)
		case n == 3 && len(arriving) > 0: // a reader that panics, say
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
