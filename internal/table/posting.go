// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "unsafe"

// resized returns a copy of a leaf, which may be nil, with room for at least n members. Readers may
// still use the original, which will not change.
func (l *leaf) resized(n uint32) *leaf {
	c := newLeaf(n)
	if l != nil {
		c.gen.Store(l.gen.Load())
		c.n = l.n
		c.old.Store(l.old.Load())
		copy(c.ids(), l.ids()[:l.n])
	}
	return c
}

// rest returns the leaves after the first.
func (p *posting) rest() []*leaf {
	if m := p.more.Load(); m != nil {
		return *m
	}
	return nil
}

// most returns a hint: the number of members for which there is room.
func (p *posting) most() int {
	if rest := p.rest(); len(rest) > 0 {
		return (len(rest) + 1) * leafLen
	}
	if l := p.first.Load(); l != nil {
		return int(l.room)
	}
	return 0
}

// leaf returns leaf i.
func (p *posting) leaf(i uint32) *leaf {
	if i == 0 {
		return p.first.Load()
	}
	return (*p.more.Load())[i-1]
}

// leaves yields the leaves in order. The first may be nil.
//
// The list of the other leaves is loaded before any leaf is read. A glance depends on that: members
// move to earlier leaves and the emptied leaves are trimmed, so a list loaded after the first leaf
// was read may lack a member that the first leaf did not have yet. In this order, the leaves are
// those of the state that is the newest when the list is loaded.
func (p *posting) leaves(yield func(i uint32, l *leaf) bool) {
	rest := p.rest()
	if !yield(0, p.first.Load()) {
		return
	}
	for i, l := range rest {
		if !yield(uint32(i+1), l) {
			return
		}
	}
}

// add appends an id and returns its position.
func (p *posting) add(gen uint64, id uint32) (pos uint32) {
	pos = p.n
	p.n++
	i, at := pos>>leafBits, pos&leafMask
	l := p.roomy(gen, i, at)
	if p.index.log.building {
		l.ids()[at], l.n = id, at+1
		return pos
	}
	if l.note(gen, at, p.index.log) {
		p.index.log.leaf(p, i)
	}
	l.set(at, id)
	l.setLen(at + 1)
	return pos
}

// roomy returns leaf i, with room for an id at position at.
func (p *posting) roomy(gen uint64, i, at uint32) *leaf {
	if i > 0 {
		if rest := p.rest(); int(i) <= len(rest) {
			return rest[i-1]
		}
		l := p.young(gen, i, leafLen)
		rest := append(p.rest(), l)
		p.more.Store(&rest)
		return l
	}
	l := p.first.Load()
	switch {
	case l == nil:
		l = p.young(gen, 0, 1)
	case at < l.room:
		return l
	default:
		l = l.resized(at + 1)
	}
	p.first.Store(l)
	return l
}

// young returns a new leaf i, which does not exist before generation gen.
func (p *posting) young(gen uint64, i, n uint32) *leaf {
	l := newLeaf(n)
	l.gen.Store(gen)
	p.index.log.leaf(p, i)
	return l
}

// remove removes the id at pos. The last member moves to pos and is returned, unless pos was the
// last one.
func (p *posting) remove(gen uint64, pos uint32) (moved uint32, ok bool) {
	p.n--
	last := p.n
	l := p.edit(gen, last)
	moved = l.ids()[last&leafMask]
	l.setLen(last & leafMask)
	p.shrink(last)
	if last == pos {
		return 0, false
	}
	p.edit(gen, pos).set(pos&leafMask, moved)
	return moved, true
}

// edit returns the leaf whose id at pos is about to be overwritten, and notes the id.
func (p *posting) edit(gen uint64, pos uint32) *leaf {
	i, log := pos>>leafBits, p.index.log
	l := p.leaf(i)
	if log.building {
		log.leaves = append(log.leaves, leafRef{p, i})
	} else if l.note(gen, pos&leafMask, log) {
		log.leaf(p, i)
	}
	return l
}

// shrink replaces the first leaf by a smaller one if n members need at most a quarter of its room.
func (p *posting) shrink(n uint32) {
	if l := p.first.Load(); n > 0 && n < leafLen && l.room > fewIDs && n*4 <= l.room && len(p.rest()) == 0 {
		p.first.Store(l.resized(n + n/2))
	}
}

// trim drops the last leaves that are empty in every visible state.
func (p *posting) trim() {
	rest := p.rest()
	n := len(rest)
	for n > 0 && uint32(n)<<leafBits >= p.n && rest[n-1].bare() {
		n--
	}
	switch {
	case n == len(rest):
	case n == 0:
		p.more.Store(nil)
	default:
		// Readers may hold the longer slice, so later appends must not write to it.
		short := rest[:n:n]
		p.more.Store(&short)
	}
}

// spent reports whether the posting has no member in any visible state, so that it may be dropped.
func (p *posting) spent() bool {
	return p.n == 0 && len(p.rest()) == 0 && p.first.Load().bare()
}

// newPosting returns an empty posting. A value of up to textLen bytes is copied into the posting:
// its bytes then lie beside the header, so that a comparison misses the cache once, and the posting
// does not keep the text of an object alive. The string may point to p.text because that is written
// only here.
func newPosting(value string, ix *index) *posting {
	p := &posting{value: value, index: ix}
	if n := copy(p.text[:], value); n == len(value) {
		p.value = unsafe.String(&p.text[0], n)
	}
	return p
}
