// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
)

const (
	// slotBytes is what a slot takes.
	slotBytes = 16
	// leastBytes is the least limit.
	leastBytes = 64 << 10
	// largestShare of what the table may take is the most for an entry, one in so many.
	largestShare = 16
	// sweep is how many slots are looked at, at most, to make room for an entry.
	sweep = 64
)

// lossy is a bounded cache. A miss does not mean that the entry was never added. Any number of
// goroutines may use it at a time.
//
// An entry goes in when it is asked for a second time before another one of its slot is, so that
// entries that occur once do not evict those that occur often. For room the table evicts entries
// that nobody has asked for lately: the algorithm is CLOCK, by second chances (Corbató 1968).
type lossy[E any, P lossyEntry[E]] struct {
	seed  maphash.Seed
	each  int64                          // for so many bytes of the limit there is a slot
	limit atomic.Int64                   // bytes, a power of two
	slots atomic.Pointer[[]lossySlot[E]] // as many as a power of two

	entering sync.Mutex // held to change limit, slots, hand, bytes, entries, entered and emptied
	hand     int        // the slot that was looked at last, for room
	bytes    atomic.Int64
	entries  atomic.Int64
	entered  atomic.Int64
	emptied  atomic.Int64 // how often

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
	seen  atomic.Uint32 // the mark of the last miss
	asked atomic.Bool   // the entry was asked for since the hand was here
}

// Status is what a table holds and was asked.
type Status struct {
	Entries, Bytes, Limit int64 // Bytes with the table's own; see the table for those of entries
	Hits, Misses, Entered int64
}

// begin makes the table, with a slot for each so many bytes of the limit, a power of two: see SetLimit.
func (t *lossy[E, P]) begin(limit, each int64) {
	t.seed, t.each = maphash.MakeSeed(), each
	t.SetLimit(limit)
}

// SetLimit has the table hold at most about that many bytes: it is rounded down to a power of two, but not
// below 64 KiB. Entries stay if there is more room than before, and go if there is less.
func (t *lossy[E, P]) SetLimit(limit int64) {
	if limit = max(int64(1)<<(bits.Len64(uint64(max(limit, 1)))-1), leastBytes); limit != t.limit.Load() {
		t.resize(limit)
	}
}

func (t *lossy[E, P]) resize(limit int64) {
	t.entering.Lock()
	defer t.entering.Unlock()
	before := t.limit.Load()
	t.limit.Store(limit)
	if before == 0 || limit < before {
		t.clear()
		return
	}
	for ; before < limit; before *= 2 {
		t.widen(*t.slots.Load())
	}
}

// clear begins anew, without entries.
func (t *lossy[E, P]) clear() {
	slots := make([]lossySlot[E], t.limit.Load()/t.each)
	t.slots.Store(&slots)
	t.bytes.Store(int64(len(slots)) * slotBytes)
	t.entries.Store(0)
}

// Status tells what is in the table now.
func (t *lossy[E, P]) Status() Status {
	return Status{
		Entries: t.entries.Load(), Bytes: t.bytes.Load(), Limit: t.limit.Load(),
		Hits: t.hits.Load(), Misses: t.misses.Load(), Entered: t.entered.Load(),
	}
}

// Check returns an error if the table is not what it says, or has an entry where it is not found.
// Nobody may use it meanwhile.
func (t *lossy[E, P]) Check() error {
	slots := *t.slots.Load()
	bytes, entries := int64(len(slots))*slotBytes, int64(0)
	for i := range slots {
		e := P(slots[i].entry.Load())
		if e == nil {
			continue
		}
		bytes, entries = bytes+e.size(), entries+1
		if first, second := t.pair(e.hashed(t.seed)); first != &slots[i] && second != &slots[i] {
			return fmt.Errorf("entry %d of %d is in another slot", i, len(slots))
		}
	}
	if bytes != t.bytes.Load() || entries != t.entries.Load() || bytes > t.limit.Load() {
		return fmt.Errorf("%d entries of %d bytes, it says %+v", entries, bytes, t.Status())
	}
	return nil
}

// count takes over what a session has counted.
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
	if !s.asked.Load() {
		s.asked.Store(true)
	}
}

// markOf returns the mark that a slot keeps for a miss. It is never 0.
func markOf(hash uint64) uint32 { return uint32(hash>>32) | 1 }

// again reports whether an entry that is not in the table was asked for before. Its two slots keep
// a mark each, so that two alternating entries do not evict each other's marks.
func (t *lossy[E, P]) again(hash uint64) bool {
	first, second := t.pair(hash)
	mark, a, b := markOf(hash), first.seen.Load(), second.seen.Load()
	if a == mark || b == mark {
		return true
	}
	if a != 0 && b == 0 {
		first = second
	}
	first.seen.Store(mark)
	return false
}

// admits reports whether an entry of that size may be in the table.
func (t *lossy[E, P]) admits(size int64) bool { return size <= t.limit.Load()/largestShare }

// enter adds e, and evicts others if necessary. The caller has read emptied before it made e: if
// the table was emptied since, e stays out. It does nothing while another goroutine enters an
// entry.
func (t *lossy[E, P]) enter(e P, emptied int64) {
	if !t.entering.TryLock() {
		return
	}
	defer t.entering.Unlock()
	if t.emptied.Load() != emptied || !t.admits(e.size()) {
		return
	}
	slots := *t.slots.Load()
	slot := vacant(slots, e.hashed(t.seed), e)
	t.put(slot, nil)
	if !t.room(slots, e.size()) {
		return
	}
	t.put(slot, e)
	t.entered.Add(1)
}

// put makes e, which may be nil, the entry of a slot.
func (t *lossy[E, P]) put(slot *lossySlot[E], e P) {
	old := P(slot.entry.Swap(e))
	slot.asked.Store(false)
	if e != nil {
		t.bytes.Add(e.size())
		t.entries.Add(1)
	}
	if old != nil {
		t.bytes.Add(-old.size())
		t.entries.Add(-1)
	}
}

// room evicts entries that were not asked for lately until there is room for so many bytes, and
// reports whether there is.
func (t *lossy[E, P]) room(slots []lossySlot[E], size int64) bool {
	for range sweep {
		if t.bytes.Load()+size <= t.limit.Load() {
			return true
		}
		t.hand = (t.hand + 1) & (len(slots) - 1)
		if slot := &slots[t.hand]; slot.entry.Load() != nil && !slot.asked.CompareAndSwap(true, false) {
			t.put(slot, nil)
		}
	}
	return t.bytes.Load()+size <= t.limit.Load()
}

// empty takes all entries out of the table, and then counts that. A goroutine that reads the count
// before it looks for entries, and reads the same when it enters one, has found no entry that was
// there before.
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
	case b == nil || first.asked.Load() && !second.asked.Load():
		return second
	}
	return first
}

// widen doubles the slots. No entry is lost, for each pair becomes two.
func (t *lossy[E, P]) widen(slots []lossySlot[E]) {
	wider := make([]lossySlot[E], 2*len(slots))
	for i := range slots {
		if e := P(slots[i].entry.Load()); e != nil {
			slot := vacant(wider, e.hashed(t.seed), e)
			slot.entry.Store(e)
			slot.asked.Store(slots[i].asked.Load())
		}
	}
	t.slots.Store(&wider)
	t.bytes.Add(int64(len(slots)) * slotBytes)
}
