// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"sort"
)

// view is the table at one generation.
//
// A pinned view sees exactly that generation. A glance has no pin: what it
// looks at may change at any moment, and what it has been before may be gone.
// It then reports ok == false and the caller takes a pin. As long as it only
// meets what has not changed since gen, its answer is that of a state which was
// the newest during the call: that at gen, or a later one.
type view struct {
	core   *core
	gen    uint64
	pinned bool
}

// glance returns a view of the newest state without a pin.
func (t *Table) glance() view {
	c := t.core.Load()
	return view{core: c, gen: c.published.Load()}
}

// pin returns a view of the newest state. The caller must leave the pin.
//
// The pin is announced first: a writer that publishes after that keeps what it
// supersedes until the pin has settled.
func (t *Table) pin() (view, *pin) {
	p, _ := t.pins.arrive(t.core.Load().published.Load())
	v := t.glance()
	v.pinned = true
	p.settle(v.gen)
	return v, p
}

// get returns the object under a key. Pinned views only.
func (v view) get(key string) (obj any, ok bool) {
	w := v.core.find(v.gen, key)
	return w.object(), !w.none()
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

// objects appends all objects. Pinned views only.
func (v view) objects(dst []any) []any {
	for _, chunk := range v.core.records.chunks() {
		for i := range chunk {
			if w := chunk[i].at(v.gen); !w.none() {
				dst = append(dst, w.object())
			}
		}
	}
	return dst
}

// index returns the index of a name.
func (v view) index(name string) (*index, error) {
	for _, ix := range *v.core.indexes.Load() {
		if ix.name == name && ix.born <= v.gen {
			return ix, nil
		}
	}
	return nil, noIndex(name)
}

// ids returns the members in a leaf, in buf or in memory that does not change.
// ok is false if a glance has failed.
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

// member returns what a record that is a member of a leaf holds. ok is false
// if a glance has failed.
func (v view) member(id uint32) (key string, obj any, ok bool) {
	r := v.core.records.at(id)
	g := r.look()
	switch {
	case g.gen <= v.gen && !g.none():
		return g.key(), g.object(), true
	case !v.pinned:
		return "", nil, false
	}
	return r.key(), r.at(v.gen).object(), true
}

// each calls f for each object of a posting until it returns false. The result
// is false if a glance has failed.
func (v view) each(p *posting, f func(id uint32, key string, obj any) bool) bool {
	var buf [leafLen]uint32
	for _, l := range p.leaves {
		ids, ok := v.ids(l, &buf)
		if !ok {
			return false
		}
		for _, id := range ids {
			key, obj, ok := v.member(id)
			if !ok {
				return false
			}
			if !f(id, key, obj) {
				return true
			}
		}
	}
	return true
}

// members appends the objects of a posting. It is each, written out for speed.
func (v view) members(p *posting, dst []any) (_ []any, ok bool) {
	if full := len(p.rest()) * leafLen; full > 0 {
		dst = slices.Grow(dst, full+leafLen)
	}
	var buf [leafLen]uint32
	for _, l := range p.leaves {
		ids, ok := v.ids(l, &buf)
		if !ok {
			return dst, false
		}
		spine := v.core.records.chunks()
		dst = slices.Grow(dst, len(ids))
		for _, id := range ids {
			r := &spine[id>>slabBits][id&slabMask]
			w := r.words.load()
			if r.gen.Load() > v.gen || w.none() {
				if !v.pinned {
					return dst, false
				}
				w = r.before(v.gen)
			}
			dst = append(dst, w.object())
		}
	}
	return dst, true
}

// count returns the number of members of a posting. All leaves are full but the
// last one with members, which a binary search finds.
func (v view) count(p *posting) (n int, ok bool) {
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

// inhabited tells whether a posting has members. Pinned views only. All leaves
// are full but the last one with members, so that the first one tells.
func (v view) inhabited(p *posting) bool {
	n, _ := v.size(p.first.Load())
	return n > 0
}
