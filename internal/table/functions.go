// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime/debug"
	"slices"
)

// callsUser reports whether some of the index functions are user code.
func callsUser(ixs []*index) bool {
	for _, ix := range ixs {
		if ix.single == nil {
			return true
		}
	}
	return false
}

// failures are the failures of index functions in one write.
type failures struct {
	all     []IndexFailure
	stacked []*indexer // the indexers with a panic whose stack is recorded
}

// add records that the function of x returned an error.
func (f *failures) add(x *indexer, key string, obj any, err error) {
	x.failures.Add(1)
	f.all = append(f.all, IndexFailure{Index: x.name, Key: key, Object: obj, Err: err})
}

// panicked records that the function of x panicked.
func (f *failures) panicked(x *indexer, key string, obj, value any) {
	p := &PanicError{Value: value}
	if !slices.Contains(f.stacked, x) {
		f.stacked = append(f.stacked, x)
		p.Stack = debug.Stack()
	}
	f.add(x, key, obj, p)
}

// compute calls the index functions for the new objects of a batch, op by op. values is scratch
// memory, which the caller must clear.
func (t *Table) compute(ixs []*index, ops []Op) (values []indexValues, failed failures) {
	n := len(ops) * len(ixs)
	if n == 0 {
		return nil, failed
	}
	f := &t.w.filing
	values = slices.Grow(f.values[:0], n)[:n]
	clear(values)
	singles := slices.Grow(f.singles[:0], n)[:n]
	if f.values, f.singles = values, singles; n > maxLog {
		f.values, f.singles = nil, nil
	}
	for left := values; len(ops) > 0; {
		block := ops[:min(len(ops), BlockLen)]
		n := len(block) * len(ixs)
		t.computeBlock(ixs, block, left[:n], singles[:n], &failed)
		ops, left, singles = ops[len(block):], left[n:], singles[n:]
	}
	return values, failed
}

func (t *Table) computeBlock(ixs []*index, ops []Op, values []indexValues, singles []string, failed *failures) {
	if callsUser(ixs) {
		t.functions.Lock()
		defer t.functions.Unlock()
	}
	for i := range ops {
		of, its := values[:len(ixs)], singles[:len(ixs)]
		values, singles = values[len(ixs):], singles[len(ixs):]
		if op := &ops[i]; !op.Delete {
			for at := 0; at < len(ixs); {
				at = computeFrom(at, ixs, op, of, its, failed)
			}
		}
	}
}

// computeFrom calls the index functions from index at on, up to and including the first that
// panics, and returns the index of the next one. So one deferred call serves them all.
func computeFrom(at int, ixs []*index, op *Op, values []indexValues, singles []string, failed *failures) (next int) {
	next = at
	defer func() {
		if p := recover(); p != nil {
			failed.panicked(ixs[next].indexer, op.Key, op.Object, p)
			values[next] = lacking
			next++
		}
	}()
	for ; next < len(ixs); next++ {
		of, err := ixs[next].valuesFor(op.Object, singles[next:next+1:next+1])
		if err != nil {
			failed.add(ixs[next].indexer, op.Key, op.Object, err)
			of = lacking
		}
		values[next] = of
	}
	return next
}

// computeAll calls the index function for the objects from index at on, like computeFrom.
func (x *indexer) computeAll(at int, keys []string, objects []any, values []indexValues, singles []string, failed *failures) (next int) {
	next = at
	defer func() {
		if p := recover(); p != nil {
			failed.panicked(x, keys[next], objects[next], p)
			values[next] = lacking
			next++
		}
	}()
	for ; next < len(objects); next++ {
		of, err := x.valuesFor(objects[next], singles[next:next+1:next+1])
		if err != nil {
			failed.add(x, keys[next], objects[next], err)
			of = lacking
		}
		values[next] = of
	}
	return next
}

// Lacking returns the number of objects of the newest state that each index lacks because its
// function failed. Indexes that lack none are omitted.
func (t *Table) Lacking() map[string]int {
	var m map[string]int
	for _, ix := range *t.core.Load().indexes.Load() {
		if n := ix.lacks.Load(); n > 0 {
			if m == nil {
				m = map[string]int{}
			}
			m[ix.name] = int(n)
		}
	}
	return m
}

func (t *Table) report(failed failures) {
	if t.options.OnIndexFailures != nil && len(failed.all) > 0 {
		t.options.OnIndexFailures(failed.all)
	}
}
