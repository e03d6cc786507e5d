// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

// keyGroup is a group of a keytab, two cache lines. Each slot points to a record and to the bytes
// of its key.
//
// The record points to the same bytes. With the pointer in the slot, a reader loads the record and
// the bytes in parallel, not one after the other.
type keyGroup struct {
	tags
	slots [groupLen]keySlot
	_     [8]byte
}

type keySlot struct {
	key unsafe.Pointer
	ref atomic.Pointer[record]
}

// keytab is the hash table from keys to records. It differs from hashtab only in its slots.
//
// A slot may be given to another key between two loads of a reader, which then sees one record and
// the key of another. A slot only says where to look; the record is authoritative.
type keytab struct {
	groups atomic.Pointer[[]keyGroup]

	// live is the number of entries. Writer only.
	live int
}

// reserve makes room for n entries in an empty table.
func (t *keytab) reserve(n int) {
	groups := make([]keyGroup, groupsFor(n))
	t.groups.Store(&groups)
}

// at returns the group at which the search for a hash begins.
func (t *keytab) at(hash uint64) *keyGroup {
	groups := *t.groups.Load()
	return &groups[home(hash, len(groups))]
}

// fetch starts to load the group's second cache line before the first has arrived.
func (g *keyGroup) fetch() { g.slots[groupLen-1].ref.Load() }

// load returns the content of a slot.
func (s *keySlot) load() (key unsafe.Pointer, r *record) {
	return atomic.LoadPointer(&s.key), s.ref.Load()
}

// keySearch iterates over the records whose keys may have a hash.
type keySearch struct {
	groups []keyGroup
	hash   uint64
	// bits are the remaining candidates in group i, left is the number of groups after it.
	bits, ctrl uint64
	i, left    int
}

func (t *keytab) search(hash uint64) keySearch {
	groups := *t.groups.Load()
	i := home(hash, len(groups))
	ctrl := groups[i].Load()
	return keySearch{groups: groups, hash: hash, bits: match(ctrl, hash), ctrl: ctrl, i: i, left: len(groups)}
}

// next returns the next candidate, or nil after the last one. It visits each group at most once, so
// it terminates whatever the writer does.
func (s *keySearch) next() *record {
	for {
		if s.bits != 0 {
			j := first(s.bits)
			s.bits &= s.bits - 1
			return s.groups[s.i].slots[j].ref.Load()
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

// insert adds a record that is not in the table. hashOf is called for the other records if the
// table has to grow.
func (t *keytab) insert(hash uint64, r *record, hashOf func(*record) uint64) {
	if t.crowded(1) {
		t.rebuild(grown(len(*t.groups.Load())), hashOf)
	}
	placeKey(*t.groups.Load(), hash, r.keyData, r)
	t.live++
}

// crowded reports whether the table must grow for n more entries.
func (t *keytab) crowded(n int) bool { return crowded(t.live+n, len(*t.groups.Load())) }

// placeKey is place for the slots of a keytab.
func placeKey(groups []keyGroup, hash uint64, key unsafe.Pointer, r *record) {
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		if j, ok := g.vacant(); ok {
			atomic.StorePointer(&g.slots[j].key, key)
			g.slots[j].ref.Store(r)
			g.take(j, hash)
			return
		}
		g.overflow(+1)
	}
}

// rebuild moves the entries into a new array and publishes it. Readers of the old array see the
// state of the moment at which they loaded it, or a later one.
func (t *keytab) rebuild(n int, hashOf func(*record) uint64) {
	old := *t.groups.Load()
	groups := make([]keyGroup, n)
	for i := range old {
		for used := old[i].used(); used != 0; used &= used - 1 {
			key, r := old[i].slots[first(used)].load()
			placeKey(groups, hashOf(r), key, r)
		}
	}
	t.groups.Store(&groups)
}

// remove removes a record that is in the table. The slot keeps its pointer to the record, because
// readers may be about to follow it, but drops the key.
func (t *keytab) remove(hash uint64, r *record) {
	groups := *t.groups.Load()
	for i := home(hash, len(groups)); ; i = (i + 1) % len(groups) {
		g := &groups[i]
		for m := match(g.Load(), hash); m != 0; m &= m - 1 {
			if j := first(m); g.slots[j].ref.Load() == r {
				g.vacate(j)
				atomic.StorePointer(&g.slots[j].key, nil)
				t.live--
				return
			}
		}
		g.overflow(-1)
	}
}
