// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

// A change of a large table is a dozen waits for memory: in each index for the
// posting, its value, its last leaf and the row of the member that moves. The
// functions here take each of these steps for all indexes together, before the
// change itself takes them one after the other. Their results mean nothing.

// warmIndexes is for how many indexes that is done.
const warmIndexes = 8

// warm touches what file is going to look at, for objects that come or go. An
// update compares a few values at most, and what it compares them with is
// mostly in the cache: there it costs more than it saves.
func (c *core) warm(row []ref, ixs []*index, values []indexValues) uint64 {
	switch {
	case len(ixs) > warmIndexes || len(ixs) < 2:
		return 0
	case values == nil:
		return c.warmLeaving(row, ixs)
	case row[0] == refNone:
		return warmEntering(ixs, values)
	}
	return 0
}

// warmLeaving touches the leaves that lose a member, and the rows of the
// members that take the place.
func (c *core) warmLeaving(row []ref, ixs []*index) (sum uint64) {
	var posts [warmIndexes]*posting
	var moved [warmIndexes]uint32
	for i, ix := range ixs {
		if r := row[i]; r != refNone && r != refMany {
			posts[i] = ix.post(r)
		}
	}
	for i, p := range posts {
		if p != nil {
			last, pos := p.n-1, row[i].pos
			moved[i] = p.leaf(last >> leafBits).ids()[last&leafMask]
			sum += uint64(p.leaf(pos >> leafBits).ids()[pos&leafMask])
		}
	}
	for i, p := range posts {
		if p != nil {
			sum += uint64(c.rows.row(moved[i])[i].pos)
		}
	}
	return sum
}

// warmEntering touches the postings that get a member, and their last leaves.
func warmEntering(ixs []*index, values []indexValues) (sum uint64) {
	var posts [warmIndexes]*posting
	for i := range ixs {
		if len(values[i]) > 0 {
			sum += uint64(touch(values[i][0]))
		}
	}
	for i, ix := range ixs {
		if len(values[i]) == 1 {
			posts[i] = ix.guess(ix.hash(values[i][0]))
		}
	}
	for _, p := range posts[:len(ixs)] {
		sum += p.warm()
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

// warm touches what an addition needs.
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
