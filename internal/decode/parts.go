// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"hash/maphash"
)

const (
	// smallestPart is the least number of bytes of a part: what is smaller is decoded sooner than
	// it is found.
	smallestPart = 16
	// smallestParts is how many slots a table begins with.
	smallestParts = 1 << 8
	// partBytes is what an entry takes, without bytes and value.
	partBytes = 112
	// lookedFor bounds the work for an object: parts with so many times its bytes. Each byte of a
	// pod is in 4 parts, on the average.
	lookedFor = 16
)

// neverKept is in the names of annotations that hold a whole object, perhaps a Secret.
var neverKept = []byte("last-applied")

// Parts is a table of parts that values share: maps, lists, and messages behind pointers, by the
// bytes that they were decoded from, which it keeps and compares. Any number of goroutines may use
// it at a time. Its bytes are those of the values, too: what is in several of them counts for each.
//
// Who has a value with shared parts must not write to them. Lists have no more capacity than
// elements, so append copies them. What writes to itself when it is read, a Quantity that is no
// value of a map, is in no part, nor is a Quantity that its own copies write to, see isShort.
type Parts struct {
	lossy[part, *part]
	mask uint64 // the bits of hashes that count: all, but in tests
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

func (e *part) size() int64 { return partBytes + block(len(e.raw)) + e.made }

func (e *part) hashed(maphash.Seed) uint64 { return e.hash }

func (e *part) same(other *part) bool { return other.is(e.hash, e.of, e.raw) }

// is reports whether e is the part of a node that was decoded from raw.
func (e *part) is(hash uint64, of any, raw []byte) bool {
	return e.hash == hash && e.of == of && bytes.Equal(e.raw, raw)
}

// NewParts makes a table that holds at most about that many bytes, at least 64 KiB.
func NewParts(limit int64) *Parts {
	t := &Parts{mask: ^uint64(0)}
	t.begin(smallestParts, limit)
	return t
}

// find returns the part of a node that was decoded from raw, or nil.
func (t *Parts) find(of any, raw []byte) (hash uint64, e *part) {
	hash = maphash.Bytes(t.seed, raw) & t.mask
	first, second := t.pair(hash)
	for _, slot := range [2]*lossySlot[part]{first, second} {
		if e = slot.entry.Load(); e != nil && e.is(hash, of, raw) {
			slot.touch()
			return hash, e
		}
	}
	return hash, nil
}

// add enters a part with a copy of its bytes, if it may be in the table. See enter for emptied.
func (t *Parts) add(e part, emptied int64) {
	if !t.admits(e.size()) || bytes.Contains(e.raw, neverKept) {
		return
	}
	e.raw = exactly(e.raw)
	t.enter(&e, emptied)
}
