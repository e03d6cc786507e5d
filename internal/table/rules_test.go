// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"maps"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDraftIsInvisible walks through a write step by step: before the one store
// that publishes it every answer is the old one, and right after it every
// answer is the new one, while nothing is tidied up yet.
func TestDraftIsInvisible(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newMachine(t, 2)
		for range rapid.IntRange(1, 6).Draw(t, "writes") {
			old := x.model.clone()
			ops := make([]Op, rapid.IntRange(1, 4).Draw(t, "ops"))
			for i := range ops {
				ops[i] = x.op(t, 6)
			}
			x.model.rv += "+"
			held := x.table.Snapshot()
			x.stepwise(t, old, ops)
			requireSame(t, old, held)
			held.Close()
			x.Check(t)
		}
	})
}

func (x *machine) stepwise(t *rapid.T, old *modelState, ops []Op) {
	x.table.w.Lock()
	defer x.table.w.Unlock()
	c := x.table.core.Load()
	ixs := *c.indexes.Load()
	values, failures := x.table.compute(ixs, ops)
	gen := c.published.Load() + 1
	for i := range ops {
		c.apply(gen, &ops[i], ixs, values[i*len(ixs):])
		requireSame(t, old, x.table)
	}
	c.describe(gen, x.model.rv)
	requireSame(t, old, x.table)
	held := x.table.Snapshot()
	requireSame(t, old, held)
	c.publish(gen, x.model.rv)
	requireSame(t, x.model, x.table)
	requireSame(t, old, held)
	held.Close()
	x.table.settle(len(ops))
	requireSame(t, x.model, x.table)
	x.table.report(failures)
}

// TestArrivingPinKeepsEverything: a reader that has announced itself and not
// yet settled finds the generation that it has loaded, whatever is written in
// between, and finds it complete.
func TestArrivingPinKeepsEverything(t *testing.T) {
	table := newValueTable()
	put(table, "k", &half{count: 1, value: "v"})
	p, _ := table.pins.arrive(table.core.Load().published.Load())
	v := table.glance()
	v.pinned = true
	del(table, "k")
	put(table, "l", &half{count: 2, value: "v"})
	p.settle(v.gen)
	put(table, "k", &half{count: 3, value: "w"})
	obj, ok := v.get("k")
	require.True(t, ok)
	require.Equal(t, 1, obj.(*half).count)
	require.Len(t, v.objects(nil), 1)
	n, _, err := v.indexCount("value", "v")
	require.NoError(t, err)
	require.Equal(t, 1, n)
	table.leave(p)
	requireNothingKept(t, table)
}

// TestLeavesOfReadersAreNotOverwritten: a posting that shrinks and grows again
// does not write where a reader with the longer list of leaves may look.
func TestLeavesOfReadersAreNotOverwritten(t *testing.T) {
	table := newValueTable()
	fill := func() {
		for i := range 3 * leafLen {
			put(table, modelKey(i), &half{value: "v"})
		}
	}
	fill()
	ix, err := table.glance().index("value")
	require.NoError(t, err)
	rest := ix.find("v").rest()
	before := append([]*leaf{}, rest...)
	for i := range leafLen {
		del(table, modelKey(i))
	}
	require.Len(t, ix.find("v").rest(), 1)
	fill()
	require.Equal(t, before, rest)
}

// TestFailureHookMayPanic is how a store restores client-go's panic.
func TestFailureHookMayPanic(t *testing.T) {
	table := New(map[string]IndexFunc{"first": itemIndex("first")},
		Options{OnIndexFailures: eachFailure(func(f IndexFailure) { panic(f.Err) })})
	bad := &item{broken: map[string]string{"first": "error"}}
	for _, write := range []func(){
		func() { table.Apply([]Op{{Key: "k", Object: bad}, {Key: "l", Object: bad}}, nil) },
		func() { table.Replace(maps.All(map[string]any{"k": bad, "l": bad}), 2, "") },
		func() {
			_ = table.AddIndexers(map[string]IndexFunc{"other": func(any) ([]string, error) { return nil, errBroken }})
		},
	} {
		require.PanicsWithValue(t, errBroken, write)
		require.True(t, table.w.TryLock(), "no lock is held")
		require.NoError(t, table.verify())
		table.w.Unlock()
		require.Equal(t, 2, table.Len(), "the write is complete")
	}
}

// TestUserCodeThatNeverReturns: an index function, a stamp or the sequence of
// a Replace ends the goroutine; the table is as before and writable.
func TestUserCodeThatNeverReturns(t *testing.T) {
	exit := false
	table := New(map[string]IndexFunc{"first": func(any) ([]string, error) {
		if exit {
			runtime.Goexit()
		}
		return []string{"v"}, nil
	}}, Options{})
	table.Apply([]Op{{Key: "k", Object: 1}}, func(string) string { return "1" })
	exit = true
	for name, write := range map[string]func(){
		"Apply":   func() { table.Apply([]Op{{Key: "k", Delete: true}, {Key: "l", Object: 2}}, nil) },
		"Replace": func() { table.Replace(maps.All(map[string]any{"l": 2}), 1, "2") },
		"AddIndexers": func() {
			_ = table.AddIndexers(map[string]IndexFunc{"x": func(any) ([]string, error) { runtime.Goexit(); return nil, nil }})
		},
		"stamp":    func() { table.Apply(nil, func(string) string { runtime.Goexit(); return "" }) },
		"sequence": func() { table.Replace(func(func(string, any) bool) { runtime.Goexit() }, 1, "2") },
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			write()
		}()
		<-done
		require.Equal(t, 1, table.Len(), name)
		require.Equal(t, "1", table.RV(), name)
		n, err := table.Count("first", "v")
		require.NoError(t, err)
		require.Equal(t, 1, n, name)
		require.NotContains(t, table.Indexers(), "x")
		require.True(t, table.w.TryLock(), name)
		require.NoError(t, table.verify(), name)
		table.w.Unlock()
	}
}

// TestNilObject: nil is an object like any other, and not a deletion.
func TestNilObject(t *testing.T) {
	table := New(map[string]IndexFunc{"first": func(obj any) ([]string, error) {
		if obj == nil {
			return nil, errors.New("nothing to index")
		}
		return []string{"v"}, nil
	}}, Options{})
	table.Apply([]Op{{Key: "k", Object: nil}}, nil)
	obj, ok := table.Get("k")
	require.True(t, ok)
	require.Nil(t, obj)
	require.Equal(t, []any{nil}, table.List())
	require.Equal(t, uint64(1), table.IndexFailures()["first"])
}
