// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import "sync/atomic"

// group is one cache line of a hash table: a tag and a pointer for each of its slots.
//
//	tags    [2a 00 7f 00 ...] overflow 1
//	refs    [ │  ·  │  · ...]
//	          ▼     ▼
//	          entries with a hash that ends in 2a, 7f
type group[T any] struct {
	tags
	refs [groupLen]atomic.Pointer[T]
}

// hashtab finds entries by a 64-bit hash. It has one writer, and readers that take no lock; the
// caller compares the keys. The zero value is not usable: see reserve.
//
// A reader beside a writer sees each slot as it was or as it is. An entry that is in the table
// throughout is found, because entries move only into a new array.
type hashtab[T any] struct {
	groups atomic.Pointer[[]group[T]]

	// live is the number of entries. Writer only.
	live int
}

// reserve makes room for n entries in an empty table.
func (t *hashtab[T]) reserve(n int) {
	groups := make([]group[T], groupsFor(n))
	t.groups.Store(&groups)
}

// at returns the group at which the search for a hash begins.
func (t *hashtab[T]) at(hash uint64) *group[T] {
	groups := *t.groups.Load()
	return &groups[home(hash, len(groups))]
}

// search iterates over the entries that may have a hash.
type search[T any] struct {
	groups []group[T]
	hash   uint64
	// bits are the remaining candidates in group i, left is the number of groups after it.
	bits, ctrl uint64
	i, left    int
}

func (t *hashtab[T]) search(hash uint64) search[T] {
	groups := *t.groups.Load()
	i := home(hash, len(groups))
	ctrl := groups[i].Load()
	return search[T]{groups: groups, hash: hash, bits: match(ctrl, hash), ctrl: ctrl, i: i, left: len(groups)}
}

// next returns the next candidate, or nil after the last one. It visits each group at most once, so
// it terminates whatever the writer does.
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
		s.ctrl = s.groups[s.i].Load()
		s.bits = match(s.ctrl, s.hash)
	}
}

// insert adds an entry that is not in the table. hashOf is called for the other entries if the
// table has to grow.
func (t *hashtab[T]) insert(hash uint64, e *T, hashOf func(*T) uint64) {
	groups := *t.groups.Load()
	if t.crowded(1) {
		groups = t.rebuild(grown(len(groups)), hashOf)
	}
	place(groups, hash, e)
	t.live++
}

// crowded reports whether the table must grow for n more entries.
func (t *hashtab[T]) crowded(n int) bool {
	return crowded(t.live+n, len(*t.groups.Load()))
}

// place stores an entry in the first free slot on its path, and counts it as overflow in each group
// before that slot.
func place[T any](groups []group[T], hash uint64, e *T) {
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		if j, ok := g.vacant(); ok {
			g.refs[j].Store(e)
			g.take(j, hash)
			return
		}
		g.overflow(+1)
	}
}

// rebuild moves the entries into a new array and publishes it. Readers of the old array see the
// state of the moment at which they loaded it, or a later one.
func (t *hashtab[T]) rebuild(n int, hashOf func(*T) uint64) []group[T] {
	old := *t.groups.Load()
	groups := make([]group[T], n)
	for i := range old {
		for used := old[i].used(); used != 0; used &= used - 1 {
			e := old[i].refs[first(used)].Load()
			place(groups, hashOf(e), e)
		}
	}
	t.groups.Store(&groups)
	return groups
}

// remove removes an entry that is in the table.
func (t *hashtab[T]) remove(hash uint64, e *T) {
	groups := *t.groups.Load()
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		for m := match(g.Load(), hash); m != 0; m &= m - 1 {
			if j := first(m); g.refs[j].Load() == e {
				g.vacate(j)
				t.live--
				g.refs[j].Store(nil)
				return
			}
		}
		g.overflow(-1)
	}
}
