// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"sync/atomic"
)

const (
	groupLen = 7

	// Eight bytes at once: seven tags, and the overflow count in the highest.
	lowBits     = 0x0001010101010101
	highBits    = 0x0080808080808080
	overflowOne = 1 << 56
	overflowMax = 0xFF

	// A table grows by half when more than 3/4 of its slots are in use: 12 to 18
	// bytes an entry. Made for a number of entries it is 3/5 full: 1.01 groups
	// for a hit.
	fullNum, fullDen = 3, 4
	roomNum, roomDen = 3, 5
)

// group is one cache line of a hash table: a tag and a pointer for each of its
// entries. A tag is 0 for a free slot, else 2 to 255.
//
// The overflow count says how many entries have this group on their way and
// live further on; a search ends at the first group where it is 0. So an entry
// goes without a trace. A count that has reached overflowMax stays there until
// the table is rebuilt.
type group[T any] struct {
	ctrl atomic.Uint64
	refs [groupLen]atomic.Pointer[T]
}

// hashtab finds entries by a 64-bit hash. One writer, readers without a lock;
// the caller compares the keys. The zero value is not usable: see reserve.
//
// A reader that meets a table in change sees each slot as it was or as it is;
// an entry that is there all the while is found, because it never moves but
// into a new array.
type hashtab[T any] struct {
	groups atomic.Pointer[[]group[T]]

	// live is the number of entries. Writer only.
	live int
}

// reserve makes room for n entries in an empty table.
func (t *hashtab[T]) reserve(n int) {
	groups := make([]group[T], n*roomDen/(roomNum*groupLen)+1)
	t.groups.Store(&groups)
}

// home is the group where the search for a hash begins.
func home(hash uint64, groups int) int {
	return int(hash >> 32 * uint64(groups) >> 32)
}

// at returns the group where the search for a hash begins.
func (t *hashtab[T]) at(hash uint64) *group[T] {
	groups := *t.groups.Load()
	return &groups[home(hash, len(groups))]
}

// match returns a bit for each tag that equals the hash's, and perhaps for some
// that differ from it in the lowest bit only: the keys decide.
func match(ctrl, hash uint64) uint64 { return matchTag(ctrl, tag(hash)) }

// matchTag is match for a tag. As there is no tag 1, a free slot matches
// nothing but 0, and 0 only free slots.
func matchTag(ctrl, tag uint64) uint64 {
	x := ctrl ^ tag*lowBits
	return (x - lowBits) & ^x & highBits
}

func tag(hash uint64) uint64 {
	hash &= 0xFF
	if hash < 2 {
		hash += 2
	}
	return hash
}

// first is the slot of the lowest bit of a match.
func first(match uint64) int { return bits.TrailingZeros64(match) >> 3 }

// search walks the entries that may have a hash.
type search[T any] struct {
	groups []group[T]
	hash   uint64
	// bits are the candidates left in group i, left the groups after it.
	bits, ctrl uint64
	i, left    int
}

func (t *hashtab[T]) search(hash uint64) search[T] {
	groups := *t.groups.Load()
	i := home(hash, len(groups))
	ctrl := groups[i].ctrl.Load()
	return search[T]{groups: groups, hash: hash, bits: match(ctrl, hash), ctrl: ctrl, i: i, left: len(groups)}
}

// next returns the next candidate; nil after the last one. It looks at each
// group once at most, so it ends whatever the writer does.
func (s *search[T]) next() *T {
	for {
		for s.bits != 0 {
			j := first(s.bits)
			s.bits &= s.bits - 1
			if e := s.groups[s.i].refs[j].Load(); e != nil {
				return e
			}
		}
		if s.left--; s.ctrl < overflowOne || s.left == 0 {
			return nil
		}
		if s.i++; s.i == len(s.groups) {
			s.i = 0
		}
		s.ctrl = s.groups[s.i].ctrl.Load()
		s.bits = match(s.ctrl, s.hash)
	}
}

// insert adds an entry that is not in the table. hashOf is asked for the hash
// of the others if the table has to grow.
func (t *hashtab[T]) insert(hash uint64, e *T, hashOf func(*T) uint64) {
	groups := *t.groups.Load()
	if t.crowded(1) {
		groups = t.rebuild(len(groups)+len(groups)/2+1, hashOf)
	}
	place(groups, hash, e)
	t.live++
}

// crowded tells that n more entries are too many.
func (t *hashtab[T]) crowded(n int) bool {
	return (t.live+n)*fullDen > len(*t.groups.Load())*groupLen*fullNum
}

// place stores an entry in the first free slot on its way, and counts it as
// overflow on the groups before that.
func place[T any](groups []group[T], hash uint64, e *T) {
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		ctrl := g.ctrl.Load()
		if free := matchTag(ctrl, 0); free != 0 {
			j := first(free)
			g.refs[j].Store(e)
			g.ctrl.Store(ctrl | tag(hash)<<(8*j))
			return
		}
		g.overflow(+1)
	}
}

func (g *group[T]) overflow(by int) {
	ctrl := g.ctrl.Load()
	switch {
	case ctrl>>56 == overflowMax:
	case by > 0:
		g.ctrl.Store(ctrl + overflowOne)
	default:
		g.ctrl.Store(ctrl - overflowOne)
	}
}

// rebuild moves the entries into a new array and publishes it. Readers of the
// old one keep a state that was right when they loaded it.
func (t *hashtab[T]) rebuild(n int, hashOf func(*T) uint64) []group[T] {
	old := *t.groups.Load()
	groups := make([]group[T], n)
	for i := range old {
		for used := ^matchTag(old[i].ctrl.Load(), 0) & highBits; used != 0; used &= used - 1 {
			e := old[i].refs[first(used)].Load()
			place(groups, hashOf(e), e)
		}
	}
	t.groups.Store(&groups)
	return groups
}

// remove takes out an entry that is in the table. The result still points to
// it: readers may be about to look there, and need not look for nil. The caller
// clears it if the entry is to be freed.
func (t *hashtab[T]) remove(hash uint64, e *T) *atomic.Pointer[T] {
	groups := *t.groups.Load()
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		for m := match(g.ctrl.Load(), hash); m != 0; m &= m - 1 {
			if j := first(m); g.refs[j].Load() == e {
				g.ctrl.Store(g.ctrl.Load() &^ (0xFF << (8 * j)))
				t.live--
				return &g.refs[j]
			}
		}
		g.overflow(-1)
	}
}
