// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"github.com/kinformer/cache/internal/event"
)

// Order is where the records of a queue wait, and decides in which order they leave. The lock of the queue guards it.
type Order interface {
	// Put takes one more record in.
	Put(rec event.Record)
	// Len is how many items wait: what take counts.
	Len() int
	// take removes the first n items, at most len. The records are the caller's until recycle.
	take(n int) []event.Record
	// recycle gets the memory of a batch back. The caller does not use it any more.
	recycle(batch []event.Record)
}

// keptRecords is how many records a buffer may hold and still be kept for reuse: 18 KiB. It covers the usual batches, and
// keeps what a burst leaves behind small, since there may be thousands of queues in a process.
const keptRecords = 256

// keptInSequence is the same for a sequence that is emptied bit by bit: one full PopBatch.
const keptInSequence = PopBatchSize

// sequence is a first-in, first-out sequence that reuses its memory.
type sequence[T any] struct {
	items []T // those before head are zero
	head  int
}

func (l *sequence[T]) Len() int { return len(l.items) - l.head }

func (l *sequence[T]) At(i int) *T { return &l.items[l.head+i] }

// push appends items, moving the others to the front of the memory if that makes room for as many as there are.
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

func (a *Arrivals) recycle(batch []event.Record) {
	clear(batch)
	if cap(batch) > keptRecords {
		return
	}
	if a.spare == nil || cap(a.spare) < cap(batch) {
		a.spare = batch[:0]
	}
}
