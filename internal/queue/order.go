// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// Order is where the records of a queue wait, and decides in which order they leave. The lock of
// the queue guards it.
type Order interface {
	// Put takes one more record in.
	Put(rec event.Record)
	// Len is how many items wait: what take counts.
	Len() int
	// take removes the first n items, at most len. The records are the caller's until recycle.
	take(n int) []event.Record
	// newest returns the last record that waits for the key, nil if none does.
	newest(key string) *event.Record
	// recycle gets the memory of a batch back. The caller does not use it any more.
	recycle(batch []event.Record)
}

// keptRecords is how many records a buffer may hold and still be kept for reuse: 18 KiB. It covers
// the usual batches, and keeps what a burst leaves behind small, since there may be thousands of
// queues in a process.
const keptRecords = 256

// PopBatchSize bounds what PopUnique takes, as in client-go: it is what a store transaction is held
// up for.
const PopBatchSize = 1000

// keptInSequence is keptRecords for a sequence that is emptied bit by bit: one full PopBatch.
const keptInSequence = PopBatchSize

// sequence is a first-in, first-out sequence that reuses its memory.
type sequence[T any] struct {
	items []T // those before head are zero
	head  int
}

func (l *sequence[T]) Len() int { return len(l.items) - l.head }

func (l *sequence[T]) At(i int) *T { return &l.items[l.head+i] }

// push appends items, moving the others to the front of the memory if that makes room for as many
// as there are.
func (l *sequence[T]) push(items ...T) {
	if len(l.items)+len(items) > cap(l.items) && l.head > len(l.items)/2 {
		live := copy(l.items, l.items[l.head:])
		clear(l.items[live:])
		l.items, l.head = l.items[:live], 0
	}
	l.items = append(l.items, items...)
}

// drop removes the first n.
func (l *sequence[T]) drop(n int) {
	clear(l.items[l.head : l.head+n])
	l.head += n
	if l.head < len(l.items) {
		return
	}
	l.items, l.head = l.items[:0], 0
	if cap(l.items) > keptInSequence {
		l.items = nil
	}
}

// Arrivals is the order of arrival: each record is an item.
type Arrivals struct {
	sequence[event.Record]
	spare []event.Record // an empty buffer, or nil
}

func (a *Arrivals) Put(rec event.Record) { a.push(rec) }

// take hands out the buffer itself when everything is wanted, else a copy.
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

// newest looks at all that waits: it is for what hardly ever happens.
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
	if cap(batch) > keptRecords {
		return
	}
	if a.spare == nil || cap(a.spare) < cap(batch) {
		a.spare = batch[:0]
	}
}

// ByKey is the order per object: an item is what waits for one key, oldest record first, and items
// leave in the order in which their first record came. All records are about single objects.
//
// Invariants: the keys of Open are those in line; no item is empty; two deletions never stand next to
// each other.
type ByKey struct {
	line sequence[string]
	Open map[string][]event.Record // what waits for each key
}

// NewByKey returns an empty order by key.
func NewByKey() *ByKey { return &ByKey{Open: map[string][]event.Record{}} }

func (b *ByKey) Len() int { return b.line.Len() }

// Put keeps, of two deletions in a row, the one that knows the object.
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

// take removes whole items, so a batch may have more records than the n items that were asked for.
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
