// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"hash/maphash"
	"iter"
	"sync"
	"sync/atomic"
)

const (
	// longestInterned is the longest text that is shared. The annotation in which kubectl keeps
	// what was applied is longer for any Secret: it may hold its data.
	longestInterned = 64
	// smallestIntern is how many slots a table begins with.
	smallestIntern = 1 << 10
	// slotBytes and entryBytes are what a slot and an entry take, without the text of the entry.
	slotBytes  = 16
	entryBytes = 48
)

// Intern is a table of texts that values share. It forgets: a text that it has not may have been
// there. Any number of goroutines may use it at a time.
//
// A text goes in when it is asked for again before another one of its slot is, so that what occurs
// once does not drive out what occurs often.
type Intern struct {
	seed  maphash.Seed
	limit int64                        // bytes
	slots atomic.Pointer[[]internSlot] // as many as a power of two

	entering sync.Mutex // held to change slots, bytes, texts and entered
	bytes    atomic.Int64
	texts    atomic.Int64
	entered  atomic.Int64

	hits, misses atomic.Int64
}

type internSlot struct {
	entry atomic.Pointer[interned]
	seen  atomic.Uint32 // part of the hash of the text that was last asked for in vain
}

// interned is a text. It is never written to.
type interned struct {
	text  string
	boxed any // the text, or nil as long as no document had it
}

// InternStatus is what a table holds and was asked.
type InternStatus struct {
	Texts, Bytes, Limit   int64
	Hits, Misses, Entered int64
}

// NewIntern makes a table that holds at most that many bytes, texts and its own included, and at
// least 64 KiB.
func NewIntern(limit int64) *Intern {
	t := &Intern{seed: maphash.MakeSeed(), limit: max(limit, 64<<10)}
	slots := make([]internSlot, smallestIntern)
	t.slots.Store(&slots)
	t.bytes.Store(smallestIntern * slotBytes)
	return t
}

// Status tells what is in the table now.
func (t *Intern) Status() InternStatus {
	return InternStatus{
		Texts: t.texts.Load(), Bytes: t.bytes.Load(), Limit: t.limit,
		Hits: t.hits.Load(), Misses: t.misses.Load(), Entered: t.entered.Load(),
	}
}

// All ranges over the texts that are in the table now.
func (t *Intern) All() iter.Seq[string] {
	return func(yield func(string) bool) {
		slots := *t.slots.Load()
		for i := range slots {
			if e := slots[i].entry.Load(); e != nil && !yield(e.text) {
				return
			}
		}
	}
}

// counts are kept by a reader while it reads a document.
type counts struct {
	hits, misses     int64 // of texts
	shared, unshared int64 // parts
}

func (t *Intern) count(c *counts) {
	if c.hits != 0 || c.misses != 0 {
		t.hits.Add(c.hits)
		t.misses.Add(c.misses)
		c.hits, c.misses = 0, 0
	}
}

// find returns the entry of a text, or nil. A text has two slots.
func (t *Intern) find(b []byte) (hash uint64, e *interned) {
	hash = maphash.Bytes(t.seed, b)
	slots := *t.slots.Load()
	i := hash & uint64(len(slots)-1)
	if e = slots[i].entry.Load(); e != nil && e.text == string(b) {
		return hash, e
	}
	if e = slots[i^1].entry.Load(); e != nil && e.text == string(b) {
		return hash, e
	}
	return hash, nil
}

// again reports whether a text that is not in the table was already asked for. Its two slots
// remember one text each, so that two texts that come in turns do not make each other forgotten.
func (t *Intern) again(hash uint64) bool {
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

// enter puts an entry in, if that keeps the table below its limit. It does nothing while another
// goroutine does.
func (t *Intern) enter(hash uint64, e *interned) {
	if !t.entering.TryLock() {
		return
	}
	defer t.entering.Unlock()
	slots := *t.slots.Load()
	slot := vacant(slots, hash, e.text)
	old := slot.entry.Load()
	if t.bytes.Load()+size(e)-size(old) > t.limit {
		return
	}
	slot.entry.Store(e)
	t.bytes.Add(size(e) - size(old))
	t.entered.Add(1)
	if old == nil {
		t.texts.Add(1)
	}
	full, wider := int64(len(slots))*3/4, 2*len(slots)
	if t.texts.Load() > full && int64(wider)*slotBytes <= t.limit/4 {
		t.widen(slots, wider)
	}
}

// vacant returns the slot that a text goes to: its own, or else an empty one, or else the first of
// its two.
func vacant(slots []internSlot, hash uint64, text string) *internSlot {
	first := &slots[hash&uint64(len(slots)-1)]
	second := &slots[hash&uint64(len(slots)-1)^1]
	switch a, b := first.entry.Load(), second.entry.Load(); {
	case a == nil || a.text == text:
		return first
	case b == nil || b.text == text:
		return second
	}
	return first
}

// widen puts a larger table in the place of slots.
func (t *Intern) widen(slots []internSlot, n int) {
	wider := make([]internSlot, n)
	bytes, texts := int64(n*slotBytes), int64(0)
	for i := range slots {
		if e := slots[i].entry.Load(); e != nil {
			slot := vacant(wider, maphash.String(t.seed, e.text), e.text)
			old := slot.entry.Swap(e)
			bytes += size(e) - size(old)
			if old == nil {
				texts++
			}
		}
	}
	t.slots.Store(&wider)
	t.bytes.Store(bytes)
	t.texts.Store(texts)
}

func size(e *interned) int64 {
	if e == nil {
		return 0
	}
	return entryBytes + int64(len(e.text)+15)&^15
}

// kept returns b as a string that does not refer to the data, and is shared if it is short.
func (d *reader) kept(b []byte) string {
	d.makes(len(b))
	if d.table == nil || d.private || len(b) > longestInterned || len(b) == 0 {
		return string(b)
	}
	hash, e := d.table.find(b)
	if e != nil {
		d.counts.hits++
		return e.text
	}
	d.counts.misses++
	text := string(b)
	if d.table.again(hash) {
		d.table.enter(hash, &interned{text: text})
	}
	return text
}

// boxed is kept for texts in documents.
func (d *reader) boxed(b []byte) any {
	d.made += textBytes + block(len(b))
	if d.table == nil || d.private || len(b) > longestInterned || len(b) == 0 {
		return string(b)
	}
	hash, e := d.table.find(b)
	switch {
	case e == nil:
		d.counts.misses++
		text := string(b)
		var boxed any = text
		if d.table.again(hash) {
			d.table.enter(hash, &interned{text: text, boxed: boxed})
		}
		return boxed
	case e.boxed == nil:
		e = &interned{text: e.text, boxed: e.text}
		d.table.enter(hash, e)
	}
	d.counts.hits++
	return e.boxed
}
