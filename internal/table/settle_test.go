// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// requireNothingKept waits for the janitor.
func requireNothingKept(t require.TestingT, table *Table) {
	tidied(table)
	require.Zero(t, table.Snapshots().Kept)
	require.Nil(t, table.pins.left.Load(), "somebody has left and was not heard")
}

// tidied waits until the janitor, if one was called, has found no more to do.
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

// janitors is how many there are, of all tables.
func janitors() int {
	for stack := make([]byte, 1<<16); ; stack = make([]byte, 2*len(stack)) {
		if n := runtime.Stack(stack, true); n < len(stack) {
			return strings.Count(string(stack[:n]), "table.(*Table).callJanitor in goroutine")
		}
	}
}

// noJanitor waits until the last one has ended.
func noJanitor() {
	for janitors() > 0 {
		runtime.Gosched()
	}
}

// crowd returns so many snapshots, each of an own state.
func crowd(table *Table, n int) (held []*Snapshot) {
	for i := range n {
		held = append(held, table.Snapshot())
		put(table, "k", &half{value: "v", count: i})
	}
	return held
}

// TestOneJanitorATable: however many leave, and while a writer is busy they all
// leave and nothing is tidied up. Then the janitor does all of it, and ends.
func TestOneJanitorATable(t *testing.T) {
	noJanitor()
	for _, n := range []int{1, 2, tidyStep - 1, tidyStep, tidyStep + 1, 3*tidyStep + 1} {
		table := newValueTable()
		put(table, "k", &half{value: "v"})
		held := crowd(table, n)
		require.Zero(t, janitors(), "nobody has left")
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

// TestNobodyIsCalledForNothing: where nothing was superseded for a call, nothing
// is to be tidied up.
func TestNobodyIsCalledForNothing(t *testing.T) {
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

// TestACrowdIsCounted: who has passed by many pins calls the janitor, although
// nobody writes, and it takes them off the list; of fewer it is not called.
func TestACrowdIsCounted(t *testing.T) {
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

// TestAJanitorWhoIsCalledBesideAnother goes on where that one ends: each gives up
// its office before it looks.
func TestAJanitorWhoIsCalledBesideAnother(t *testing.T) {
	noJanitor()
	table := newValueTable()
	put(table, "k", &half{value: "v"})
	held := crowd(table, 3*tidyStep)
	table.janitor.Store(true) // the test is one
	for _, s := range held[:3*tidyStep-1] {
		s.Close()
	}
	require.True(t, table.cleanStep(), "there is more to look at, and nobody else")
	require.True(t, table.janitor.Load())
	table.w.Lock()
	table.janitor.Store(false)
	held[3*tidyStep-1].Close() // as between its look and its end
	require.Equal(t, 1, janitors())
	require.True(t, table.tidyLocked())
	require.False(t, table.janitor.CompareAndSwap(false, true), "another one has come")
	table.w.Unlock()
	noJanitor()
	requireNothingKept(t, table)
}

// TestPinsThatAreLeftBetweenTwoSteps, by those who find the janitor in office,
// are heard of, however many the first step has left over.
func TestPinsThatAreLeftBetweenTwoSteps(t *testing.T) {
	noJanitor()
	for _, over := range []int{tidyStep - 1, tidyStep, tidyStep + 1} {
		table := newValueTable()
		put(table, "k", &half{value: "v"})
		held := crowd(table, tidyStep+over+1)
		table.janitor.Store(true) // the test is one
		for _, s := range held[1:] {
			s.Close()
		}
		require.True(t, table.cleanStep())
		held[0].Close()
		for table.cleanStep() {
		}
		require.Zero(t, janitors(), "the office was never vacant")
		require.False(t, table.janitor.Load())
		require.False(t, table.pins.discountable(), "%d were left over", over)
		require.Zero(t, table.Snapshots().Kept)
	}
}
