// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"strings"
)

// Put is Apply for one object. The table does not keep key; it makes a string of the bytes if it
// has none yet.
func (t *Table) Put(key []byte, obj any, stamp Stamp) {
	t.w.Lock()
	t.report(t.one(lent(key), &Op{Object: obj}, stamp))
}

// Remove is Apply for one deletion. The table does not keep key.
func (t *Table) Remove(key []byte, stamp Stamp) {
	t.w.Lock()
	t.report(t.one(lent(key), &Op{Delete: true}, stamp))
}

// one is apply for one change, as most writes are. If op.Key is empty, key may refer to the
// caller's bytes: ownKey copies them before they are stored or reported. The caller holds t.w,
// which one unlocks.
//
// The record of the key is looked up before the index functions run: no other writer can change it
// meanwhile, and the processor loads the memory of the table and of the new object in parallel.
func (t *Table) one(key string, op *Op, stamp Stamp) (failed failures) {
	defer t.w.Unlock()
	c := t.core.Load()
	hash := c.hash(key)
	group := c.keys.at(hash)
	group.Load()
	fetchHints(group)
	ixs := *c.indexes.Load()
	f := &t.w.filing
	f.reserve(len(ixs))
	rv := c.meta().rv
	if stamp != nil {
		rv = stamp(rv)
	}
	r := t.prepare(c, ixs, key, hash, op, &failed)
	gen := c.published.Load() + 1
	switch {
	case r != nil && !(op.Delete && r.none()):
		op.Old, op.Had = r.object(), !r.none()
		c.set(gen, r, op.words())
		c.refile(gen, r.id, ixs, f)
	case !op.Delete:
		id := c.begin(gen, op.ownKey(key), hash, op.words())
		c.refile(gen, id, ixs, f)
	}
	f.clear()
	t.finish(c, gen, rv, 1)
	return failed
}

// prepare finds the record of a key and the object's current postings, and computes its new index
// values.
func (t *Table) prepare(c *core, ixs []*index, key string, hash uint64, op *Op, failed *failures) *record {
	calls := !op.Delete && len(ixs) > 0
	if calls && callsUser(ixs) {
		t.functions.Lock()
		defer t.functions.Unlock()
	}
	f := &t.w.filing
	r := c.locate(hash, key)
	if r != nil && calls {
		f.look(c.rows.row(r.id))
	}
	for at := 0; calls && at < len(ixs); {
		at = computeFrom(at, ixs, op, f.values, f.singles, failed)
	}
	for i := range failed.all {
		failed.all[i].Key = op.ownKey(key)
	}
	return r
}

// finish publishes the draft gen and drops the versions that it has superseded.
func (t *Table) finish(c *core, gen uint64, rv string, ops int) {
	c.publish(gen, rv)
	t.settle(ops)
	if c.sparse() {
		t.swap(compact(c))
	}
}

// swap publishes a new body. Versions of the old one that pins need stay filed under these.
func (t *Table) swap(c *core) {
	c.born = c.published.Load()
	t.core.Store(c)
}

// words returns the words of the object that the key has after the change.
func (op *Op) words() words {
	if op.Delete {
		return words{}
	}
	return wordsOf(op.Object)
}

// ownKey returns the key in memory that will not change.
func (op *Op) ownKey(key string) string {
	if op.Key != "" {
		return op.Key
	}
	return strings.Clone(key)
}

// reserve makes room for the values of one object.
func (f *filing) reserve(indexes int) {
	f.values = slices.Grow(f.values[:0], indexes)[:indexes]
	f.singles = slices.Grow(f.singles[:0], indexes)[:indexes]
	f.posts = slices.Grow(f.posts[:0], indexes)[:indexes]
	f.clear()
}

// clear drops all pointers to the object.
func (f *filing) clear() {
	clear(f.values)
	clear(f.singles)
	clear(f.posts)
}

// look finds the postings of an object.
func (f *filing) look(row []ref) {
	for i, r := range row {
		if r != refNone && r != refMany {
			f.posts[i] = r.post
			f.warm += int(r.post.text[0]) + int(r.post.text[textLen-1]) // two cache lines
		}
	}
}

// refile is file for one object. It does not touch a posting in which the object stays.
func (c *core) refile(gen uint64, id uint32, ixs []*index, f *filing) {
	if len(ixs) == 0 {
		return
	}
	row := c.rows.row(id)
	for i, ix := range ixs {
		values := f.values[i]
		if p := f.posts[i]; p == nil || len(values) != 1 || p.value != values[0] {
			ix.assign(gen, id, &row[i], values)
		}
	}
}
