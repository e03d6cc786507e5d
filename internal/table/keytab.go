// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"sync/atomic"
	"unsafe"
)

// keyGroup is a group of a keytab, two cache lines: in each slot a record, and
// where the bytes of its key are.
//
// The record says that, too. A reader of one slot would have to wait for the
// record before it could ask for the key's bytes; so it asks for both at once.
type keyGroup struct {
	tags
	slots [groupLen]keySlot
	_     [8]byte
}

type keySlot struct {
	key unsafe.Pointer
	ref atomic.Pointer[record]
}

// keytab is the hash table that leads from keys to records. It differs from
// hashtab in its slots only.
//
// A slot may change hands between a reader's loads, so that it sees one
// record and the key of another: what it finds in a slot is where to look.
// What it finds in the record counts.
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

// at returns the group where the search for a hash begins.
func (t *keytab) at(hash uint64) *keyGroup {
	groups := *t.groups.Load()
	return &groups[home(hash, len(groups))]
}

// fetch asks for the second line of the group before the first one has come.
func (g *keyGroup) fetch() { g.slots[groupLen-1].ref.Load() }

// load returns what is in a slot.
func (s *keySlot) load() (key unsafe.Pointer, r *record) {
	return atomic.LoadPointer(&s.key), s.ref.Load()
}

// keySearch walks the records whose key may have a hash.
type keySearch struct {
	groups []keyGroup
	hash   uint64
	// bits are the candidates left in group i, left the groups after it.
	bits, ctrl uint64
	i, left    int
}

func (t *keytab) search(hash uint64) keySearch {
	groups := *t.groups.Load()
	i := home(hash, len(groups))
	ctrl := groups[i].Load()
	return keySearch{groups: groups, hash: hash, bits: match(ctrl, hash), ctrl: ctrl, i: i, left: len(groups)}
}

// next returns the next candidate; nil after the last one.
// It looks at each group once at most, so it ends whatever the writer does.
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

// insert adds a record that is not in the table. hashOf is asked for the hash
// of the others if the table has to grow.
func (t *keytab) insert(hash uint64, r *record, hashOf func(*record) uint64) {
	if t.crowded(1) {
		t.rebuild(grown(len(*t.groups.Load())), hashOf)
	}
	placeKey(*t.groups.Load(), hash, r.keyData, r)
	t.live++
}

// crowded tells that n more entries are too many.
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

// rebuild moves the entries into a new array and publishes it. Readers of the
// old one keep a state that was right when they loaded it.
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

// remove takes out a record that is in the table. The slot still points to
// it, as readers may be about to look there, and lets go of the key.
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
