// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

// group is a part of a hash table: a tag, a pointer and a hint for each of its slots. Without hints
// it is one cache line.
//
//	hints   [ ·  ·  ·  · ...]
//	tags    [2a 00 7f 00 ...] overflow 1
//	refs    [ │  ·  │  · ...]
//	          ▼     ▼
//	          entries with a hash that ends in 2a, 7f
type group[T, H any] struct {
	// hints has a spare element, which fills a second cache line.
	hints [groupLen + 1]H
	tags
	refs [groupLen]atomic.Pointer[T]
}

// keyGroup is a group of records. The hint of a record is the pointer to the bytes of its key, which
// the record has, too: with it a reader loads the record and the bytes in parallel, not one after
// the other.
//
// A slot may be given to another key between two loads of a reader, which then sees one record and
// the key of another. A slot only says where to look; the record is authoritative.
type keyGroup = group[record, unsafe.Pointer]

// fetchHints starts to load the hints of a group before the tags have arrived.
func fetchHints(g *keyGroup) { atomic.LoadPointer(&g.hints[0]) }

// setHint stores the hint of a slot beside readers.
func setHint(g *keyGroup, slot int, key unsafe.Pointer) { atomic.StorePointer(&g.hints[slot], key) }

// loadSlot returns the content of a slot.
func loadSlot(g *keyGroup, slot int) (key unsafe.Pointer, r *record) {
	r = g.refs[slot].Load()
	return atomic.LoadPointer(&g.hints[slot]), r
}

// hashtab finds entries by a 64-bit hash. It has one writer, and readers that take no lock; the
// caller compares the keys. The zero value is not usable: see reserve.
//
// A reader beside a writer sees each slot as it was or as it is. An entry that is in the table
// throughout is found, because entries move only into a new array.
type hashtab[T, H any] struct {
	groups atomic.Pointer[[]group[T, H]]

	// live is the number of entries. Writer only.
	live int
}

// reserve makes room for n entries in an empty table.
func (t *hashtab[T, H]) reserve(n int) {
	groups := make([]group[T, H], groupsFor(n))
	t.groups.Store(&groups)
}

// at returns the group at which the search for a hash begins.
func (t *hashtab[T, H]) at(hash uint64) *group[T, H] {
	groups := *t.groups.Load()
	return &groups[home(hash, len(groups))]
}

// search iterates over the entries that may have a hash.
type search[T, H any] struct {
	groups []group[T, H]
	hash   uint64
	// bits are the remaining candidates in group i, left is the number of groups after it.
	bits, ctrl uint64
	i, left    int
}

func (t *hashtab[T, H]) search(hash uint64) search[T, H] {
	groups := *t.groups.Load()
	i := home(hash, len(groups))
	ctrl := groups[i].Load()
	return search[T, H]{groups: groups, hash: hash, bits: match(ctrl, hash), ctrl: ctrl, i: i, left: len(groups)}
}

// next returns the next candidate, or nil after the last one. It visits each group at most once, so
// it terminates whatever the writer does.
func (s *search[T, H]) next() *T {
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
		s.ctrl = s.groups[s.i].Load()
		s.bits = match(s.ctrl, s.hash)
	}
}

// insert adds an entry that is not in the table, and returns its slot, which has no hint yet. hashOf is
// called for the other entries if the table has to grow.
func (t *hashtab[T, H]) insert(hash uint64, e *T, hashOf func(*T) uint64) (g *group[T, H], slot int) {
	if t.crowded(1) {
		t.rebuild(grown(len(*t.groups.Load())), hashOf)
	}
	t.live++
	return place(*t.groups.Load(), hash, e)
}

// crowded reports whether the table must grow for n more entries.
func (t *hashtab[T, H]) crowded(n int) bool {
	return crowded(t.live+n, len(*t.groups.Load()))
}

// place stores an entry in the first free slot on its path, and counts it as overflow in each group
// before that slot.
func place[T, H any](groups []group[T, H], hash uint64, e *T) (g *group[T, H], slot int) {
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		if j, ok := g.vacant(); ok {
			g.refs[j].Store(e)
			g.take(j, hash)
			return g, j
		}
		g.overflow(+1)
	}
}

// rebuild moves the entries into a new array and publishes it. Readers of the old array see the
// state of the moment at which they loaded it, or a later one.
func (t *hashtab[T, H]) rebuild(n int, hashOf func(*T) uint64) {
	old := *t.groups.Load()
	groups := make([]group[T, H], n)
	for i := range old {
		for used := old[i].used(); used != 0; used &= used - 1 {
			from := first(used)
			e := old[i].refs[from].Load()
			g, to := place(groups, hashOf(e), e)
			g.hints[to] = old[i].hints[from]
		}
	}
	t.groups.Store(&groups)
}

// remove frees the slot of an entry that is in the table. The caller may drop what the slot refers
// to.
func (t *hashtab[T, H]) remove(hash uint64, e *T) (g *group[T, H], slot int) {
	groups := *t.groups.Load()
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		for m := match(g.Load(), hash); m != 0; m &= m - 1 {
			if j := first(m); g.refs[j].Load() == e {
				g.vacate(j)
				t.live--
				return g, j
			}
		}
		g.overflow(-1)
	}
}
