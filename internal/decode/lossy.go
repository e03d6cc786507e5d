// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

const (
	// slotBytes is what a slot takes.
	slotBytes = 16
	// largestShare of what the table may take is the most for an entry, one in so many.
	largestShare = 16
	// sweep is how many slots are looked at, at most, to make room for an entry.
	sweep = 64
	// smallAtFirst is how many bytes a table takes at most, until it is asked for what it forgot.
	smallAtFirst = 1 << 20
	// growth is how much more it takes after each such question, one part in so many.
	growth = 64
)

// What a slot knows of its entry.
const (
	fresh uint32 = iota // it was not asked for since it came in
	asked               // it was asked for lately
	aged                // it was asked for, but not since the hand was here
)

// lossy is a table that forgets: an entry that it has not may have been there. Any number of
// goroutines may use it at a time.
//
// An entry goes in when it is asked for again before another one of its slot is, so that what
// occurs once does not drive out what occurs often. For room the table forgets those that nobody
// has asked for lately: the algorithm is CLOCK, by second chances (Corbató 1968). Its room is
// small at first, and grows, up to the limit, when it is asked for what it has forgotten, for want
// of bytes or of slots. So it takes what is asked for again, not all that was there twice. ARC has
// lists of what was forgotten for the same reason (Megiddo and Modha 2003).
type lossy[E any, P lossyEntry[E]] struct {
	seed   maphash.Seed
	limit  int64                          // bytes
	fewest int                            // slots
	slots  atomic.Pointer[[]lossySlot[E]] // as many as a power of two

	entering sync.Mutex // held to change slots, hand, bytes, entries, entered and emptied
	hand     int        // the slot that was looked at last, for room or to age its entry
	bytes    atomic.Int64
	entries  atomic.Int64
	entered  atomic.Int64
	emptied  atomic.Int64 // how often

	allowed      atomic.Int64 // bytes that it takes at most by now
	hits, misses atomic.Int64
}

// lossyEntry is what the table has to know of an entry. An entry is never written to.
type lossyEntry[E any] interface {
	*E
	hashed(maphash.Seed) uint64
	size() int64 // bytes
	same(*E) bool
}

type lossySlot[E any] struct {
	entry atomic.Pointer[E]
	seen  atomic.Uint32 // tag of what was last asked for in vain, or forgotten
	used  atomic.Uint32 // fresh, asked or aged
}

// TableStatus is what a table holds and was asked.
type TableStatus struct {
	Entries, Bytes, Limit int64 // Bytes with the table's own; see the table for those of entries
	Hits, Misses, Entered int64
}

// begin makes the table, of so many slots, which holds at most about that many bytes, and at least
// 64 KiB.
func (t *lossy[E, P]) begin(slots int, limit int64) {
	t.seed, t.limit, t.fewest = maphash.MakeSeed(), max(limit, 64<<10), slots
	t.allowed.Store(min(t.limit, smallAtFirst))
	t.clear()
}

// clear begins anew, with no entry and as few slots as at first.
func (t *lossy[E, P]) clear() {
	slots := make([]lossySlot[E], t.fewest)
	t.slots.Store(&slots)
	t.bytes.Store(int64(t.fewest) * slotBytes)
	t.entries.Store(0)
}

// Status tells what is in the table now.
func (t *lossy[E, P]) Status() TableStatus {
	return TableStatus{
		Entries: t.entries.Load(), Bytes: t.bytes.Load(), Limit: t.limit,
		Hits: t.hits.Load(), Misses: t.misses.Load(), Entered: t.entered.Load(),
	}
}

// count takes over what a reader has counted.
func (t *lossy[E, P]) count(hits, misses *int64) {
	if *hits != 0 || *misses != 0 {
		t.hits.Add(*hits)
		t.misses.Add(*misses)
		*hits, *misses = 0, 0
	}
}

// pair returns the two slots in which an entry may be.
func (t *lossy[E, P]) pair(hash uint64) (first, second *lossySlot[E]) {
	return pairIn(*t.slots.Load(), hash)
}

func pairIn[E any](slots []lossySlot[E], hash uint64) (first, second *lossySlot[E]) {
	i := hash & uint64(len(slots)-1)
	return &slots[i], &slots[i^1]
}

// touch notes that the entry was asked for.
func (s *lossySlot[E]) touch() {
	if s.used.Load() != asked {
		s.used.Store(asked)
	}
}

// markOf is what a slot remembers of the hash of what was asked for in vain. That of what it has
// forgotten is even. Neither is 0.
func markOf(hash uint64) uint32 { return uint32(hash>>32) | 3 }

// again reports whether an entry that is not in the table was already asked for, or was in it. Its
// two slots remember one each, so that two that come in turns do not make each other forgotten.
func (t *lossy[E, P]) again(hash uint64) bool {
	first, second := t.pair(hash)
	tag, a, b := markOf(hash), first.seen.Load(), second.seen.Load()
	switch {
	case a == tag&^1 && first.seen.CompareAndSwap(a, tag), b == tag&^1 && second.seen.CompareAndSwap(b, tag):
		if t.short() {
			t.grow() // once for each that was forgotten
		}
		return true
	case a == tag || b == tag:
		return true
	case a != 0 && b == 0:
		first = second
	}
	first.seen.Store(tag)
	return false
}

// short reports whether more bytes would let the table keep more.
func (t *lossy[E, P]) short() bool {
	return t.bytes.Load() >= t.allowed.Load()*7/8 || t.cramped(*t.slots.Load())
}

