// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"sync/atomic"
)

const (
	// A word has groupLen tags in its lowest bytes, and the overflow count in the highest. lowBits
	// and highBits have bit 0 and bit 7 of each tag.
	lowBits     = 1 << (8 * groupLen) / 0xFF
	highBits    = lowBits << 7
	overflowOne = 1 << 56

	// A table grows by a third when more than 4/5 of its slots are in use. So it is never less than
	// 3/5 full, except after removals; a table created for a number of entries is 3/5 full: 1.01
	// groups are visited for a hit. An entry takes at most 15 bytes, and 30 with a
	// hint. Growth by half at 3/4 would take 18 and 36 bytes, and would move each entry 2.5 times
	// instead of 3.5 times while 10^5 are added one by one.
	fullNum, fullDen = 4, 5
	roomNum, roomDen = 3, 5
)

// groupsFor returns the number of groups of a table created for n entries.
func groupsFor(n int) int { return n*roomDen/(roomNum*groupLen) + 1 }

// crowded reports whether n entries are too many for a number of groups.
func crowded(n, groups int) bool { return n*fullDen > groups*groupLen*fullNum }

// grown returns the number of groups after a table of groups has grown.
func grown(groups int) int { return groups + groups/3 + 1 }

// home returns the group at which the search for a hash begins.
func home(hash uint64, groups int) int {
	return int(hash >> 32 * uint64(groups) >> 32)
}

// tags is the first word of a group of a hash table: a tag for each slot, and the overflow count.
// The tag of a free slot is 0, others are 2 to 255.
//
//	bits 63..56  overflow count
//	bits 55..48  tag of slot 6
//	...
//	bits  7..0   tag of slot 0
//
// The overflow count is the number of entries that passed this group because it was full and are
// stored in a later one. A search ends at the first group whose count is 0, so removing an entry
// leaves no tombstone. A count that has reached overflowMax stays there until the table is rebuilt.
type tags struct{ atomic.Uint64 }

// used returns a bit for each slot in use.
func (t *tags) used() uint64 { return ^matchTag(t.Load(), 0) & highBits }

// vacant returns a free slot. Writer only, like all methods below.
func (t *tags) vacant() (slot int, ok bool) {
	free := matchTag(t.Load(), 0)
	return first(free), free != 0
}

// take marks a free slot as used by a hash. The content of the slot must be complete.
func (t *tags) take(slot int, hash uint64) { t.Store(t.Load() | tag(hash)<<(8*slot)) }

// vacate marks a slot as free.
func (t *tags) vacate(slot int) { t.Store(t.Load() &^ (0xFF << (8 * slot))) }

// overflow counts an entry that is stored behind the group (by is +1), or no longer is (-1).
func (t *tags) overflow(by int) {
	word := t.Load()
	switch {
	case word>>56 == overflowMax:
	case by > 0:
		t.Store(word + overflowOne)
	default:
		t.Store(word - overflowOne)
	}
}

// match returns a bit for each tag that equals the hash's, and perhaps for some that differ from it
// in the lowest bit only. The caller compares the keys.
func match(word, hash uint64) uint64 { return matchTag(word, tag(hash)) }

// matchTag is match for a tag. Because no tag is 1, a free slot matches only the tag 0, and that
// matches only free slots.
func matchTag(word, tag uint64) uint64 {
	x := word ^ tag*lowBits
	return (x - lowBits) & ^x & highBits
}

func tag(hash uint64) uint64 {
	hash &= 0xFF
	if hash < 2 {
		hash += 2
	}
	return hash
}

// first returns the slot of the lowest bit of a match.
func first(match uint64) int { return bits.TrailingZeros64(match) >> 3 }
