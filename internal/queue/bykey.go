// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// ByKey is the order per object: an item is what waits for one key, oldest record first, and items
// leave in the order in which their first record came. All records are about single objects.
//
// Invariants: Open[key] is in line and its records are all of that key; no item is empty; two
// deletions never stand next to each other.
type ByKey struct {
	line sequence[*keyedItem]
	Open map[string]*keyedItem // to which records of a key are added
	free []*keyedItem          // empty ones, for reuse

	batch []event.Record
}

type keyedItem struct{ Records []event.Record }

// NewByKey returns an empty order by key.
func NewByKey() *ByKey { return &ByKey{Open: map[string]*keyedItem{}} }

func (b *ByKey) Len() int { return b.line.Len() }

func (b *ByKey) Put(rec event.Record) {
	if item := b.Open[rec.Key]; item != nil {
		item.extend(rec)
	} else {
		b.Open[rec.Key] = b.append(rec)
	}
}

// append puts a new item with one record at the end of the line.
func (b *ByKey) append(rec event.Record) *keyedItem {
	var item *keyedItem
	if n := len(b.free); n > 0 {
		item, b.free = b.free[n-1], b.free[:n-1]
	} else {
		item = &keyedItem{}
	}
	item.Records = append(item.Records, rec)
	b.line.push(item)
	return item
}

// extend adds a record to what waits for its key. Of two deletions in a row the one that knows the
// object stays.
func (item *keyedItem) extend(rec event.Record) {
	newest := &item.Records[len(item.Records)-1]
	if newest.Type != clientgo.Deleted || rec.Type != clientgo.Deleted {
		item.Records = append(item.Records, rec)
	} else if _, unknown := newest.Object.(clientgo.DeletedFinalStateUnknown); unknown {
		*newest = rec
	}
}

// take removes whole items, so a batch may have more records than the n items that were asked for.
func (b *ByKey) take(n int) []event.Record {
	batch := b.batch
	b.batch = nil
	for range n {
		item := *b.line.At(0)
		b.line.drop(1)
		batch = append(batch, item.Records...)
		b.close(item)
	}
	return batch
}

// close ends an item that has left the line.
func (b *ByKey) close(item *keyedItem) {
	delete(b.Open, item.Records[0].Key)
	clear(item.Records)
	item.Records = item.Records[:0]
	if len(b.free) < keptRecords && cap(item.Records) <= keptHistory {
		b.free = append(b.free, item)
	}
}

// keptHistory is how many records the memory of an item may have room for and still be kept.
const keptHistory = 8

func (b *ByKey) newest(key string) *event.Record {
	waiting := b.Waiting(key)
	if len(waiting) == 0 {
		return nil
	}
	return &waiting[len(waiting)-1]
}

func (b *ByKey) recycle(batch []event.Record) {
	clear(batch)
	if cap(batch) <= keptRecords && cap(batch) > cap(b.batch) {
		b.batch = batch[:0]
	}
}

// Waiting returns what waits for the key, oldest first; the slice stays the order's.
func (b *ByKey) Waiting(key string) []event.Record {
	if item := b.Open[key]; item != nil {
		return item.Records
	}
	return nil
}
