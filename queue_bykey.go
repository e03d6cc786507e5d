// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "slices"

// byKey is the order per object: an item is what waits for one key, oldest record first, and items leave in the order in
// which their first record came. A record about no single object is an item of its own.
//
// Invariants: open[key] is in line and its records are all of that key, none for a list; no item is empty; two deletions
// never stand next to each other; with maxHistory an item has at most that many records.
type byKey struct {
	line sequence[*keyedItem]
	open map[string]*keyedItem // to which records of a key are added
	free []*keyedItem          // empty ones, for reuse

	merge      bool   // successive states of an object become one
	maxHistory int    // 0: any number of records an item
	dropped    uint64 // records that maxHistory cost
	batch      []record
}

type keyedItem struct{ records []record }

func newByKey() *byKey { return &byKey{open: map[string]*keyedItem{}} }

func (b *byKey) len() int { return b.line.len() }

func (b *byKey) put(rec record) {
	if !rec.keyed() {
		b.append(rec)
		if rec.typ == ReplacedAll {
			clear(b.open) // what comes now happened after the list
		}
		return
	}
	item := b.open[rec.key]
	if item == nil {
		b.open[rec.key] = b.append(rec)
		return
	}
	b.extend(item, rec)
}

// append puts a new item with one record at the end of the line.
func (b *byKey) append(rec record) *keyedItem {
	var item *keyedItem
	if n := len(b.free); n > 0 {
		item, b.free = b.free[n-1], b.free[:n-1]
	} else {
		item = &keyedItem{}
	}
	item.records = append(item.records, rec)
	b.line.push(item)
	return item
}

// extend adds a record to what waits for its key. Of two deletions in a row the one that knows the object stays.
func (b *byKey) extend(item *keyedItem, rec record) {
	newest := &item.records[len(item.records)-1]
	switch {
	case newest.typ == Deleted && rec.typ == Deleted:
		if _, unknown := newest.object.(DeletedFinalStateUnknown); unknown {
			*newest = rec
		}
		return
	case b.merge && newest.typ != Deleted && rec.typ != Deleted:
		*newest = merged(newest, rec)
		return
	}
	item.records = append(item.records, rec)
	if b.maxHistory > 0 && len(item.records) > b.maxHistory {
		b.compact(item)
	}
}

// compact drops the second record, and of two deletions that meet the older one.
func (b *byKey) compact(item *keyedItem) {
	from := 1
	if item.records[0].typ == Deleted && item.records[2].typ == Deleted {
		from = 0
	}
	before := len(item.records)
	item.records = slices.Delete(item.records, from, 2)
	b.dropped += uint64(before - len(item.records))
}

// merged is what two states of an object in a row say: the newer state, and that there was news if one of them was.
func merged(older *record, newer record) record {
	if older.typ == Added || older.typ == Updated {
		newer.typ = older.typ
	}
	return newer
}

// take removes whole items, so a batch may have more records than the n items that were asked for.
func (b *byKey) take(n int) []record {
	batch := b.batch
	b.batch = nil
	for range n {
		item := *b.line.at(0)
		b.line.drop(1)
		batch = append(batch, item.records...)
		b.close(item)
	}
	return batch
}

// close ends an item that has left the line.
func (b *byKey) close(item *keyedItem) {
	if key := item.records[0].key; b.open[key] == item {
		delete(b.open, key)
	}
	clear(item.records)
	item.records = item.records[:0]
	if len(b.free) < keptRecords && cap(item.records) <= keptHistory {
		b.free = append(b.free, item)
	}
}

// keptHistory is how many records the memory of an item may have room for and still be kept.
const keptHistory = 8

func (b *byKey) recycle(batch []record) {
	clear(batch)
	if cap(batch) <= keptRecords && cap(batch) > cap(b.batch) {
		b.batch = batch[:0]
	}
}

// waiting returns what waits for the key, oldest first; the slice stays the order's. Items before the last list are left
// out: that list has superseded them.
func (b *byKey) waiting(key string) []record {
	if item := b.open[key]; item != nil {
		return item.records
	}
	return nil
}
