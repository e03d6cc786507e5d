// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"sync/atomic"
)

const (
	groupLen = 12
	loLen    = 8

	// A word of tags is compared at once. hi has four tags in its lower half.
	lowBits = 0x0101010101010101
	topBits = 0x8080808080808080
	hiTags  = 0x00000000FFFFFFFF

	overflowOne = 1 << 32

	// A table grows by half when more than 6/7 of its slots are in use: 6.2 to
	// 9.3 bytes an entry.
	fullNum, fullDen = 6, 7
)

// group is one cache line of a hash table: a tag and an id for each of its
// entries. A tag is 0 for a free slot, else 2 to 255. The first eight tags are
// in lo, the others in hi, below the overflow count.
//
// The overflow count says how many entries have this group on their way and
// live further on; a search ends at the first group where it is 0. So an entry
// goes without a trace.
type group struct {
	lo, hi atomic.Uint64
	ids    [groupLen]uint32
}

// hashtab finds ids by a 64-bit hash. One writer, readers without a lock; the
// caller compares the keys. The zero value is not usable: see reserve.
//
// A reader that meets a table in change sees each slot as it was or as it is;
// an entry that is there all the while is found, because it never moves but
// into a new array.
type hashtab struct {
	groups atomic.Pointer[[]group]
	// live is the number of entries. Writer only.
	live int
}

// reserve makes room for n entries in an empty table.
func (t *hashtab) reserve(n int) {
	groups := make([]group, n*fullDen/(fullNum*groupLen)+1)
	t.groups.Store(&groups)
}

// home is the group where the search for a hash begins.
func home(hash uint64, groups int) int {
	return int(hash >> 32 * uint64(groups) >> 32)
}

// at returns the group where the search for a hash begins.
func (t *hashtab) at(hash uint64) *group {
	groups := *t.groups.Load()
	return &groups[home(hash, len(groups))]
}

// tag returns a hash's tag in each of eight bytes.
func tag(hash uint64) uint64 {
	hash &= 0xFF
	if hash < 2 {
		hash += 2
	}
	return hash * lowBits
}

// match returns the top bit of each byte that equals the tag's, and perhaps of
// some that differ from it in the lowest bit only: the keys decide. As there
// is no tag 1, a free slot matches nothing but 0, and 0 only free slots.
func match(tags, tag uint64) uint64 {
	x := tags ^ tag
	return (x - lowBits) & ^x & topBits
}

// candidates returns a bit for each slot that may have the tag.
func candidates(lo, hi, tag uint64) uint32 {
	return pack(match(lo, tag)) | pack(match(hi, tag)&hiTags)<<loLen
}

// pack moves the top bits of eight bytes together: the multiplication brings
// each to its place in the highest byte, and no two sums meet there.
func pack(m uint64) uint32 { return uint32((m >> 7) * 0x0102040810204080 >> 56) }

// free returns the first free slot of a group.
func (g *group) free() (slot int, ok bool) {
	c := candidates(g.lo.Load(), g.hi.Load(), 0)
	return bits.TrailingZeros32(c), c != 0
}

// put writes one slot's tag.
func (g *group) put(slot int, tag uint64) {
	word, shift := &g.lo, 8*slot
	if slot >= loLen {
		word, shift = &g.hi, 8*(slot-loLen)
	}
	word.Store(word.Load()&^(0xFF<<shift) | tag&0xFF<<shift)
}

func (g *group) overflow(by uint64) { g.hi.Store(g.hi.Load() + by) }

// search walks the ids that may have a hash.
type search struct {
	groups []group
	tag    uint64
	// bits are the candidates left in group i, left the groups after it.
	bits    uint32
	further bool
	i, left int
}

func (t *hashtab) search(hash uint64) search {
	groups := *t.groups.Load()
	s := search{groups: groups, tag: tag(hash), i: home(hash, len(groups)), left: len(groups)}
	s.load()
	return s
}

func (s *search) load() {
	g := &s.groups[s.i]
	lo, hi := g.lo.Load(), g.hi.Load()
	s.bits, s.further = candidates(lo, hi, s.tag), hi >= overflowOne
}

// next returns the next candidate and its slot. It looks at each group once at
// most, so it ends whatever the writer does.
func (s *search) next() (id uint32, slot int, ok bool) {
	for {
		if s.bits != 0 {
			j := bits.TrailingZeros32(s.bits)
			s.bits &= s.bits - 1
			return atomic.LoadUint32(&s.groups[s.i].ids[j]), s.i*groupLen + j, true
		}
		if s.left--; !s.further || s.left == 0 {
			return 0, 0, false
		}
		if s.i++; s.i == len(s.groups) {
			s.i = 0
		}
		s.load()
	}
}

// insert adds an id that is not in the table. hashOf is asked for the hash of
// the others if the table has to grow.
func (t *hashtab) insert(hash uint64, id uint32, hashOf func(uint32) uint64) {
	groups := *t.groups.Load()
	if slots := len(groups) * groupLen; (t.live+1)*fullDen > slots*fullNum {
		groups = t.rebuild(len(groups)+len(groups)/2+1, hashOf)
	}
	place(groups, hash, id)
	t.live++
}

// place stores an id in the first free slot on its way, and counts it as
// overflow on the groups before that.
func place(groups []group, hash uint64, id uint32) {
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		if slot, ok := g.free(); ok {
			atomic.StoreUint32(&g.ids[slot], id)
			g.put(slot, tag(hash))
			return
		}
		g.overflow(overflowOne)
	}
}

// rebuild moves the entries into a new array and publishes it. Readers of the
// old one keep a state that was right when they loaded it.
func (t *hashtab) rebuild(n int, hashOf func(uint32) uint64) []group {
	groups := make([]group, n)
	for id := range t.all {
		place(groups, hashOf(id), id)
	}
	t.groups.Store(&groups)
	return groups
}

// all yields the ids. Writer only.
func (t *hashtab) all(yield func(uint32) bool) {
	groups := *t.groups.Load()
	for i := range groups {
		g := &groups[i]
		for used := ^candidates(g.lo.Load(), g.hi.Load(), 0) & (1<<groupLen - 1); used != 0; used &= used - 1 {
			if !yield(g.ids[bits.TrailingZeros32(used)]) {
				return
			}
		}
	}
}

// remove takes an id out that is in the table.
func (t *hashtab) remove(hash uint64, id uint32) {
	s := t.search(hash)
	found, slot, _ := s.next()
	for found != id {
		found, slot, _ = s.next()
	}
	at := slot / groupLen
	s.groups[at].put(slot%groupLen, 0)
	for i := home(hash, len(s.groups)); i != at; i = (i + 1) % len(s.groups) {
		s.groups[i].overflow(^uint64(overflowOne - 1))
	}
	t.live--
}
