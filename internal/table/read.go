// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"
)

// Get returns the object under a key. It takes no lock; a Get that meets a change of its key is
// repeated once, with a pin.
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
	g.fetch()
	if m := match(g.Load(), hash); m != 0 {
		likely, r := g.slots[first(m)].load()
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
			return t.getPinned(key)
		}
		if !v.none() && v.key() == key {
			return v.object(), true
		}
	}
}

func (t *Table) getPinned(key string) (obj any, ok bool) {
	v, p := t.pin()
	defer t.leave(p)
	return v.get(key)
}

// Len returns the number of objects.
func (t *Table) Len() int { return t.meta().n }

// RV returns the resource version of the newest state.
func (t *Table) RV() string { return t.meta().rv }

func (t *Table) meta() meta {
	return t.core.Load().meta()
}

// List returns all objects, in no particular order, in a new slice that is not nil.
func (t *Table) List() []any {
	v, p := t.pin()
	defer t.leave(p)
	return v.objects(make([]any, 0, v.core.size()))
}

// ListKeys returns all keys, in no particular order.
func (t *Table) ListKeys() []string {
	v, p := t.pin()
	defer t.leave(p)
	return v.keys()
}

// size returns the number of objects of the newest state, as a hint.
func (c *core) size() int { return c.meta().n }

// ByIndex returns the objects with a value in an index, in no particular order.
func (t *Table) ByIndex(index, value string) ([]any, error) {
	v := t.glance()
	if objs, ok, err := v.byIndex(index, value); ok {
		return objs, err
	}
	v, p := t.pin()
	defer t.leave(p)
	objs, _, err := v.byIndex(index, value)
	return objs, err
}

// IndexKeys returns the keys of the objects with a value in an index, sorted.
func (t *Table) IndexKeys(index, value string) ([]string, error) {
	v := t.glance()
	if keys, ok, err := v.indexKeys(index, value); ok {
		return keys, err
	}
	v, p := t.pin()
	defer t.leave(p)
	keys, _, err := v.indexKeys(index, value)
	return keys, err
}

// Count returns the number of objects with a value in an index.
func (t *Table) Count(index, value string) (int, error) {
	v := t.glance()
	if n, ok, err := v.indexCount(index, value); ok {
		return n, err
	}
	v, p := t.pin()
	defer t.leave(p)
	n, _, err := v.indexCount(index, value)
	return n, err
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

// IndexValues returns the values in use in an index, in no particular order.
func (t *Table) IndexValues(index string) ([]string, error) {
	v, p := t.pin()
	defer t.leave(p)
	return v.indexValues(index)
}

// The methods below are shared by the table and its snapshots. Those that return ok may be called
// without a pin.

func (v view) byIndex(name, value string) (objs []any, ok bool, err error) {
	p, err := v.posting(name, value)
	if err != nil {
		return nil, true, err
	}
	if p == nil {
		return []any{}, true, nil
	}
	objs, ok = v.members(p, nil)
	if objs == nil {
		objs = []any{}
	}
	return objs, ok, nil
}

func (v view) indexKeys(name, value string) (keys []string, ok bool, err error) {
	p, err := v.posting(name, value)
	if err != nil || p == nil {
		return nil, true, err
	}
	keys = make([]string, 0, p.most())
	ok = v.each(p, func(_ uint32, key string, _ any) bool {
		keys = append(keys, key)
		return true
	})
	slices.Sort(keys)
	return keys, ok, nil
}

func (v view) indexCount(name, value string) (n int, ok bool, err error) {
	p, err := v.posting(name, value)
	if err != nil || p == nil {
		return 0, true, err
	}
	n, ok = v.count(p)
	return n, ok, nil
}

// posting returns the posting of a value, or nil if there is none.
func (v view) posting(name, value string) (*posting, error) {
	ix, err := v.index(name)
	if err != nil {
		return nil, err
	}
	return ix.find(value), nil
}

// union returns the objects that have any of the values. Pinned views only.
func (v view) union(name string, values []string) ([]any, error) {
	ix, err := v.index(name)
	if err != nil {
		return nil, err
	}
	objs, seen := []any{}, make(map[uint32]struct{})
	for _, value := range values {
		p := ix.find(value)
		if p == nil {
			continue
		}
		v.each(p, func(id uint32, _ string, obj any) bool {
			if _, dup := seen[id]; !dup {
				seen[id] = struct{}{}
				objs = append(objs, obj)
			}
			return true
		})
	}
	return objs, nil
}

// indexValues returns copies of the values that have members. A value itself lies in its posting,
// which refers to the whole body of the table. Pinned views only.
func (v view) indexValues(name string) ([]string, error) {
	ix, err := v.index(name)
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

// keys returns all keys. Pinned views only.
func (v view) keys() []string {
	keys := make([]string, 0, v.core.size())
	for _, chunk := range v.core.records.chunks() { // as records does, inlined for speed
		for i := range chunk {
			if r := &chunk[i]; !r.at(v.gen).none() {
				keys = append(keys, r.key())
			}
		}
	}
	return keys
}
