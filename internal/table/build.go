// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "runtime/debug"

// indexValues are the values of one object in one index; nil if its function
// failed.
type indexValues = []string

// compute runs the index functions on the new objects of a batch, op by op.
// The result is scratch memory that the caller clears.
func (t *Table) compute(ixs []*index, ops []Op) (values []indexValues, failures []IndexFailure) {
	values = t.w.values[:0]
	for i := range ops {
		for _, ix := range ixs {
			var v indexValues
			if !ops[i].Delete {
				v = ix.compute(ops[i].Key, ops[i].Object, &failures)
			}
			values = append(values, v)
		}
	}
	if t.w.values = values; cap(values) > keptLog {
		t.w.values = nil
	}
	return values, failures
}

// compute runs the index function on one object and records its failure.
func (x *indexer) compute(key string, obj any, failures *[]IndexFailure) indexValues {
	values, err := x.call(obj)
	if err == nil {
		return values
	}
	x.failures.Add(1)
	*failures = append(*failures, IndexFailure{Index: x.name, Key: key, Object: obj, Err: err})
	return nil
}

// call turns a panic of the function into an error.
func (x *indexer) call(obj any) (values []string, err error) {
	defer func() {
		if p := recover(); p != nil {
			values, err = nil, &PanicError{Value: p, Stack: debug.Stack()}
		}
	}()
	return x.fn(obj)
}

// build files all live objects in a new index and appends it to ixs.
func (c *core) build(x *indexer, gen uint64, rows *rows, ixs *[]*index) (failures []IndexFailure) {
	ix := newIndex(x, c.seed, gen, rows, len(*ixs), &changes{building: true})
	c.live(func(id uint32, r *record) {
		ix.assign(gen, id, ix.ref(id), x.compute(r.key(), r.object(), &failures))
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
