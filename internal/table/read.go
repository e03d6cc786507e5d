// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"
)

// begin returns a pinned view: of the snapshot or, for a table, of the newest state. It returns
// ErrClosed if the snapshot is closed. Otherwise the caller must call end with the pin.
func (r *reads) begin() (v view, p *pin, err error) {
	switch {
	case r.of == nil:
		v, p = r.table.pin()
	case r.of.use():
		v = r.of.view
	default:
		err = ErrClosed
	}
	return v, p, err
}

func (r *reads) end(p *pin) {
	if r.of == nil {
		r.table.leave(p)
	} else {
		r.of.unuse()
	}
}

// Len returns the number of objects.
func (r *reads) Len() int { return r.meta().n }

// RV returns the resource version.
func (r *reads) RV() string { return r.meta().rv }

func (r *reads) meta() meta {
	if r.of != nil {
		return r.of.meta
	}
	return r.table.core.Load().meta()
}

// Get returns the object under a key.
func (r *reads) Get(key string) (obj any, ok bool) {
	v, p, err := r.begin()
	if err != nil {
		return nil, false
	}
	defer r.end(p)
	return v.get(key)
}

// List returns all objects in a new slice, in no particular order. Those of a snapshot are in the
// order of its ListKeys. The slice is nil only after Close.
func (r *reads) List() []any {
	v, p, err := r.begin()
	if err != nil {
		return nil
	}
	defer r.end(p)
	objs := make([]any, 0, r.Len())
	for _, chunk := range v.core.records.chunks() { // as records does, inlined for speed
		for i := range chunk {
			if w := chunk[i].at(v.gen); !w.none() {
				objs = append(objs, w.object())
			}
		}
	}
	return objs
}

// ListKeys returns all keys, in no particular order. Those of a snapshot are in the order of its
// List.
func (r *reads) ListKeys() []string {
	v, p, err := r.begin()
	if err != nil {
		return nil
	}
	defer r.end(p)
	keys := make([]string, 0, r.Len())
	for _, chunk := range v.core.records.chunks() {
		for i := range chunk {
			if r := &chunk[i]; !r.at(v.gen).none() {
				keys = append(keys, r.key())
			}
		}
	}
	return keys
}

// ByIndex returns the objects with a value in an index, in no particular order.
func (r *reads) ByIndex(index, value string) ([]any, error) {
	v, p, err := r.begin()
	if err != nil {
		return nil, err
	}
	defer r.end(p)
	objs, _, err := v.byIndex(index, value)
	return objs, err
}

// Count returns the number of objects with a value in an index.
func (r *reads) Count(index, value string) (int, error) {
	v, p, err := r.begin()
	if err != nil {
		return 0, err
	}
	defer r.end(p)
	n, _, err := v.count(index, value)
	return n, err
}

// IndexKeys returns the keys of the objects with a value in an index, sorted.
func (r *reads) IndexKeys(index, value string) (keys []string, err error) {
	v, pin, err := r.begin()
	if err != nil {
		return nil, err
	}
	defer r.end(pin)
	p, err := v.posting(index, value)
	if err != nil || p == nil {
		return nil, err
	}
	keys = make([]string, 0, p.most())
	v.each(p, func(_ uint32, key string, _ any) bool {
		keys = append(keys, key)
		return true
	})
	slices.Sort(keys)
	return keys, nil
}

// IndexValues returns the values in use in an index, in no particular order. They are copies: a
// value itself lies in its posting, which refers to the whole body of the table.
func (r *reads) IndexValues(index string) ([]string, error) {
	v, p, err := r.begin()
	if err != nil {
		return nil, err
	}
	defer r.end(p)
	ix, err := v.index(index)
	if err != nil {
		return nil, err
	}
	groups := *ix.values.groups.Load()
	values := make([]string, 0, len(groups)*groupLen)
	for i := range groups {
		g := &groups[i]
		for used := g.used(); used != 0; used &= used - 1 {
			// A nil posting was removed meanwhile: it had no members at this generation.
			if p := g.refs[first(used)].Load(); p != nil && v.inhabited(p) {
				values = append(values, strings.Clone(p.value))
			}
		}
	}
	return values, nil
}

// All yields every key and object, in no particular order and without copying: those of a table at
// the beginning of the loop, which counts as an open snapshot until it ends. The body of the loop
// may even close the snapshot over which it runs: the loop then continues.
func (r *reads) All() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		r.loop(func(v view) { v.records(yield) })
	}
}

