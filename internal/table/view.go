// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"slices"
	"sort"
)

// view is the table at one generation.
//
// A pinned view sees exactly that generation. A glance has no pin: a record or leaf may change at
// any moment, and its older version may be dropped. A glance reports ok == false when it meets one
// that has changed since gen, and the caller takes a pin. Otherwise its answer is that of a state
// that was the newest during the call: the state at gen, or a later one.
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

// pin returns a pinned view of the newest state. The caller must release the pin with leave.
//
// The pin is taken before the generation is chosen: a writer that publishes after that keeps the
// versions that it supersedes until the pin has settled.
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

// index returns the index with a name.
func (v view) index(name string) (*index, error) {
	for _, ix := range *v.core.indexes.Load() {
		if ix.name == name && ix.born <= v.gen {
			return ix, nil
		}
	}
	return nil, noIndex(name)
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

// member returns the key and object of a record that is a member of a leaf. ok is false if a glance
// has failed.
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

// each calls f for each object of a posting until f returns false. It reports false if a glance has
// failed.
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

// members appends the objects of a posting. It is each, inlined for speed.
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

// count returns the number of members of a posting. All leaves are full except the last one with
// members, which is found by binary search.
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

// inhabited reports whether a posting has members. Pinned views only. The first leaf has one if any
// leaf does.
func (v view) inhabited(p *posting) bool {
	n, _ := v.size(p.first.Load())
	return n > 0
}
