// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"hash/maphash"
	"iter"
)

const (
	// longestInterned is the longest text that is shared. The annotation in which kubectl keeps
	// what was applied is longer for any Secret: it may hold its data.
	longestInterned = 64
	// bytesPerText: for so many bytes of the limit there is a slot.
	bytesPerText = 64
	// entryBytes is what an entry takes without its text.
	entryBytes = 48
)

// Intern is a table of texts that values share. Any number of goroutines may use it at a time.
type Intern struct{ lossy[interned, *interned] }

// interned is a text. It is never written to.
type interned struct {
	text  string
	boxed any // the text, or nil as long as no document had it
}

func (e *interned) size() int64 { return entryBytes + int64(len(e.text)+15)&^15 }

func (e *interned) hashed(seed maphash.Seed) uint64 { return maphash.String(seed, e.text) }

func (e *interned) same(other *interned) bool { return e.text == other.text }

// NewIntern makes a table that holds at most that many bytes, texts and its own included: see SetLimit.
func NewIntern(limit int64) *Intern {
	t := &Intern{}
	t.begin(limit, bytesPerText)
	return t
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

// find returns the entry of a text, or nil.
func (t *Intern) find(b []byte) (hash uint64, e *interned) {
	hash = maphash.Bytes(t.seed, b)
	first, second := t.pair(hash)
	if e = first.entry.Load(); e != nil && e.text == string(b) {
		first.touch()
		return hash, e
	}
	if e = second.entry.Load(); e != nil && e.text == string(b) {
		second.touch()
		return hash, e
	}
	return hash, nil
}
