// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"maps"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// reusing is an IndexFunc that returns the same slice each time.
func reusing() IndexFunc {
	var memory []string
	return func(obj any) ([]string, error) {
		memory = append(memory[:0], obj.(*item).values["first"]...)
		return memory, nil
	}
}

// TestIndexFuncsMayReuseTheirResult: whatever way an object comes into an
// index, what the function returned for it is taken before the next call.
func TestIndexFuncsMayReuseTheirResult(t *testing.T) {
	const n = BlockLen + 3
	objects := map[string]any{}
	var ops []Op
	for i := range n {
		key := strconv.Itoa(i)
		it := &item{key: key, values: map[string][]string{"first": {key}}}
		if i%3 == 0 {
			it.values["first"] = []string{key, "third"}
		}
		objects[key] = it
		ops = append(ops, Op{Key: key, Object: it})
	}
	for name, fill := range map[string]func(*Table){
		"Apply":   func(table *Table) { table.Apply(ops, nil) },
		"Replace": func(table *Table) { table.Replace(maps.All(objects), n, "1") },
		"AddIndexers": func(table *Table) {
			table.Apply(ops, nil)
			require.NoError(t, table.AddIndexers(map[string]IndexFunc{"late": reusing()}))
		},
		"Draft": func(table *Table) {
			d, block := table.Draft(n), &Block{}
			for key, obj := range objects {
				block.Keys[block.N], block.Objects[block.N] = key, obj
				if block.N++; block.N == BlockLen {
					d.Put(block)
					block.Reset()
				}
			}
			d.Put(block)
			table.Install(d, "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			table := New(map[string]IndexFunc{"first": reusing(), "second": reusing()}, Options{})
			fill(table)
			for index := range table.Indexers() {
				for key := range objects {
					keys, err := table.IndexKeys(index, key)
					require.NoError(t, err)
					require.Equal(t, []string{key}, keys, "in %s", index)
				}
				count, err := table.Count(index, "third")
				require.NoError(t, err)
				require.Equal(t, (n+2)/3, count, "in %s", index)
			}
		})
	}
}

// TestOneValueIsTakenWithoutAllocation, whatever way the function returns it.
func TestOneValueIsTakenWithoutAllocation(t *testing.T) {
	single := func(obj any) (string, error) { return obj.(*item).key, nil }
	for name, options := range map[string]Options{
		"function": {},
		"single":   {SingleValued: func(IndexFunc) func(any) (string, error) { return single }},
	} {
		t.Run(name, func(t *testing.T) {
			table := New(map[string]IndexFunc{"first": reusing()}, options)
			ops := []Op{
				{Key: "a", Object: &item{key: "a", values: map[string][]string{"first": {"a"}}}},
				{Key: "b", Object: &item{key: "b", values: map[string][]string{"first": {"b"}}}},
			}
			ixs := *table.core.Load().indexes.Load()
			require.Zero(t, testing.AllocsPerRun(100, func() { table.compute(ixs, ops) }))
			values, _ := table.compute(ixs, ops)
			require.Equal(t, []indexValues{{"a"}, {"b"}}, values)
		})
	}
}
