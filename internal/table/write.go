// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
)

// New returns an empty table. The map is copied.
func New(indexers map[string]IndexFunc, options Options) *Table {
	t := &Table{seed: maphash.MakeSeed(), options: options}
	t.reads.table = t
	c := newCore(t.seed, newIndexers(indexers, options), 1, 0)
	c.publish(1, "")
	t.core.Store(c)
	return t
}

// newIndexers returns the indexers ordered by name, so that their functions always run in the same
// order.
func newIndexers(m map[string]IndexFunc, options Options) []*indexer {
	xs := make([]*indexer, 0, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		x := &indexer{name: name, fn: m[name]}
		if options.SingleValued != nil {
			x.single = options.SingleValued(x.fn)
		}
		xs = append(xs, x)
	}
	return xs
}

// Apply makes the changes in order, as one state: no reader sees a part of them. If stamp is not
// nil it computes the resource version of the state.
func (t *Table) Apply(ops []Op, stamp Stamp) {
	t.w.Lock()
	t.report(t.applyAll(ops, stamp))
}

func (t *Table) applyAll(ops []Op, stamp Stamp) failures {
	if len(ops) == 1 {
		return t.one(ops[0].Key, &ops[0], stamp)
	}
	return t.apply(ops, stamp)
}

// apply calls all user code before the first change: if that panics or exits the goroutine, the
// deferred unlock leaves the table unchanged. The caller holds t.w, which apply unlocks.
func (t *Table) apply(ops []Op, stamp Stamp) failures {
	defer t.w.Unlock()
	c := t.core.Load()
	ixs := *c.indexes.Load()
	rv := c.meta().rv
	if stamp != nil {
		rv = stamp(rv)
	}
	values, failed := t.compute(ixs, ops)
	gen := c.published.Load() + 1
	for i := range ops {
		c.apply(gen, &ops[i], ixs, values[i*len(ixs):])
	}
	clear(values)
	clear(t.w.filing.singles)
	t.finish(c, gen, rv, len(ops))
	return failed
}

// apply makes one change in the draft gen.
func (c *core) apply(gen uint64, op *Op, ixs []*index, values []indexValues) {
	hash := c.hash(op.Key)
	if op.Delete {
		id, old := c.drop(gen, op.Key, hash)
		if op.Old, op.Had = old.object(), !old.none(); op.Had {
			c.file(gen, id, ixs, nil)
		}
		return
	}
	id, old := c.put(gen, op.Key, hash, wordsOf(op.Object))
	op.Old, op.Had = old.object(), !old.none()
	c.file(gen, id, ixs, values)
}

// file updates an object's places in all indexes. If values is nil the object is removed from them.
func (c *core) file(gen uint64, id uint32, ixs []*index, values []indexValues) {
	row := c.rows.row(id)
	for i, ix := range ixs {
		var of indexValues
		if values != nil {
			of = values[i]
		}
		ix.assign(gen, id, &row[i], of)
	}
}

// Replace makes these objects the only ones of the table, at resource version rv, as one state. n
// is about their number. Of several objects under one key the last one is stored.
//
// Readers use the old body until the new one is complete and one pointer is stored.
func (t *Table) Replace(objects iter.Seq2[string, any], n int, rv string) {
	_ = t.Fill(n, rv, func(add func(string, any)) error { // never fails
		for key, obj := range objects {
			add(key, obj)
		}
		return nil
	})
}

// Fill is Replace with the objects that fill adds. If fill returns an error, Fill returns it and
// the table is unchanged. fill runs with writers locked out and must not write to the table.
// Objects are filed in blocks, soon after they are added, while they are in the caches.
func (t *Table) Fill(n int, rv string, fill func(add func(key string, obj any)) error) error {
	failed, err := t.fill(n, rv, fill)
	t.report(failed)
	return err
}

func (t *Table) fill(n int, rv string, fill func(add func(key string, obj any)) error) (failures, error) {
	t.w.Lock()
	defer t.w.Unlock()
	old := t.core.Load()
	b := newBuilder(old, old.published.Load()+1, n, &t.functions)
	b.waits = true
	if err := fill(b.add); err != nil {
		return failures{}, err
	}
	t.swap(b.done(rv))
	t.settle(0)
	return b.failed, nil
}

// AddIndexers adds indexes and files all objects in them. It adds either all the indexers, or none
// and returns an ErrIndexExists. Readers see the table without them until the last object is filed.
func (t *Table) AddIndexers(indexers map[string]IndexFunc) error {
	failed, err := t.addIndexers(newIndexers(indexers, t.options))
	t.report(failed)
	return err
}

func (t *Table) addIndexers(added []*indexer) (failed failures, err error) {
	t.w.Lock()
	defer t.w.Unlock()
	c := t.core.Load()
	gen := c.published.Load() + 1
	if err := conflicts(*c.indexes.Load(), added); err != nil {
		return failed, err
	}
	t.widen(c, gen, added, &failed)
	c.publish(gen, c.meta().rv)
	t.settle(0)
	return failed, nil
}

// widen adds indexes over all live objects, in the draft gen.
func (t *Table) widen(c *core, gen uint64, added []*indexer, failed *failures) {
	if len(added) == 0 {
		return
	}
	ixs, rows := slices.Clone(*c.indexes.Load()), c.rows.widened(len(added))
	for _, x := range added {
		ixs = append(ixs, c.build(x, gen, rows, len(ixs), &t.functions, failed))
	}
	for _, ix := range ixs {
		ix.rows = rows
	}
	c.rows = rows
	c.indexes.Store(&ixs)
}

// conflicts returns an error that names every indexer whose name is taken.
func conflicts(ixs []*index, added []*indexer) error {
	var errs []error
	for _, x := range added {
		if slices.ContainsFunc(ixs, func(ix *index) bool { return ix.name == x.name }) {
			errs = append(errs, fmt.Errorf("%w: %q", ErrIndexExists, x.name))
		}
	}
	return errors.Join(errs...)
}

// Indexers returns the indexers by name, in a new map.
func (t *Table) Indexers() map[string]IndexFunc {
	v := t.glance()
	m := make(map[string]IndexFunc)
	for _, ix := range *v.core.indexes.Load() {
		if ix.born <= v.gen {
			m[ix.name] = ix.fn
		}
	}
	return m
}
