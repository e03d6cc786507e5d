// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
)

// coalescer holds what a handler has still to hear, merged by key: whatever happens meanwhile to an
// object, at most two records of it wait. Records leave in the order in which they came, of each
// key and, but for merges, of all.
//
// Invariants:
//
//   - of a key there is nothing, one record, or a Delete followed by an Add;
//   - no Update changes the UID;
//   - what a handler hears of a key begins with a Delete or an Update if it knows the object, else
//     with an Add.
//
// The methods of a nil coalescer answer as those of an empty one.
type coalescer struct {
	newest     map[string]*pendingRecord // of each key that has any
	head, tail *pendingRecord
	count      int    // records in the list
	initial    int    // those that belong to the initial list
	merged     uint64 // changes that will not be delivered because others tell of them, or nothing is left to tell
}

// pendingRecord is a change in a coalescer's list.
type pendingRecord struct {
	change
	before     *pendingRecord // the other record of the key, if it still waits and is older: a Delete
	prev, next *pendingRecord
}

func newCoalescer() *coalescer { return &coalescer{newest: map[string]*pendingRecord{}} }

// add merges a change with what is there. The change has a key and is no bulk record.
func (q *coalescer) add(c change) {
	last := q.newest[c.key]
	switch {
	case replacesObject(&c, last):
		q.add(change{kind: changeDelete, key: c.key, old: DeletedFinalStateUnknown{Key: c.key, Obj: c.old}, at: c.at})
		q.add(change{kind: changeAdd, key: c.key, new: c.new, at: c.at})
	case last == nil, last.kind == changeDelete && c.kind == changeAdd:
		q.push(c, last)
	case c.kind == changeDelete && last.kind == changeAdd:
		q.remove(last)
		q.merged += 2
	case c.kind == changeDelete:
		last.kind, last.old, last.new, last.resync = changeDelete, c.old, nil, false
		q.merged++
	default:
		last.new, last.resync = c.new, last.resync && c.resync
		q.merged++
	}
}

// replacesObject reports whether an Update is to another object than the handler knows: by its own
// account or, as empty UIDs may stand between, with what it would be merged into.
func replacesObject(c *change, last *pendingRecord) bool {
	if c.kind != changeUpdate {
		return false
	}
	return !sameUID(c.old, c.new) || last != nil && last.kind == changeUpdate && !sameUID(last.old, c.new)
}

// push puts a record at the end of the list, as the newest of its key.
func (q *coalescer) push(c change, before *pendingRecord) {
	record := &pendingRecord{change: c, before: before, prev: q.tail}
	if q.tail == nil {
		q.head = record
	} else {
		q.tail.next = record
	}
	q.tail = record
	q.newest[c.key] = record
	q.count++
	if c.initial {
		q.initial++
	}
}

// remove takes a record out of the list.
func (q *coalescer) remove(record *pendingRecord) {
	if record.prev == nil {
		q.head = record.next
	} else {
		record.prev.next = record.next
	}
	if record.next == nil {
		q.tail = record.prev
	} else {
		record.next.prev = record.prev
	}
	switch newest := q.newest[record.key]; {
	case newest != record:
		newest.before = nil
	case record.before != nil:
		q.newest[record.key] = record.before
	default:
		delete(q.newest, record.key)
	}
	q.count--
	if record.initial {
		q.initial--
	}
}

// pop takes the oldest record.
func (q *coalescer) pop() (c change, ok bool) {
	if q.empty() {
		return change{}, false
	}
	oldest := q.head
	q.remove(oldest)
	return oldest.change, true
}

func (q *coalescer) empty() bool { return q == nil || q.head == nil }

// len counts the records.
func (q *coalescer) len() int {
	if q == nil {
		return 0
	}
	return q.count
}

// initialLeft reports whether any record belongs to the initial list.
func (q *coalescer) initialLeft() bool { return q != nil && q.initial > 0 }

// sameUID reports whether two versions are of one object. One without a UID may be of any.
func sameUID(a, b any) bool {
	before, after := uidOf(a), uidOf(b)
	return before == after || before == "" || after == ""
}

func uidOf(obj any) types.UID {
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if accessor, err := meta.Accessor(obj); err == nil {
		return accessor.GetUID()
	}
	return ""
}
