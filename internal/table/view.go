// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"sort"
)

// glance returns a view of the newest state without a pin.
func (t *Table) glance() view {
	c := t.core.Load()
	return view{core: c, gen: c.published.Load()}
}

// pin returns a pinned view of the newest state. The caller must release the pin with leave.
func (t *Table) pin() (view, *pin) {
	v, _, p := t.take(0)
	return v, p
}

// get returns the object under a key. Pinned views only.
func (v view) get(key string) (obj any, ok bool) {
	for s := v.core.keys.search(v.core.hash(key)); ; {
		r := s.next()
		if r == nil {
			return nil, false
		}
		if w := r.at(v.gen); !w.none() && r.key() == key {
			return w.object(), true
		}
	}
}

// records calls yield for each record with an object until it returns false.
// Pinned views only.
func (v view) records(yield func(key string, obj any) bool) {
	for _, chunk := range v.core.records.chunks() {
		for i := range chunk {
			r := &chunk[i]
			if w := r.at(v.gen); !w.none() && !yield(r.key(), w.object()) {
				return
			}
		}
	}
}

// index returns the index with a name.
func (v view) index(name string) (*index, error) {
	for _, ix := range *v.core.indexes.Load() {
		if ix.name == name && ix.born <= v.gen {
			return ix, nil
		}
	}
	return nil, noIndex(name)
}

// posting returns the posting of a value, or nil if there is none.
func (v view) posting(name, value string) (*posting, error) {
	ix, err := v.index(name)
	if err != nil {
		return nil, err
	}
	return ix.find(value), nil
}

// ids returns the members in a leaf, in buf or in memory that does not change. ok is false if a
// glance has failed.
func (v view) ids(l *leaf, buf *[leafLen]uint32) (ids []uint32, ok bool) {
	if l == nil {
		return nil, true
	}
	n, unchanged := l.read(v.gen, buf)
	switch {
	case unchanged:
		return buf[:n], true
	case !v.pinned:
		return nil, false
	}
	return l.before(v.gen, buf), true
}

// each calls f for each object of a posting until f returns false. Pinned views only.
func (v view) each(p *posting, f func(id uint32, key string, obj any) bool) {
	var buf [leafLen]uint32
	for _, l := range p.leaves {
		ids, _ := v.ids(l, &buf)
		for _, id := range ids {
			r := v.core.records.at(id)
			if !f(id, r.key(), r.at(v.gen).object()) {
				return
			}
		}
	}
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

// byIndex returns the objects with a value in an index. It is each, inlined for speed. ok is false
// if a glance has failed.
func (v view) byIndex(name, value string) (objs []any, ok bool, err error) {
	p, err := v.posting(name, value)
	if err != nil {
		return nil, true, err
	}
	objs = []any{}
	if p == nil {
		return objs, true, nil
	}
	if full := len(p.rest()) * leafLen; full > 0 {
		objs = slices.Grow(objs, full+leafLen)
	}
	var buf [leafLen]uint32
	for _, l := range p.leaves {
		ids, ok := v.ids(l, &buf)
		if !ok {
			return objs, false, nil
		}
		spine := v.core.records.chunks()
		objs = slices.Grow(objs, len(ids))
		for _, id := range ids {
			r := &spine[id>>slabBits][id&slabMask]
			w := r.words.load()
			if r.gen.Load() > v.gen || w.none() {
				if !v.pinned {
					return objs, false, nil
				}
				w = r.before(v.gen)
			}
			objs = append(objs, w.object())
		}
	}
	return objs, true, nil
}

// count returns the number of objects with a value in an index.
func (v view) count(name, value string) (n int, ok bool, err error) {
	p, err := v.posting(name, value)
	if err != nil || p == nil {
		return 0, true, err
	}
	n, ok = v.members(p)
	return n, ok, nil
}

// members returns the number of members of a posting. All leaves are full except the last one with
// members, which is found by binary search.
func (v view) members(p *posting) (n int, ok bool) {
	rest, first := p.rest(), p.first.Load() // in the order of leaves
	ok = true
	of := func(l *leaf) int {
		n, known := v.size(l)
		ok = ok && known
		return n
	}
	full := sort.Search(len(rest), func(i int) bool { return of(rest[i]) == 0 })
	if full == 0 {
		return of(first), ok
	}
	return full*leafLen + of(rest[full-1]), ok
}

// size returns the number of members in a leaf, which may be nil. ok is false if
// a glance has failed.
func (v view) size(l *leaf) (n int, ok bool) {
	if l == nil {
		return 0, true
	}
	members, unchanged := l.size(v.gen)
	switch {
	case unchanged:
		return int(members), true
	case !v.pinned:
		return 0, false
	}
	var buf [leafLen]uint32
	ids, _ := v.ids(l, &buf)
	return len(ids), true
}

// inhabited reports whether a posting has members. Pinned views only. The first leaf has one if any
// leaf does.
func (v view) inhabited(p *posting) bool {
	n, _ := v.size(p.first.Load())
	return n > 0
}
