// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"hash/maphash"
	"sync"
	"sync/atomic"
)

const (
	// smallestPart is the least number of bytes of a part: what is smaller is decoded sooner than
	// it is found.
	smallestPart = 16
	// smallestParts is how many slots a table begins with.
	smallestParts = 1 << 8
	// partSlotBytes and partBytes are what a slot and an entry take, without bytes and value.
	partSlotBytes = 16
	partBytes     = 112
	// lookedFor bounds the work for an object: parts with so many times its bytes. Each byte of a
	// pod is in 4 parts, on the average.
	lookedFor = 16
	// largestShare of the limit is what one part takes at most, one in so many.
	largestShare = 16
	// sweep is how many slots are looked at, at most, to make room for a part.
	sweep = 64
)

// neverKept is in the names of annotations that hold a whole object, perhaps a Secret.
var neverKept = []byte("last-applied")

// Parts is a table of parts that values share: maps, lists, and messages behind pointers, by the
// bytes that they were decoded from, which it keeps and compares. It takes a part in when it is
// asked for again before another one of its slot is, and forgets those that nobody has asked for
// lately, for room: the algorithm is CLOCK, by second chances (Corbató 1968). Any number of
// goroutines may use it at a time.
//
// Who has a value with shared parts must not write to them. Lists have no more capacity than
// elements, so append copies them. What writes to itself when it is read, a Quantity that is no
// value of a map, is in no part.
type Parts struct {
	seed  maphash.Seed
	limit int64                      // bytes
	slots atomic.Pointer[[]partSlot] // as many as a power of two
	mask  uint64                     // the bits of hashes that count: all, but in tests

	entering sync.Mutex // held to change slots, bytes, parts, entered and hand
	hand     int        // the slot that is looked at next for room
	bytes    atomic.Int64
	parts    atomic.Int64
	entered  atomic.Int64

	hits, misses atomic.Int64
}

type partSlot struct {
	entry atomic.Pointer[part]
	seen  atomic.Uint32 // part of the hash of what was last asked for in vain
	used  atomic.Uint32 // 1: the entry was asked for since it came in, or the hand was here
}

// part is never written to.
type part struct {
	of    any // the node, which stands for type and place
	hash  uint64
	raw   []byte
	value whole
	made  int64 // bytes that the value takes, with other parts that are in it
	deep  int   // how many messages lie in each other in it; 0 for JSON, see findBrackets
}

// whole is a value that is shared: a list, a pointer, which is the first of it, or a map.
type whole struct {
	list slice
	kept any
}

func (e *part) size() int64 {
	if e == nil {
		return 0
	}
	return partBytes + block(len(e.raw)) + e.made
}

// PartsStatus is what a table holds and was asked.
type PartsStatus struct {
	Parts, Bytes, Limit   int64 // Bytes with those of the values; what is in several of them counts for each
	Hits, Misses, Entered int64
}

// NewParts makes a table that holds at most about that many bytes, at least 64 KiB.
func NewParts(limit int64) *Parts {
	t := &Parts{seed: maphash.MakeSeed(), limit: max(limit, 64<<10), mask: ^uint64(0)}
	slots := make([]partSlot, smallestParts)
	t.slots.Store(&slots)
	t.bytes.Store(smallestParts * partSlotBytes)
	return t
}

// Status tells what is in the table now.
func (t *Parts) Status() PartsStatus {
	return PartsStatus{
		Parts: t.parts.Load(), Bytes: t.bytes.Load(), Limit: t.limit,
		Hits: t.hits.Load(), Misses: t.misses.Load(), Entered: t.entered.Load(),
	}
}

func (t *Parts) count(c *counts) {
	if c.shared != 0 || c.unshared != 0 {
		t.hits.Add(c.shared)
		t.misses.Add(c.unshared)
		c.shared, c.unshared = 0, 0
	}
}

