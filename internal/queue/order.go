// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// Order holds the waiting records of a queue, and determines the order in which they leave. It is
// guarded by the queue's lock.
type Order interface {
	// Put adds a record.
	Put(rec event.Record)
	// Len returns the number of waiting items, as counted by take.
	Len() int
	// take removes the first n items, at most Len. The records belong to the caller until recycle.
	take(n int) []event.Record
	// newest returns the last waiting record of the key, or nil.
	newest(key string) *event.Record
	// recycle returns the memory of a batch. The caller must not use it any more.
	recycle(batch []event.Record)
}

// maxSpareRecords is the capacity up to which a buffer is kept for reuse: 18 KiB. It suffices for
// the usual batches, and keeps the memory after a burst small, because a process may have thousands
// of queues.
const maxSpareRecords = 256

// PopBatchSize bounds the batch of PopUnique, as in client-go, and thereby the duration of a store
// transaction.
const PopBatchSize = 1000

// maxSpareSequence is maxSpareRecords for a sequence, which is emptied in parts: one full batch of
// PopUnique.
const maxSpareSequence = PopBatchSize

// sequence is a first-in, first-out sequence that reuses its memory.
type sequence[T any] struct {
	items []T // items[:head] are zero
	head  int
}

func (l *sequence[T]) Len() int { return len(l.items) - l.head }

func (l *sequence[T]) At(i int) *T { return &l.items[l.head+i] }

// push appends items. It first moves the waiting items to the front of the memory if more than half
// of it is free there.
func (l *sequence[T]) push(items ...T) {
	if len(l.items)+len(items) > cap(l.items) && l.head > len(l.items)/2 {
		live := copy(l.items, l.items[l.head:])
		clear(l.items[live:])
		l.items, l.head = l.items[:live], 0
	}
	l.items = append(l.items, items...)
}

// drop removes the first n items.
func (l *sequence[T]) drop(n int) {
	clear(l.items[l.head : l.head+n])
	l.head += n
	if l.head < len(l.items) {
		return
	}
	l.items, l.head = l.items[:0], 0
	if cap(l.items) > maxSpareSequence {
		l.items = nil
	}
}

// Arrivals is the order of arrival: each record is an item.
type Arrivals struct {
	sequence[event.Record]
	spare []event.Record // an empty buffer, or nil
}

func (a *Arrivals) Put(rec event.Record) { a.push(rec) }

// take returns the buffer itself if all items are taken, otherwise a copy.
func (a *Arrivals) take(n int) []event.Record {
	buffer := a.spare
	a.spare = nil
	if n == a.Len() {
		batch := a.items[a.head:]
		a.items, a.head = buffer, 0
		return batch
	}
	batch := append(buffer, a.items[a.head:a.head+n]...)
	a.drop(n)
	return batch
}

// newest searches all waiting records. It is called rarely.
func (a *Arrivals) newest(key string) *event.Record {
	for i := a.Len() - 1; i >= 0; i-- {
		if rec := a.At(i); rec.Key == key {
			return rec
		}
	}
	return nil
}

func (a *Arrivals) recycle(batch []event.Record) {
	clear(batch)
	if cap(batch) > maxSpareRecords {
		return
	}
	if a.spare == nil || cap(a.spare) < cap(batch) {
		a.spare = batch[:0]
	}
}

// ByKey is the order by object. An item is all waiting records of one key, oldest first, and items
// leave in the order in which their first records were put. All records are about single objects.
//
//	line  b ─▶ a
//	Open  a: [Added, Updated]   b: [Deleted]
//
// Invariants: the keys of Open are those in line; no item is empty; two deletions are never
// adjacent.
type ByKey struct {
	line sequence[string]
	Open map[string][]event.Record // the waiting records of each key
}

// NewByKey returns an empty order by key.
func NewByKey() *ByKey { return &ByKey{Open: map[string][]event.Record{}} }

func (b *ByKey) Len() int { return b.line.Len() }

// Put adds a record. Of two successive deletions it keeps the one with the object's last state.
func (b *ByKey) Put(rec event.Record) {
	newest := b.newest(rec.Key)
	switch {
	case newest == nil:
		b.line.push(rec.Key)
	case newest.Type == clientgo.Deleted && rec.Type == clientgo.Deleted:
		if _, unknown := newest.Object.(clientgo.DeletedFinalStateUnknown); unknown {
			*newest = rec
		}
		return
	}
	b.Open[rec.Key] = append(b.Open[rec.Key], rec)
}

// take removes whole items, so a batch may have more than n records.
func (b *ByKey) take(n int) (batch []event.Record) {
	for range n {
		key := *b.line.At(0)
		b.line.drop(1)
		batch = append(batch, b.Open[key]...)
		delete(b.Open, key)
	}
	return batch
}

func (b *ByKey) newest(key string) *event.Record {
	waiting := b.Open[key]
	if len(waiting) == 0 {
		return nil
	}
	return &waiting[len(waiting)-1]
}

func (b *ByKey) recycle([]event.Record) {}
