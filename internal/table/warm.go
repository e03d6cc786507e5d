// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "unsafe"

// The functions here take a step of a change for all keys, or all indexes,
// together, before the change itself takes the steps one after the other. They
// only prefetch: what they look at may be wrong.

// warmIndexes is for how many indexes that is done.
const warmIndexes = 8

// prefetch has the processor fetch the group.
func (g *keyGroup) prefetch() { prefetchLines(unsafe.Pointer(g), unsafe.Sizeof(*g)) }

// prefetch asks for the record of a slot and for its key, and returns the
// record.
func (s *keySlot) prefetch() *record {
	key, r := s.load()
	prefetch(unsafe.Pointer(r), 0)
	prefetch(unsafe.Pointer(r), unsafe.Offsetof(r.undo))
	prefetch(key, 0)
	prefetch(key, cacheLine-1)
	return r
}

// prefetch has the processor fetch what an addition needs first.
func (p *posting) prefetch() {
	if p != nil {
		prefetch(unsafe.Pointer(p), 0)
	}
}

// ahead asks for what the next changes of a batch need, BlockLen of them at a
// time: for the groups of their keys before the stamp, for the records before
// the index functions, and for the postings before the first change.
type ahead struct {
	n      int
	hashes [BlockLen]uint64
	// ids are of the records that the keys probably have; noID where unknown.
	ids [BlockLen]uint32
}

const noID = maxID

// groups begins with the next changes.
func (a *ahead) groups(c *core, ops []Op) {
	a.n = min(len(ops), BlockLen)
	for i := range ops[:a.n] {
		a.hashes[i] = c.hash(ops[i].Key)
		c.keys.at(a.hashes[i]).prefetch()
	}
}

// records asks for the records, their keys and their rows.
func (a *ahead) records(c *core) {
	for i, hash := range a.hashes[:a.n] {
		a.ids[i] = noID
		g := c.keys.at(hash)
		if m := match(g.Load(), hash); m != 0 {
			r := g.slots[first(m)].prefetch()
			if id, ok := c.records.likelyID(r); ok {
				a.ids[i] = id
				prefetch(unsafe.Pointer(unsafe.SliceData(c.rows.row(id))), 0)
			}
		}
	}
}

// postings asks for the postings that the objects are in, and for the new
// values.
func (a *ahead) postings(c *core, ixs []*index, values []indexValues) {
	if len(ixs) > warmIndexes {
		return
	}
	for _, of := range values[:a.n*len(ixs)] {
		if len(of) == 1 {
			prefetchString(of[0])
		}
	}
	for _, id := range a.ids[:a.n] {
		if id == noID {
			continue
		}
		row := c.rows.row(id)
		for i, ix := range ixs {
			if r := row[i]; r != refNone && r != refMany {
				ix.post(r).prefetch()
			}
		}
	}
}

// warm asks for what file is going to look at.
func (c *core) warm(row []ref, ixs []*index, values []indexValues) {
	switch {
	case len(ixs) > warmIndexes || len(ixs) < 2:
	case values == nil:
		c.warmLeaving(row, ixs)
	case row[0] == refNone:
		warmEntering(ixs, values)
	default:
		warmStaying(row, ixs)
	}
}

// warmStaying asks for the values of the postings that an object is in.
func warmStaying(row []ref, ixs []*index) {
	for i, ix := range ixs {
		if r := row[i]; r != refNone && r != refMany {
			prefetchString(ix.post(r).value)
		}
	}
}

// warmLeaving asks for the leaves that lose a member, and for the rows of the
// members that take the place.
func (c *core) warmLeaving(row []ref, ixs []*index) {
	var posts [warmIndexes]*posting
	for i, ix := range ixs {
		if r := row[i]; r != refNone && r != refMany {
			posts[i] = ix.post(r)
			posts[i].prefetch()
		}
	}
	for i, p := range posts {
		if p != nil {
			p.prefetchID(p.n - 1)
			p.prefetchID(row[i].pos)
		}
	}
	for _, p := range posts {
		if p != nil {
			last := p.n - 1
			moved := c.rows.row(p.leaf(last >> leafBits).ids()[last&leafMask])
			prefetch(unsafe.Pointer(unsafe.SliceData(moved)), 0)
		}
	}
}

// prefetchID asks for the place of a member's id, and for the leaf that has it.
func (p *posting) prefetchID(pos uint32) {
	l := p.leaf(pos >> leafBits)
	prefetch(unsafe.Pointer(l), 0)
	prefetch(unsafe.Pointer(l), unsafe.Sizeof(*l)+uintptr(pos&leafMask)*4)
}

// warmEntering asks for the postings that get a member, and their last leaves.
func warmEntering(ixs []*index, values []indexValues) {
	var hashes [warmIndexes]uint64
	for i, ix := range ixs {
		if len(values[i]) == 1 {
			hashes[i] = ix.hash(values[i][0])
			prefetch(unsafe.Pointer(ix.values.at(hashes[i])), 0)
		}
	}
	var posts [warmIndexes]*posting
	for i, ix := range ixs {
		if len(values[i]) == 1 {
			posts[i] = ix.guess(hashes[i])
			posts[i].prefetch()
		}
	}
	for _, p := range posts[:len(ixs)] {
		p.prefetchEnd()
	}
}

// prefetchEnd asks for the value of a posting and for the place of its next
// member.
func (p *posting) prefetchEnd() {
	if p == nil {
		return
	}
	prefetchString(p.value)
	if l := p.leaf(uint32(len(p.rest()))); l != nil {
		prefetch(unsafe.Pointer(l), 0)
		prefetch(unsafe.Pointer(l), unsafe.Sizeof(*l)+uintptr(l.room)*2)
	}
}

// warm is prefetch and prefetchEnd for the builder, which loads.
func (p *posting) warm() uint64 {
	if p == nil {
		return 0
	}
	sum := uint64(p.n) + uint64(touch(p.value))
	if l := p.leaf(uint32(len(p.rest()))); l != nil {
		sum += uint64(l.ids()[l.n%l.room])
	}
	return sum
}

// guess returns a posting that probably has a value with this hash.
func (ix *index) guess(hash uint64) *posting {
	g := ix.values.at(hash)
	if m := match(g.Load(), hash); m != 0 {
		return g.refs[first(m)].Load()
	}
	return nil
}
