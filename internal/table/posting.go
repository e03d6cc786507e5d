// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
)

const (
	leafBits = 6
	// leafLen bounds what a change in a posting copies: 256 bytes.
	leafLen  = 1 << leafBits
	leafMask = leafLen - 1
)

// leaf is a run of up to leafLen ids of a posting. Each version has an array of
// its own, in the same block of memory.
type leaf struct {
	ids []uint32
}

// posting is the set of objects with one value in one index: ids in leaves,
// all full but the last one with members. Each leaf is a cell of its own, so
// that a change costs the same in a posting of any size.
type posting struct {
	value string
	first cell[leaf]
	// more holds the leaves after the first one. The slice is shared with
	// readers: elements in use are never overwritten.
	more atomic.Pointer[[]*cell[leaf]]

	// The fields below are the writer's; id and index never change.
	index *index
	id    uint32
	n     uint32
}

// rest returns the leaves after the first.
func (p *posting) rest() []*cell[leaf] {
	if m := p.more.Load(); m != nil {
		return *m
	}
	return nil
}

// leaf returns leaf i.
func (p *posting) leaf(i uint32) *cell[leaf] {
	if i == 0 {
		return &p.first
	}
	return (*p.more.Load())[i-1]
}

// edit returns the version of leaf i that this batch may change, with room for
// n ids. A draft that is too small is replaced: unlike the record that Get
// finds, a leaf is only ever read at a generation that was published before its
// head was loaded, so that nobody takes the old draft for a published version.
func (p *posting) edit(gen uint64, i uint32, n int) *leaf {
	c := p.leaf(i)
	head := c.head.Load()
	if head != nil && head.gen == gen && n <= cap(head.val.ids) {
		return &head.val
	}
	v := newLeaf(n)
	v.gen = gen
	if head != nil {
		v.val.ids = append(v.val.ids, head.val.ids[:min(n, len(head.val.ids))]...)
		if head.gen == gen {
			v.prev.Store(head.prev.Load())
			c.head.Store(v)
			return &v.val
		}
		v.prev.Store(head)
	}
	c.head.Store(v)
	p.index.log.leaf(p, i, false)
	return &v.val
}

// add appends an id and returns its position.
func (p *posting) add(gen uint64, id uint32) (pos uint32) {
	pos = p.n
	i := pos >> leafBits
	if int(i) > len(p.rest()) {
		p.extend()
	}
	l := p.edit(gen, i, int(pos&leafMask)+1)
	l.ids = append(l.ids, id)
	p.n++
	return pos
}

// remove takes out the id at pos. The last member moves to its place, and is
// returned, unless pos was the last one.
func (p *posting) remove(gen uint64, pos uint32) (moved uint32, ok bool) {
	p.n--
	last := p.n
	if p.index.log.building {
		p.index.log.leaf(p, last>>leafBits, true)
	}
	n := last & leafMask
	moved = p.leaf(last >> leafBits).head.Load().val.ids[n]
	l := p.edit(gen, last>>leafBits, int(n))
	l.ids = l.ids[:n]
	if last == pos {
		return 0, false
	}
	if last>>leafBits != pos>>leafBits {
		l = p.edit(gen, pos>>leafBits, leafLen)
	}
	l.ids[pos&leafMask] = moved
	return moved, true
}

// extend adds an empty leaf.
func (p *posting) extend() {
	rest := append(p.rest(), new(cell[leaf]))
	p.more.Store(&rest)
}

// trim drops the last leaves that are empty for everybody.
func (p *posting) trim() {
	rest := p.rest()
	n := len(rest)
	for n > 0 && uint32(n)<<leafBits >= p.n && bare(rest[n-1]) {
		n--
	}
	switch {
	case n == len(rest):
	case n == 0:
		p.more.Store(nil)
	default:
		// Readers may hold the longer slice: later appends must not write there.
		short := rest[:n:n]
		p.more.Store(&short)
	}
}

// spent tells that nobody can see a member: the posting may be dropped.
func (p *posting) spent() bool {
	return p.n == 0 && len(p.rest()) == 0 && bare(&p.first)
}

// bare tells that a leaf is empty and has no older version.
func bare(c *cell[leaf]) bool {
	v := c.head.Load()
	return v == nil || len(v.val.ids) == 0 && v.prev.Load() == nil
}

// newLeaf makes an empty version with room for n ids or a few more: the array
// fills up the block that the allocator hands out for the two.
func newLeaf(n int) (v *version[leaf]) {
	var room []uint32
	switch {
	case n <= 2:
		m := new(leaf2)
		v, room = &m.version, m.room[:]
	case n <= 6:
		m := new(leaf6)
		v, room = &m.version, m.room[:]
	case n <= 14:
		m := new(leaf14)
		v, room = &m.version, m.room[:]
	case n <= 22:
		m := new(leaf22)
		v, room = &m.version, m.room[:]
	case n <= 30:
		m := new(leaf30)
		v, room = &m.version, m.room[:]
	case n <= 46:
		m := new(leaf46)
		v, room = &m.version, m.room[:]
	default:
		m := new(leaf64)
		v, room = &m.version, m.room[:]
	}
	v.val.ids = room[:0]
	return v
}

// A version takes 40 bytes, an id 4: these are 48 to 320 bytes.
type (
	leaf2 struct {
		version[leaf]
		room [2]uint32
	}
	leaf6 struct {
		version[leaf]
		room [6]uint32
	}
	leaf14 struct {
		version[leaf]
		room [14]uint32
	}
	leaf22 struct {
		version[leaf]
		room [22]uint32
	}
	leaf30 struct {
		version[leaf]
		room [30]uint32
	}
	leaf46 struct {
		version[leaf]
		room [46]uint32
	}
	leaf64 struct {
		version[leaf]
		room [leafLen]uint32
	}
)