// grow lets the table take more, up to its limit.
func (t *lossy[E, P]) grow() {
	now := t.allowed.Load()
	t.allowed.CompareAndSwap(now, min(t.limit, now+now/growth))
}

// admits reports whether an entry of that size, which was asked for again, may be in the table.
func (t *lossy[E, P]) admits(size int64) bool {
	if size > t.allowed.Load()/largestShare && size <= t.limit/largestShare {
		t.grow()
	}
	return size <= t.allowed.Load()/largestShare
}

// enter puts an entry in, in the place of others if that takes room, that was made of what is in
// the table since it was emptied so many times: if it was again meanwhile, it stays out. It does
// nothing while another goroutine does.
func (t *lossy[E, P]) enter(e P, emptied int64) {
	if !t.admits(e.size()) || !t.entering.TryLock() {
		return
	}
	defer t.entering.Unlock()
	if t.emptied.Load() != emptied {
		return
	}
	slots := *t.slots.Load()
	slot := vacant(slots, e.hashed(t.seed), e)
	if t.giveWay(slots, slot, e); !t.room(slots, e.size()) {
		return
	}
	t.put(slot, e)
	t.entered.Add(1)
	if t.crowded(slots) {
		t.widen(slots)
	}
}

// crowded reports whether the table should have more slots.
func (t *lossy[E, P]) crowded(slots []lossySlot[E]) bool {
	return t.entries.Load() > int64(len(slots))*3/4
}

// cramped reports whether the table would have more slots if it were allowed more bytes.
func (t *lossy[E, P]) cramped(slots []lossySlot[E]) bool {
	return t.crowded(slots) && mayDouble(slots, t.limit) && t.allowed.Load() < t.limit
}

// mayDouble reports whether a table of so many bytes may have twice the slots.
func mayDouble[E any](slots []lossySlot[E], bytes int64) bool {
	return 2*slotBytes*int64(len(slots)) <= bytes/4
}

// giveWay empties a slot for e. Where the table wants more slots, an entry that is aged is
// remembered like one that gives way for want of bytes. One that was asked for lately is not, but
// the hand moves on, so that others age. Nor is a fresh one: what comes some times and never again
// would have the table grow.
func (t *lossy[E, P]) giveWay(slots []lossySlot[E], slot *lossySlot[E], e P) {
	if old := P(slot.entry.Load()); old != nil && !e.same(old) && t.cramped(slots) {
		switch slot.used.Load() {
		case asked:
			t.next(slots).used.CompareAndSwap(asked, aged)
		case aged:
			t.forget(slot, old)
		}
	}
	t.put(slot, nil)
}

// next moves the hand to the next slot.
func (t *lossy[E, P]) next(slots []lossySlot[E]) *lossySlot[E] {
	t.hand = (t.hand + 1) & (len(slots) - 1)
	return &slots[t.hand]
}

// forget takes the entry out of a slot, which remembers that it was there.
func (t *lossy[E, P]) forget(slot *lossySlot[E], e P) {
	t.put(slot, nil)
	slot.seen.Store(markOf(e.hashed(t.seed)) &^ 1)
}

// put makes e, which may be nil, the entry of a slot.
func (t *lossy[E, P]) put(slot *lossySlot[E], e P) {
	old := P(slot.entry.Swap(e))
	slot.used.Store(fresh)
	if e != nil {
		t.bytes.Add(e.size())
		t.entries.Add(1)
	}
	if old != nil {
		t.bytes.Add(-old.size())
		t.entries.Add(-1)
	}
}

// room forgets entries that were not asked for of late until there is room for so many bytes, and
// reports whether there is.
func (t *lossy[E, P]) room(slots []lossySlot[E], size int64) bool {
	for range sweep {
		if t.bytes.Load()+size <= t.allowed.Load() {
			return true
		}
		slot := t.next(slots)
		if e := P(slot.entry.Load()); e != nil && !slot.used.CompareAndSwap(asked, aged) {
			t.forget(slot, e)
		}
	}
	return t.bytes.Load()+size <= t.allowed.Load()
}

// empty takes all entries out of the table. Who reads how often that was done before he looks for
// entries, and finds it the same when he enters one, has found none that was there before. So it is
// counted when they are out.
func (t *lossy[E, P]) empty() {
	t.entering.Lock()
	defer t.entering.Unlock()
	t.clear()
	t.emptied.Add(1)
}

// vacant returns the slot that an entry goes to: the one of its two that has the same, an empty
// one, or one that was not asked for of late.
func vacant[E any, P lossyEntry[E]](slots []lossySlot[E], hash uint64, e P) *lossySlot[E] {
	first, second := pairIn(slots, hash)
	a, b := first.entry.Load(), second.entry.Load()
	switch {
	case a != nil && e.same(a):
		return first
	case b != nil && e.same(b):
		return second
	case a == nil:
		return first
	case b == nil || first.used.Load() == asked && second.used.Load() != asked:
		return second
	}
	return first
}

// widen doubles the slots, unless the table has no room for that. No entry is lost, for each pair
// becomes two.
func (t *lossy[E, P]) widen(slots []lossySlot[E]) {
	allowed, more := t.allowed.Load(), int64(len(slots))*slotBytes
	if !mayDouble(slots, allowed) || t.bytes.Load()+more > allowed {
		return
	}
	wider := make([]lossySlot[E], 2*len(slots))
	for i := range slots {
		if e := P(slots[i].entry.Load()); e != nil {
			slot := vacant(wider, e.hashed(t.seed), e)
			slot.entry.Store(e)
			slot.used.Store(slots[i].used.Load())
		}
	}
	t.slots.Store(&wider)
	t.bytes.Add(more)
}