// ByIndexSeq yields the key and object of each object with a value in an index, as All does. It
// returns an error if the index does not exist now. Indexes are never removed, so the loop finds
// it.
func (r *reads) ByIndexSeq(index, value string) (iter.Seq2[string, any], error) {
	if err := r.knows(index); err != nil {
		return nil, err
	}
	return func(yield func(string, any) bool) {
		r.loop(func(v view) {
			if p, _ := v.posting(index, value); p != nil {
				v.each(p, func(_ uint32, key string, obj any) bool { return yield(key, obj) })
			}
		})
	}, nil
}

// knows returns an error if the index does not exist, or if the snapshot is closed.
func (r *reads) knows(index string) error {
	v := r.table.glance()
	if h := r.of; h != nil {
		if !h.use() {
			return ErrClosed
		}
		defer h.unuse()
		v = h.view
	}
	_, err := v.index(index)
	return err
}

// loop calls walk with a view that stays pinned until walk returns, unless the snapshot is closed.
func (r *reads) loop(walk func(view)) {
	switch h := r.of; {
	case h == nil:
		h = r.table.open()
		defer h.close()
		walk(h.view)
	case h.use():
		defer h.unuse()
		walk(h.view)
	}
}

// A table has methods of its own for the most frequent reads. They take no pin, and are repeated
// with one if they meet a change.

// Get returns the object under a key. A Get that meets a change of its key is repeated once,
// with a pin; others take no lock.
//
// Get itself handles keys that are the first candidate of their group, as nearly all are; search
// handles the others. The processor waits for memory twice: for the two lines of the group, and
// then for the record and the bytes of the key. It loads the latter two speculatively, on the
// assumption that the record has the same key as the slot. The bytes are compared only after the
// check that it has.
func (t *Table) Get(key string) (obj any, ok bool) {
	c := t.core.Load()
	gen := c.published.Load()
	hash := hashString(c.seed, key)
	g := c.keys.at(hash)
	fetchHints(g)
	if m := match(g.Load(), hash); m != 0 {
		likely, r := loadSlot(g, first(m))
		data, n := atomic.LoadPointer(&r.keyData), atomic.LoadUint32(&r.keyLen)
		w := r.words.load()
		if r.gen.Load() <= gen && data == likely && int(n) == len(key) && !w.none() &&
			unsafe.String((*byte)(likely), len(key)) == key {
			return w.object(), true
		}
	}
	return t.search(c, gen, key, hash)
}

// search is Get without the shortcut for the first candidate.
func (t *Table) search(c *core, gen uint64, key string, hash uint64) (obj any, ok bool) {
	for s := c.keys.search(hash); ; {
		r := s.next()
		if r == nil {
			return nil, false
		}
		v := r.look()
		if v.gen > gen {
			return t.reads.Get(key)
		}
		if !v.none() && v.key() == key {
			return v.object(), true
		}
	}
}

// Key returns the table's own string of a key, for callers that have its bytes and want to share
// the memory. It may miss a key that is being changed; the caller then uses its own string. text is
// compared and not kept.
func (t *Table) Key(text []byte) (key string, ok bool) {
	c := t.core.Load()
	gen := c.published.Load()
	wanted := lent(text)
	key, w := c.seek(gen, c.hash(wanted), wanted)
	return key, !w.none()
}

// ByIndex returns the objects with a value in an index, in no particular order.
func (t *Table) ByIndex(index, value string) ([]any, error) {
	if objs, ok, err := t.glance().byIndex(index, value); ok {
		return objs, err
	}
	return t.reads.ByIndex(index, value)
}

// Count returns the number of objects with a value in an index.
func (t *Table) Count(index, value string) (int, error) {
	if n, ok, err := t.glance().count(index, value); ok {
		return n, err
	}
	return t.reads.Count(index, value)
}

// Index returns the objects that share a value with obj in an index, each once. The index function
// runs in the caller's goroutine and its error is returned. obj need not be in the table.
func (t *Table) Index(index string, obj any) ([]any, error) {
	ix, err := t.glance().index(index)
	if err != nil {
		return nil, err
	}
	values, err := ix.fn(obj)
	if err != nil {
		return nil, err
	}
	if len(values) == 1 {
		return t.ByIndex(index, values[0])
	}
	v, p := t.pin()
	defer t.leave(p)
	return v.union(index, values)
}
