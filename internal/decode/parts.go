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
	partBytes     = 96
	// valueShare is how much memory a value takes at most, as a rule, for each byte that it was
	// decoded from.
	valueShare = 4
)

// neverKept is in annotations that hold a whole object, perhaps a Secret.
var neverKept = []byte("last-applied-configuration")

// Parts is a table of parts that values share: maps, lists, and messages behind pointers, by the
// bytes that they were decoded from, which it keeps and compares. It forgets, as an [Intern] table
// does, and takes a part in when it is asked for again before another one of its slot is. Any number
// of goroutines may use it at a time.
//
// Who has a value with shared parts must not write to them. Lists have no more capacity than
// elements, so append copies them. What writes to itself when it is read, a Quantity that is no
// value of a map, is in no part.
type Parts struct {
	seed  maphash.Seed
	limit int64                      // bytes
	slots atomic.Pointer[[]partSlot] // as many as a power of two

	entering sync.Mutex // held to change slots, bytes, parts and entered
	bytes    atomic.Int64
	parts    atomic.Int64
	entered  atomic.Int64

	hits, misses atomic.Int64
}

type partSlot struct {
	entry atomic.Pointer[part]
	seen  atomic.Uint32 // part of the hash of what was last asked for in vain
}

// part is never written to.
type part struct {
	of    any // the node, which stands for type and place
	hash  uint64
	raw   []byte
	value whole
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
	return partBytes + (1+valueShare)*int64(len(e.raw))
}

// PartsStatus is what a table holds and was asked.
type PartsStatus struct {
	Parts, Bytes, Limit   int64 // Bytes with an estimate of the values
	Hits, Misses, Entered int64
}

// NewParts makes a table that holds at most about that many bytes, at least 64 KiB.
func NewParts(limit int64) *Parts {
	t := &Parts{seed: maphash.MakeSeed(), limit: max(limit, 64<<10)}
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
	hash = maphash.Bytes(t.seed, raw)
	slots := *t.slots.Load()
	i := hash & uint64(len(slots)-1)
	for _, at := range [2]uint64{i, i ^ 1} {
		if e = slots[at].entry.Load(); e != nil && e.hash == hash && e.of == of && bytes.Equal(e.raw, raw) {
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

// enter puts a part in, if that keeps the table below its limit. It does nothing while another
// goroutine does.
func (t *Parts) enter(e *part) {
	if bytes.Contains(e.raw, neverKept) || !t.entering.TryLock() {
		return
	}
	defer t.entering.Unlock()
	slots := *t.slots.Load()
	slot := vacantPart(slots, e.hash)
	old := slot.entry.Load()
	if t.bytes.Load()+e.size()-old.size() > t.limit {
		return
	}
	slot.entry.Store(e)
	t.bytes.Add(e.size() - old.size())
	t.entered.Add(1)
	if old == nil {
		t.parts.Add(1)
	}
	full, wider := int64(len(slots))*3/4, 2*len(slots)
	if t.parts.Load() > full && int64(wider)*partSlotBytes <= t.limit/4 {
		t.widen(slots, wider)
	}
}

// vacantPart returns the slot that a part goes to: one of its two, an empty one if there is one.
func vacantPart(slots []partSlot, hash uint64) *partSlot {
	first, second := &slots[hash&uint64(len(slots)-1)], &slots[hash&uint64(len(slots)-1)^1]
	if first.entry.Load() != nil && second.entry.Load() == nil {
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
			slot := vacantPart(wider, e.hash)
			old := slot.entry.Swap(e)
			if sum += e.size() - old.size(); old == nil {
				parts++
			}
		}
	}
	t.slots.Store(&wider)
	t.bytes.Store(sum)
	t.parts.Store(parts)
}
