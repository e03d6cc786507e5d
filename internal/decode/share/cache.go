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
	// slotBytes is the size of a slot, in bytes.
	slotBytes = 16
	// leastBytes is the smallest limit, in bytes.
	leastBytes = 64 << 10
	// largestShare bounds an entry to one part in largestShare of the limit.
	largestShare = 16
	// sweep is the most slots that room visits to make room for one entry.
	sweep = 64
)

// cache is a bounded cache. A miss does not mean that the entry was never added. It is safe for
// concurrent use: lookups take no lock, changes take entering.
//
// An entry has two slots, hash&mask and its neighbor, and may be in either:
//
//	slots  [ a ][ b ]  [   ][ c ]  [ d ][   ] ...   each with a mark of its last miss
//	         pair        pair        pair           ↑ hand
//
// An entry is added at its second miss, unless its mark was overwritten in between.
// So entries that occur once do not evict entries that occur often. To make room, the hand of a
// CLOCK, with second chances (Corbató 1968), evicts entries that were not looked up since it last
// passed.
//
// Invariants, which Check verifies: every entry is in one of its two slots, bytes and entries are
// the sums over the slots, and bytes <= limit.
type cache[E any, P cacheEntry[E]] struct {
	seed  maphash.Seed
	each  int64                          // bytes of the limit per slot
	limit atomic.Int64                   // in bytes, a power of two
	slots atomic.Pointer[[]cacheSlot[E]] // the length is a power of two

	entering sync.Mutex // guards changes of limit, slots, hand, bytes, entries, entered and emptied
	hand     int        // the index of the slot that room visited last
	bytes    atomic.Int64
	entries  atomic.Int64
	entered  atomic.Int64
	emptied  atomic.Int64 // the number of calls of empty

	hits, misses atomic.Int64
}

// cacheEntry is the constraint of entries. An entry is immutable.
type cacheEntry[E any] interface {
	*E
	hashed(maphash.Seed) uint64
	size() int64 // in bytes
	same(*E) bool
}

type cacheSlot[E any] struct {
	entry atomic.Pointer[E]
	seen  atomic.Uint32 // the mark of the last miss, or 0
	asked atomic.Bool   // the entry was looked up since the hand passed
}

// Status describes the contents and use of a table.
type Status struct {
	Entries, Bytes, Limit int64 // Bytes: slots and entries, see Intern and Parts
	Hits, Misses, Entered int64
}

// begin initializes the table with a slot per each bytes of the limit. each is a power of two.
func (t *cache[E, P]) begin(limit, each int64) {
	t.seed, t.each = maphash.MakeSeed(), each
	t.SetLimit(limit)
}

// SetLimit sets the limit, in bytes. It rounds the limit down to a power of two, but to no less
// than 64 KiB. A higher limit keeps the entries, a lower one removes them.
func (t *cache[E, P]) SetLimit(limit int64) {
	if limit = max(int64(1)<<(bits.Len64(uint64(max(limit, 1)))-1), leastBytes); limit != t.limit.Load() {
		t.resize(limit)
	}
}

func (t *cache[E, P]) resize(limit int64) {
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

// clear removes all entries. It requires entering.
func (t *cache[E, P]) clear() {
	slots := make([]cacheSlot[E], t.limit.Load()/t.each)
	t.slots.Store(&slots)
	t.bytes.Store(int64(len(slots)) * slotBytes)
	t.entries.Store(0)
}

// Status returns the current status.
func (t *cache[E, P]) Status() Status {
	return Status{
		Entries: t.entries.Load(), Bytes: t.bytes.Load(), Limit: t.limit.Load(),
		Hits: t.hits.Load(), Misses: t.misses.Load(), Entered: t.entered.Load(),
	}
}

// Check returns an error if an invariant of the table does not hold. No other goroutine may use the
// table during the call.
func (t *cache[E, P]) Check() error {
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

// count adds the counts of a session and resets them.
func (t *cache[E, P]) count(hits, misses *int64) {
	if *hits != 0 || *misses != 0 {
		t.hits.Add(*hits)
		t.misses.Add(*misses)
		*hits, *misses = 0, 0
	}
}

// pair returns the two slots for a hash.
func (t *cache[E, P]) pair(hash uint64) (first, second *cacheSlot[E]) {
	return pairIn(*t.slots.Load(), hash)
}

func pairIn[E any](slots []cacheSlot[E], hash uint64) (first, second *cacheSlot[E]) {
	i := hash & uint64(len(slots)-1)
	return &slots[i], &slots[i^1]
}

// touch marks the entry as looked up.
func (s *cacheSlot[E]) touch() {
	if !s.asked.Load() {
		s.asked.Store(true)
	}
}

// markOf returns the mark of a miss. It is never 0.
func markOf(hash uint64) uint32 { return uint32(hash>>32) | 1 }

// again records a miss and reports whether the same hash missed before. Each slot of the pair keeps
// one mark, so two alternating entries do not overwrite each other's marks.
func (t *cache[E, P]) again(hash uint64) bool {
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

// admits reports whether an entry of size bytes may enter the table.
func (t *cache[E, P]) admits(size int64) bool { return size <= t.limit.Load()/largestShare }

// enter adds e, and evicts others if necessary. emptied is the value of t.emptied before e was
// built: if the table was emptied since, e is discarded. e is also discarded while another
// goroutine holds entering.
func (t *cache[E, P]) enter(e P, emptied int64) {
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

// put stores e, which may be nil, in a slot. It requires entering.
func (t *cache[E, P]) put(slot *cacheSlot[E], e P) {
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

// room evicts entries that were not looked up lately until size more bytes fit, and reports whether
// they do. It requires entering.
func (t *cache[E, P]) room(slots []cacheSlot[E], size int64) bool {
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

// empty removes all entries, and then increments emptied. If a goroutine reads emptied before it
// looks up entries, and reads the same value when it calls enter, none of the entries it found was
// removed in between.
func (t *cache[E, P]) empty() {
	t.entering.Lock()
	defer t.entering.Unlock()
	t.clear()
	t.emptied.Add(1)
}

// vacant returns the slot for e: the slot of its pair that holds the same entry, else an empty one,
// else one whose entry was not looked up lately.
func vacant[E any, P cacheEntry[E]](slots []cacheSlot[E], hash uint64, e P) *cacheSlot[E] {
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

// widen doubles the number of slots. It loses no entry, since each pair of slots becomes two pairs.
func (t *cache[E, P]) widen(slots []cacheSlot[E]) {
	wider := make([]cacheSlot[E], 2*len(slots))
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
