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
func (c *core) build(x *indexer, gen uint64, ixs *[]*index) (failures []IndexFailure) {
	ix := newIndex(x, c.seed, gen, c.n, &changes{building: true})
	c.live(func(id uint32, r *record) {
		ix.assign(gen, id, x.compute(r.key, r.obj, &failures))
	})
	ix.log = &c.log
	*ixs = append(*ixs, ix)
	return failures
}

// live calls f for each object of the newest state. Writer only.
func (c *core) live(f func(id uint32, r *record)) {
	for i, chunk := range c.records.chunks() {
		for j := range chunk {
			if v := chunk[j].head.Load(); v != nil && !v.val.dead() {
				f(uint32(i<<slabBits|j), &v.val)
			}
		}
	}
}

// builder fills a new body that nobody sees yet.
type builder struct {
	core     *core
	gen      uint64
	ixs      []*index
	failures []IndexFailure
}

// newBuilder starts a body with the indexers of the old one.
func newBuilder(old *core, gen uint64, n int) *builder {
	var xs []*indexer
	for _, ix := range *old.indexes.Load() {
		xs = append(xs, ix.indexer)
	}
	c := newCore(old.seed, xs, gen, n)
	c.log.building = true
	return &builder{core: c, gen: gen, ixs: *c.indexes.Load()}
}

// add stores an object, in the place of an earlier one with its key.
func (b *builder) add(key string, obj any) {
	id, _, _ := b.core.put(b.gen, key, obj)
	for _, ix := range b.ixs {
		ix.assign(b.gen, id, ix.compute(key, obj, &b.failures))
	}
}

// done completes the body.
func (b *builder) done(rv string) *core {
	b.core.log.building = false
	b.core.publish(b.gen, rv)
	return b.core
}

// A body is rebuilt when more than sparseMin ids were ever given out and less
// than a quarter of them are in use: what deleted objects leave behind stays
// below the memory of the others, at a quarter of a rebuild for each deletion.
const (
	sparseMin = 4 * slabLen
	sparse    = 4
)

func (c *core) sparse() bool {
	return c.records.next > sparseMin && c.records.held() < int(c.records.next/sparse)
}

// compact copies the newest state into a body of the right size. It takes the
// index values from the postings and calls no index function.
func compact(old *core) *core {
	b := newBuilder(old, old.published.Load()+1, old.n)
	from := *old.indexes.Load()
	old.live(func(id uint32, r *record) {
		to, _, _ := b.core.put(b.gen, r.key, r.obj)
		for i, ix := range b.ixs {
			ix.assign(b.gen, to, from[i].valuesOf(id))
		}
	})
	return b.done(old.meta.head.Load().val.rv)
}

// valuesOf returns the values under which an object is filed.
func (ix *index) valuesOf(id uint32) []string {
	ix.refs.cover(id)
	places := ix.places(id)
	values := make([]string, len(places))
	for i, r := range places {
		values[i] = ix.post(r).value
	}
	return values
}
