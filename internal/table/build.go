// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime/debug"
	"slices"
)

// indexValues are the values of one object in one index; nil if its function
// failed.
type indexValues = []string

// compute runs the index functions on the new objects of a batch, op by op.
// The result is scratch memory that the caller clears.
func (t *Table) compute(ixs []*index, ops []Op) (values []indexValues, failures []IndexFailure) {
	n := len(ops) * len(ixs)
	values = slices.Grow(t.w.values[:0], n)[:n]
	clear(values)
	singles := slices.Grow(t.w.singles[:0], n)[:n]
	if t.w.values, t.w.singles = values, singles; n > keptLog {
		t.w.values, t.w.singles = nil, nil
	}
	left := values
	for i := range ops {
		of, memory := left[:len(ixs)], singles[:len(ixs)]
		left, singles = left[len(ixs):], singles[len(ixs):]
		if op := &ops[i]; !op.Delete {
			for at := 0; at < len(ixs); {
				at = computeFrom(at, ixs, op, of, memory, &failures)
			}
		}
	}
	return values, failures
}

// computeFrom runs the index functions from one on, up to and with the first
// that panics. Its result is where to go on: one deferred call serves them all.
func computeFrom(at int, ixs []*index, op *Op, values []indexValues, memory []string, failures *[]IndexFailure) (next int) {
	next = at
	defer func() {
		if p := recover(); p != nil {
			ixs[next].failed(op.Key, op.Object, panicked(p), failures)
			next++
		}
	}()
	for ; next < len(ixs); next++ {
		of, err := ixs[next].valuesFor(op.Object, memory[next:next+1:next+1])
		if err != nil {
			ixs[next].failed(op.Key, op.Object, err, failures)
			continue
		}
		values[next] = of
	}
	return next
}

// computeAll runs the index function on objects from one on, like computeFrom.
func (x *indexer) computeAll(at int, keys []string, objects []any, values []indexValues, memory []string, failures *[]IndexFailure) (next int) {
	next = at
	defer func() {
		if p := recover(); p != nil {
			x.failed(keys[next], objects[next], panicked(p), failures)
			next++
		}
	}()
	for ; next < len(objects); next++ {
		of, err := x.valuesFor(objects[next], memory[next:next+1:next+1])
		if err != nil {
			x.failed(keys[next], objects[next], err, failures)
			continue
		}
		values[next] = of
	}
	return next
}

func panicked(value any) error { return &PanicError{Value: value, Stack: debug.Stack()} }

// failed records a failure of the function.
func (x *indexer) failed(key string, obj any, err error, failures *[]IndexFailure) {
	x.failures.Add(1)
	*failures = append(*failures, IndexFailure{Index: x.name, Key: key, Object: obj, Err: err})
}

// build files all live objects in a new index and appends it to ixs.
func (c *core) build(x *indexer, gen uint64, rows *rows, ixs *[]*index) (failures []IndexFailure) {
	ix := newIndex(x, c.seed, gen, rows, len(*ixs), &changes{building: true})
	c.live(func(id uint32, r *record) {
		var values [1]indexValues
		var memory [1]string
		x.computeAll(0, []string{r.key()}, []any{r.object()}, values[:], memory[:], &failures)
		ix.assign(gen, id, ix.ref(id), values[0])
	})
	ix.log = &c.log
	*ixs = append(*ixs, ix)
	return failures
}

// live calls f for each record with an object in the newest state. Writer
// only.
func (c *core) live(f func(id uint32, r *record)) {
	for i, chunk := range c.records.chunks() {
		for j := range chunk {
			if r := &chunk[j]; !r.none() {
				f(uint32(i<<slabBits|j), r)
			}
		}
	}
}
