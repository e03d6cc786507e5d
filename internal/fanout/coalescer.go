// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// coalescer holds the undelivered changes of a handler, merged by key. However often an object
// changes, at most two records of it wait. Records leave in the order in which they were added,
// those of a key strictly so, and others except for merges.
//
//	head ─▶ a: Update ⇄ b: Delete ⇄ c: Add ⇄ b: Add ◀─ tail
//	                        ▲──── before ────────┘
//
// Invariants:
//
//   - a key has no record, one record, or a Delete followed by an Add;
//   - no Update changes the UID;
//   - the first record of a key is a Delete or an Update if the handler knows the object, otherwise
//     an Add.
//
// A nil coalescer is empty.
type coalescer struct {
	newest     map[string]*pendingRecord // the newest record of each key
	head, tail *pendingRecord
	count      int    // number of records
	initial    int    // number of records that belong to the initial list
	merged     uint64 // number of changes merged into others, or canceled out
}

// pendingRecord is a change in a coalescer's list.
type pendingRecord struct {
	event.Change
	before     *pendingRecord // the older record of the key, a Delete, if it still waits
	prev, next *pendingRecord
}

func newCoalescer() *coalescer { return &coalescer{newest: map[string]*pendingRecord{}} }

// add merges a change, which has a key and is not a bulk record, with the records of its key.
func (q *coalescer) add(c event.Change) {
	last := q.newest[c.Key]
	switch {
	case replacesObject(&c, last):
		q.add(event.Change{Kind: event.ChangeDelete, Key: c.Key, Old: clientgo.DeletedFinalStateUnknown{Key: c.Key, Obj: c.Old}, At: c.At, Cause: c.Cause, Source: c.Source})
		q.add(event.Change{Kind: event.ChangeAdd, Key: c.Key, New: c.New, At: c.At, Cause: c.Cause, Source: c.Source})
	case last == nil, last.Kind == event.ChangeDelete && c.Kind == event.ChangeAdd:
		q.push(c, last)
	case c.Kind == event.ChangeDelete && last.Kind == event.ChangeAdd:
		q.remove(last)
		q.merged += 2
	case c.Kind == event.ChangeDelete:
		last.Kind, last.Old, last.New, last.Resync = event.ChangeDelete, c.Old, nil, false
		last.Cause, last.Source = c.Cause, c.Source
		q.merged++
	default:
		if !c.Resync {
			last.Source = c.Source
			if !last.Initial {
				last.Cause = c.Cause
			}
		}
		last.New, last.Resync = c.New, last.Resync && c.Resync
		q.merged++
	}
}

// replacesObject reports whether an Update is to another object than the handler knows: if the UIDs
// of its objects differ or, because a UID in between may be empty, those of the merged Update
// would.
func replacesObject(c *event.Change, last *pendingRecord) bool {
	if c.Kind != event.ChangeUpdate {
		return false
	}
	return !sameUID(c.Old, c.New) || last != nil && last.Kind == event.ChangeUpdate && !sameUID(last.Old, c.New)
}

// push appends a record, which becomes the newest of its key.
func (q *coalescer) push(c event.Change, before *pendingRecord) {
	record := &pendingRecord{Change: c, before: before, prev: q.tail}
	if q.tail == nil {
		q.head = record
	} else {
		q.tail.next = record
	}
	q.tail = record
	q.newest[c.Key] = record
	q.count++
	if c.Initial {
		q.initial++
	}
}

// remove removes a record from the list.
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
	switch newest := q.newest[record.Key]; {
	case newest != record:
		newest.before = nil
	case record.before != nil:
		q.newest[record.Key] = record.before
	default:
		delete(q.newest, record.Key)
	}
	q.count--
	if record.Initial {
		q.initial--
	}
}

// pop removes and returns the oldest record.
func (q *coalescer) pop() (c event.Change, ok bool) {
	if q.empty() {
		return event.Change{}, false
	}
	oldest := q.head
	q.remove(oldest)
	return oldest.Change, true
}

func (q *coalescer) empty() bool { return q == nil || q.head == nil }

// len returns the number of records.
func (q *coalescer) len() int {
	if q == nil {
		return 0
	}
	return q.count
}

// initialLeft reports whether a record belongs to the initial list.
func (q *coalescer) initialLeft() bool { return q != nil && q.initial > 0 }

// sameUID reports whether two versions are of one object. A version without a UID may be of any
// object.
func sameUID(a, b any) bool {
	before, after := uidOf(a), uidOf(b)
	return before == after || before == "" || after == ""
}

func uidOf(obj any) types.UID {
	if tombstone, ok := obj.(clientgo.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if accessor, err := meta.Accessor(obj); err == nil {
		return accessor.GetUID()
	}
	return ""
}
