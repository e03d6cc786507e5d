// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"fmt"
	"slices"
)

// view is the table at one generation.
//
// A pinned view sees exactly that generation. A glance has no pin: what it
// looks at may be superseded and cut out at any moment. It then reports
// ok == false and the caller takes a pin. As long as it only meets heads that
// are not newer than gen, these were all current together at the moment when
// it took its first step into the posting, for a newer published version would
// have been met instead: the answer is one state, at gen or newer. That
// argument holds for the members of one posting, so a glance reads no more.
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
	p := t.pins.arrive(t.core.Load().published.Load())
	v := t.glance()
	v.pinned = true
	p.settle(v.gen)
	return v, p
}

// look returns the version of a cell in this view; nil if there is none.
func look[T any](v view, c *cell[T]) (_ *version[T], ok bool) {
	head := c.head.Load()
	switch {
	case head == nil || head.gen <= v.gen:
		return head, true
	case !v.pinned:
		return nil, false
	}
	return c.at(v.gen), true
}

// get returns the object under a key. Pinned views only.
func (v view) get(key string) (obj any, ok bool) {
	if r := v.core.find(key).at(v.gen); r != nil && !r.val.dead() {
		return r.val.obj, true
	}
	return nil, false
}

// records calls yield for each record until it returns false. Pinned views only.
func (v view) records(yield func(*record) bool) {
	for _, chunk := range v.core.records.chunks() {
		for i := range chunk {
			if r := chunk[i].at(v.gen); r != nil && !r.val.dead() && !yield(&r.val) {
				return
			}
		}
	}
}

// objects appends all objects. Pinned views only.
func (v view) objects(dst []any) []any {
	for _, chunk := range v.core.records.chunks() {
		for i := range chunk {
			r := chunk[i].head.Load()
			if r != nil && r.gen > v.gen {
				r = chunk[i].at(v.gen)
			}
			if r != nil && !r.val.dead() {
				dst = append(dst, r.val.obj)
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
	return nil, fmt.Errorf("%w: %q", ErrNoIndex, name)
}

// leaves calls yield for the ids of each leaf with members. It returns false
// if a glance has failed.
func (v view) leaves(p *posting, yield func(ids []uint32) bool) bool {
	rest := p.rest()
	for i := -1; i < len(rest); i++ {
		c := &p.first
		if i >= 0 {
			c = rest[i]
		}
		l, ok := look(v, c)
		if !ok {
			return false
		}
		if l == nil || len(l.val.ids) == 0 {
			continue
		}
		if !yield(l.val.ids) {
			return false
		}
	}
	return true
}

// each calls f for each object of a posting. It returns false if a glance has
// failed.
func (v view) each(p *posting, f func(id uint32, r *record)) bool {
	return v.leaves(p, func(ids []uint32) bool {
		for _, id := range ids {
			r, ok := look(v, v.core.records.at(id))
			if !ok || r == nil {
				return false
			}
			f(id, &r.val)
		}
		return true
	})
}

// members appends the objects of a posting. It is each, written out for speed.
func (v view) members(p *posting, dst []any) (_ []any, ok bool) {
	spine := v.core.records.chunks()
	if full := len(p.rest()) * leafLen; full > 0 {
		dst = slices.Grow(dst, full+leafLen)
	}
	ok = v.leaves(p, func(ids []uint32) bool {
		dst = slices.Grow(dst, len(ids))
		for _, id := range ids {
			c := &spine[id>>slabBits][id&slabMask]
			r := c.head.Load()
			if r == nil || r.gen > v.gen {
				if !v.pinned {
					return false
				}
				r = c.at(v.gen)
			}
			dst = append(dst, r.val.obj)
		}
		return true
	})
	return dst, ok
}

// count returns the number of members of a posting.
func (v view) count(p *posting) (n int, ok bool) {
	ok = v.leaves(p, func(ids []uint32) bool {
		n += len(ids)
		return true
	})
	return n, ok
}

// inhabited tells whether a posting has members. Pinned views only. All leaves
// are full but the last one with members, so that the first one tells.
func (v view) inhabited(p *posting) bool {
	l := p.first.at(v.gen)
	return l != nil && len(l.val.ids) > 0
}
