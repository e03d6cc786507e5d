// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"hash/maphash"
	"iter"
)

const (
	// longestInterned is the longest string, in bytes, that is shared. kubectl's last-applied
	// annotation, which may contain the data of a Secret, is always longer for a Secret.
	longestInterned = 64
	// bytesPerText is the number of bytes of the limit per slot.
	bytesPerText = 64
	// entryBytes is the size of an entry without its text, in bytes.
	entryBytes = 48
)

// Intern is a table of strings that values share. It is safe for concurrent use.
type Intern struct{ cache[interned, *interned] }

// interned is the immutable entry of a string.
type interned struct {
	text  string
	boxed any // the text as an interface; nil until InternAny is first called for it
}

func (e *interned) size() int64 { return entryBytes + int64(len(e.text)+15)&^15 }

func (e *interned) hashed(seed maphash.Seed) uint64 { return maphash.String(seed, e.text) }

func (e *interned) same(other *interned) bool { return e.text == other.text }

// NewIntern returns a table that holds at most limit bytes, including its own memory. See SetLimit.
func NewIntern(limit int64) *Intern {
	t := &Intern{}
	t.begin(limit, bytesPerText)
	return t
}

// All returns an iterator over the strings in the table.
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

// find returns the entry of a string, or nil.
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
