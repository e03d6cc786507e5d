// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLeavesOfReadersAreNotOverwritten checks that a posting that shrinks and grows again does not
// write to a longer list of leaves that a reader may hold.
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

// TestFailureHookMayPanic checks a hook that panics, as a store's does for client-go's behavior.
func TestFailureHookMayPanic(t *testing.T) {
	table := New(map[string]IndexFunc{"first": itemIndex("first")},
		Options{OnIndexFailures: func(failures []IndexFailure) { panic(failures[0].Err) }})
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

// TestUserFunctionsThatExit checks that the table is unchanged and writable after an index
// function, a stamp or the sequence of a Replace has exited its goroutine, or a Fill has failed.
func TestUserFunctionsThatExit(t *testing.T) {
	table := New(map[string]IndexFunc{"first": func(obj any) ([]string, error) {
		if obj == 2 {
			runtime.Goexit()
		}
		return []string{"v"}, nil
	}}, Options{})
	table.Apply([]Op{{Key: "k", Object: 1}}, func(string) string { return "1" })
	for name, write := range map[string]func(){
		"Apply":   func() { table.Apply([]Op{{Key: "k", Delete: true}, {Key: "l", Object: 2}}, nil) },
		"Replace": func() { table.Replace(maps.All(map[string]any{"l": 2}), 1, "2") },
		"AddIndexers": func() {
			_ = table.AddIndexers(map[string]IndexFunc{"x": func(any) ([]string, error) { runtime.Goexit(); return nil, nil }})
		},
		"stamp":    func() { table.Apply(nil, func(string) string { runtime.Goexit(); return "" }) },
		"sequence": func() { table.Replace(func(func(string, any) bool) { runtime.Goexit() }, 1, "2") },
		"Fill": func() {
			assert.Equal(t, errBroken, table.Fill(2, "2", func(add func(string, any)) error {
				for range 2 * BlockLen {
					add("l", 3)
				}
				return errBroken
			}))
		},
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
	put(table, "l", 3)
	n, err := table.Count("first", "v")
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// TestNilObject checks that nil is an object, and not a deletion. Index functions are not called for it.
func TestNilObject(t *testing.T) {
	table := New(map[string]IndexFunc{"first": func(any) ([]string, error) { return []string{"v"}, nil }}, Options{})
	table.Apply([]Op{{Key: "k", Object: nil}}, nil)
	obj, ok := table.Get("k")
	require.True(t, ok)
	require.Nil(t, obj)
	require.Equal(t, []any{nil}, table.List())
	require.Zero(t, table.Survey().Indexes[0].Members)
	snapshot := table.Snapshot()
	defer snapshot.Close()
	test, err := snapshot.Test("first", "v")
	require.NoError(t, err)
	require.False(t, test(obj))
}

// fileWays are the operations that call index functions, with more objects than a block has.
var fileWays = map[string]func(t *testing.T, table *Table, objects map[string]any){
	"Apply": func(_ *testing.T, table *Table, objects map[string]any) { table.Apply(opsOf(objects), nil) },
	"Replace": func(_ *testing.T, table *Table, objects map[string]any) {
		table.Replace(maps.All(objects), len(objects), "1")
	},
	"Draft": func(_ *testing.T, table *Table, objects map[string]any) {
		table.Install(draftOf(table, 0, objects, func(*Draft) {}), "1")
	},
	"Draft, postponed": func(t *testing.T, table *Table, objects map[string]any) {
		d := draftOf(table, len(objects), objects, (*Draft).Postpone)
		require.Equal(t, len(objects), d.Complete())
		require.Zero(t, d.Complete())
		table.Install(d, "1")
	},
	"AddIndexers": func(t *testing.T, table *Table, objects map[string]any) {
		added := table.Indexers()["first"]
		*table = *New(nil, table.options)
		table.reads.table = table
		table.Apply(opsOf(objects), nil)
		require.NoError(t, table.AddIndexers(map[string]IndexFunc{"first": added}))
	},
	"AddIndexers beside a draft": func(t *testing.T, table *Table, objects map[string]any) {
		added := table.Indexers()["first"]
		*table = *New(nil, table.options)
		table.reads.table = table
		d := draftOf(table, len(objects), objects, func(*Draft) {})
		require.NoError(t, table.AddIndexers(map[string]IndexFunc{"first": added}))
		table.Install(d, "1")
	},
}

func opsOf(objects map[string]any) (ops []Op) {
	for key, obj := range objects {
		ops = append(ops, Op{Key: key, Object: obj})
	}
	return ops
}

// draftOf returns a draft of objects, created for about size ones.
func draftOf(table *Table, size int, objects map[string]any, before func(*Draft)) *Draft {
	d, block := table.Draft(size), &Block{}
	before(d)
	put := func() {
		d.Look(block)
		d.Put(block)
		block.Reset()
	}
	for key, obj := range objects {
		block.Keys[block.N], block.Objects[block.N] = key, obj
		if block.N++; block.N == BlockLen {
			put()
		}
	}
	put()
	return d
}

// someItems returns n items, each under its key in the index "first", and each second one under
// another value too.
func someItems(n int) map[string]any {
	objects := map[string]any{}
	for i := range n {
		it := newItem(modelKey(i), i)
		it.values["first"] = []string{it.key, "second"}[:1+i%2]
		objects[it.key] = it
	}
	return objects
}

// TestIndexFunctionsRunUnderTheirLock checks that each operation calls the function once for each
// object, one call at a time, and copies the values of the function before its next call. Drafts
// grow, whatever their size at first.
func TestIndexFunctionsRunUnderTheirLock(t *testing.T) {
	objects, want := someItems(20*BlockLen+5), newState("first")
	for key, obj := range objects {
		want.items[key] = obj.(*item)
	}
	keys := slices.Collect(maps.Keys(objects))
	for name, file := range fileWays {
		t.Run(name, func(t *testing.T) {
			var table *Table
			calls, values := 0, reusing()
			table = New(map[string]IndexFunc{"first": func(obj any) ([]string, error) {
				calls++
				require.False(t, table.functions.TryLock())
				return values(obj)
			}}, Options{})
			file(t, table, objects)
			require.True(t, table.functions.TryLock())
			require.Equal(t, len(objects), calls)
			want.rv = table.RV()
			require.NoError(t, differs(want.sum(), table, everyQuery(keys, want.indexes, append(keys, "second"))))
			require.NoError(t, table.verify())
		})
	}
}

// TestPanicsKeepOneStack checks that one stack is recorded for each function and write. All
// failures of a write are reported together.
func TestPanicsKeepOneStack(t *testing.T) {
	bad := map[string]any{}
	for i := range 2*BlockLen + 1 {
		bad[modelKey(i)] = &item{broken: map[string]string{"first": "panic", "second": "panic"}}
	}
	var reports, stacks, all int
	table := New(map[string]IndexFunc{"first": itemIndex("first"), "second": itemIndex("second")}, Options{
		OnIndexFailures: func(failures []IndexFailure) {
			reports++
			for _, f := range failures {
				all++
				if f.Err.(*PanicError).Stack != nil {
					stacks++
				}
			}
		},
	})
	table.Apply(opsOf(bad), nil)
	require.Equal(t, []int{1, 2, 2 * len(bad)}, []int{reports, stacks, all})
	table.Install(draftOf(table, 0, bad, func(*Draft) {}), "1")
	require.Equal(t, []int{2, 4, 4 * len(bad)}, []int{reports, stacks, all})
	require.Equal(t, map[string]int{"first": len(bad), "second": len(bad)}, table.Lacking())
	table.Replace(maps.All(map[string]any{"k": &item{}}), 1, "2")
	require.Equal(t, 2, reports)
	require.Empty(t, table.Lacking())
}

// TestLackingAfterACompaction checks the failed objects after a compaction, which calls no index
// function.
func TestLackingAfterACompaction(t *testing.T) {
	table := New(map[string]IndexFunc{"first": itemIndex("first")}, Options{})
	objects := someItems(2 * sparseMin)
	objects["bad"] = &item{broken: map[string]string{"first": "error"}}
	table.Apply(opsOf(objects), nil)
	body := table.core.Load()
	var ops []Op
	for key := range objects {
		if key != "bad" {
			ops = append(ops, Op{Key: key, Delete: true})
		}
	}
	table.Apply(ops, nil)
	require.NotSame(t, body, table.core.Load())
	require.Equal(t, map[string]int{"first": 1}, table.Lacking())
	table.Apply([]Op{{Key: "bad", Delete: true}}, nil)
	require.Empty(t, table.Lacking())
}

// TestValuesBesideTheirPosting checks that values that fit into a posting and longer ones are found
// by equal strings, and that returned values are no part of a posting.
func TestValuesBesideTheirPosting(t *testing.T) {
	for _, n := range []int{0, 1, textLen - 1, textLen, textLen + 1} {
		value := strings.Repeat("v", n)
		table := New(map[string]IndexFunc{"x": func(any) ([]string, error) { return []string{value}, nil }}, Options{})
		table.Apply([]Op{{Key: "a", Object: 1}, {Key: "b", Object: 2}}, nil)
		table.Apply([]Op{{Key: "a", Object: 3}}, nil)
		objects, err := table.ByIndex("x", strings.Clone(value))
		require.NoError(t, err)
		assert.ElementsMatch(t, []any{3, 2}, objects)
		p := (*table.core.Load().indexes.Load())[0].find(value)
		assert.Equal(t, n > 0 && n <= textLen, n > 0 && unsafe.StringData(p.value) == &p.text[0], n)
		values, err := table.IndexValues("x")
		require.NoError(t, err)
		require.Equal(t, []string{value}, values)
		assert.False(t, n > 0 && unsafe.StringData(values[0]) == unsafe.StringData(p.value), n)
	}
}
