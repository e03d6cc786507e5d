// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"math/bits"
	"sync/atomic"
)

const (
	// A word has groupLen tags in its lowest bytes, and the overflow count in the
	// highest. These are the bits 0 and 7 of the tags.
	lowBits     = 1 << (8 * groupLen) / 0xFF
	highBits    = lowBits << 7
	overflowOne = 1 << 56

	// A table grows by a third when more than 4/5 of its slots are in use, so that
	// it is never less than 3/5 full but by removals; made for a number of entries
	// it is 3/5 full: 1.01 groups for a hit. An entry takes 15 bytes in a hashtab
	// and 30 in a keytab at most. By half at 3/4 is 18 and 36 bytes, and each entry
	// is moved 2.5 times instead of 3.5 while 10^5 come one by one.
	fullNum, fullDen = 4, 5
	roomNum, roomDen = 3, 5
)

// groupsFor is the number of groups of a table that is made for n entries.
func groupsFor(n int) int { return n*roomDen/(roomNum*groupLen) + 1 }

// crowded tells that n entries are too many for a number of groups.
func crowded(n, groups int) bool { return n*fullDen > groups*groupLen*fullNum }

// grown is the number of groups after groups.
func grown(groups int) int { return groups + groups/3 + 1 }

// home is the group where the search for a hash begins.
func home(hash uint64, groups int) int {
	return int(hash >> 32 * uint64(groups) >> 32)
}

// tags is the first word of a group of a hash table: a tag for each slot, and
// the overflow count. A tag is 0 for a free slot, else 2 to 255.
//
// The overflow count says how many entries have this group on their way and
// live further on; a search ends at the first group where it is 0. So an entry
// goes without a trace. A count that has reached overflowMax stays there until
// the table is rebuilt.
type tags struct{ atomic.Uint64 }

// used returns a bit for each slot that is in use.
func (t *tags) used() uint64 { return ^matchTag(t.Load(), 0) & highBits }

// vacant returns a free slot. Writer only, like all that follows.
func (t *tags) vacant() (slot int, ok bool) {
	free := matchTag(t.Load(), 0)
	return first(free), free != 0
}

// take gives a free slot, whose content is complete, to a hash.
func (t *tags) take(slot int, hash uint64) { t.Store(t.Load() | tag(hash)<<(8*slot)) }

// vacate frees a slot.
func (t *tags) vacate(slot int) { t.Store(t.Load() &^ (0xFF << (8 * slot))) }

// overflow counts an entry that goes on behind the group, or no longer does.
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

// match returns a bit for each tag that equals the hash's, and perhaps for some
// that differ from it in the lowest bit only: the keys decide.
func match(word, hash uint64) uint64 { return matchTag(word, tag(hash)) }

// matchTag is match for a tag. As there is no tag 1, a free slot matches
// nothing but 0, and 0 only free slots.
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

// first is the slot of the lowest bit of a match.
func first(match uint64) int { return bits.TrailingZeros64(match) >> 3 }