// find returns the part of a node that was decoded from raw, or nil.
func (t *Parts) find(of any, raw []byte) (hash uint64, e *part) {
	hash = maphash.Bytes(t.seed, raw) & t.mask
	slots := *t.slots.Load()
	i := hash & uint64(len(slots)-1)
	for _, at := range [2]uint64{i, i ^ 1} {
		slot := &slots[at]
		if e = slot.entry.Load(); e != nil && e.hash == hash && e.of == of && bytes.Equal(e.raw, raw) {
			if slot.used.Load() == 0 {
				slot.used.Store(1)
			}
			return hash, e
		}
	}
	return hash, nil
}

// again reports whether a part that is not in the table was already asked for.
func (t *Parts) again(hash uint64) bool {
	slots := *t.slots.Load()
	i := hash & uint64(len(slots)-1)
	tag := uint32(hash>>32) | 1
	first, second := &slots[i].seen, &slots[i^1].seen
	if first.Load() == tag || second.Load() == tag {
		return true
	}
	if first.Load() != 0 && second.Load() == 0 {
		first = second
	}
	first.Store(tag)
	return false
}

// enter puts a part in, with a copy of its bytes, in the place of others if that takes room. It
// does nothing while another goroutine does.
func (t *Parts) enter(e part) {
	if e.size() > t.limit/largestShare || bytes.Contains(e.raw, neverKept) || !t.entering.TryLock() {
		return
	}
	defer t.entering.Unlock()
	slots := *t.slots.Load()
	slot := vacantPart(slots, &e)
	if slot.has(&e) {
		return
	}
	if t.put(slot, nil); !t.room(slots, e.size()) {
		return
	}
	e.raw = exactly(e.raw)
	t.put(slot, &e)
	t.entered.Add(1)
	full, wider := int64(len(slots))*3/4, 2*len(slots)
	if t.parts.Load() > full && int64(wider)*partSlotBytes <= t.limit/4 {
		t.widen(slots, wider)
	}
}

// put makes e, which may be nil, the entry of a slot.
func (t *Parts) put(slot *partSlot, e *part) {
	old := slot.entry.Swap(e)
	slot.used.Store(0)
	t.bytes.Add(e.size() - old.size())
	if e != nil {
		t.parts.Add(1)
	}
	if old != nil {
		t.parts.Add(-1)
	}
}

// room forgets parts that were not asked for of late until there is room for so many bytes, and
// reports whether there is.
func (t *Parts) room(slots []partSlot, size int64) bool {
	for range sweep {
		if t.bytes.Load()+size <= t.limit {
			return true
		}
		t.hand = (t.hand + 1) & (len(slots) - 1)
		if slot := &slots[t.hand]; !slot.used.CompareAndSwap(1, 0) {
			t.put(slot, nil)
		}
	}
	return t.bytes.Load()+size <= t.limit
}

// has reports whether the slot has that part already, because somebody else was sooner.
func (s *partSlot) has(e *part) bool {
	had := s.entry.Load()
	return had != nil && had.hash == e.hash && had.of == e.of
}

// vacantPart returns the slot that a part goes to: the one of its two that has it, an empty one, or
// one that was not asked for of late.
func vacantPart(slots []partSlot, e *part) *partSlot {
	first, second := &slots[e.hash&uint64(len(slots)-1)], &slots[e.hash&uint64(len(slots)-1)^1]
	if first.has(e) {
		return first
	}
	if second.has(e) {
		return second
	}
	if first.entry.Load() == nil {
		return first
	}
	if second.entry.Load() == nil || first.used.Load() == 1 && second.used.Load() == 0 {
		return second
	}
	return first
}

// widen puts a larger table in the place of slots.
func (t *Parts) widen(slots []partSlot, n int) {
	wider := make([]partSlot, n)
	sum, parts := int64(n*partSlotBytes), int64(0)
	for i := range slots {
		if e := slots[i].entry.Load(); e != nil {
			slot := vacantPart(wider, e)
			old := slot.entry.Swap(e)
			slot.used.Store(slots[i].used.Load())
			if sum += e.size() - old.size(); old == nil {
				parts++
			}
		}
	}
	t.slots.Store(&wider)
	t.bytes.Store(sum)
	t.parts.Store(parts)
}
