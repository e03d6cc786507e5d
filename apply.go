// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"sync"

	"github.com/kinformer/cache/internal/table"
)

// applier brings the store of an informer up to date, batch by batch, and returns what that means to
// handlers. It has one user at a time: the consumer of the informer's queue.
type applier struct {
	contents *contents
	progress progress

	received receivedVersions // of the stored objects

	*batchMemory             // between apply and done
	own          batchMemory // for batches up to ownBatch
}

// batchMemory is what the work on one batch needs and nobody keeps. For larger batches informers
// share it, so that idle ones hold little.
type batchMemory struct {
	operations []table.Op // empty between two runs
	changes    []change
	complete   bool // apply has returned: nothing else is left in the memory
}

var spareMemory = sync.Pool{New: func() any { return new(batchMemory) }}

func newApplier(c *contents) *applier {
	return &applier{contents: c, received: receivedVersions{}}
}

// apply applies the batch to the store and returns the notifications for it, in order. Each run of
// events of the watch is one transaction, so that readers see it at once. The notifications are the
// caller's until the next call of done.
func (a *applier) apply(batch []record, isInInitialList bool) []change {
	a.begin(batch)
	a.progress.expect(batch)
	changes := a.changes[:0]
	for rest := batch; len(rest) > 0; {
		if n := eventRun(rest); n > 0 {
			changes, _ = a.commit(changes, rest[:n], isInInitialList, true)
			rest = rest[n:]
			continue
		}
		switch rec := &rest[0]; rec.typ {
		case ReplacedAll:
			changes = a.replaceAll(changes, rec, isInInitialList)
		case SyncAll:
			changes = a.syncAll(changes)
		}
		rest = rest[1:]
	}
	a.changes, a.complete = changes, true
	a.progress.note(batch)
	return changes
}

// tryApply is apply for events of the watch, and for a caller who must not wait for other writers of
// the store. Where it would have to it returns false, and has done nothing.
func (a *applier) tryApply(batch []record, isInInitialList bool) (changes []change, ok bool) {
	a.begin(batch)
	a.progress.expect(batch)
	changes = a.changes[:0]
	if eventRun(batch) == len(batch) {
		changes, ok = a.commit(changes, batch, isInInitialList, false)
	}
	a.changes, a.complete = changes, true
	if ok {
		a.progress.note(batch)
	}
	return changes, ok
}

func (a *applier) begin(batch []record) {
	if a.batchMemory = &a.own; len(batch) > ownBatch {
		a.batchMemory = spareMemory.Get().(*batchMemory)
	}
	a.complete = false
}

// done lets go of the last batch. It does nothing if there is none.
func (a *applier) done() {
	memory := a.batchMemory
	if memory == nil {
		return
	}
	a.batchMemory = nil
	clear(memory.changes)
	memory.changes = memory.changes[:0]
	switch size := max(cap(memory.changes), cap(memory.operations)); {
	case memory != &a.own && size <= keptBatch && memory.complete:
		spareMemory.Put(memory)
	case size > 2*ownBatch || !memory.complete: // a list has grown it, or a panic has left objects in it
		*memory = batchMemory{}
	}
}

// ownBatch is how long the batches are for which an applier has its own memory, at most 5 KiB.
const ownBatch = 16

// keptBatch is how long a batch may be for its memory to be used again: 150 KiB. A reflector hands
// over at most drainLimit records at once, but more may wait in the queue.
const keptBatch = 4 * drainLimit

// eventRun returns how many records at the front are about one object each, or a bookmark.
func eventRun(batch []record) int {
	for i := range batch {
		if !batch[i].keyed() && batch[i].typ != Bookmark {
			return i
		}
	}
	return len(batch)
}

// commit makes one transaction of a run of events, and adds what it means to changes. If it may not
// wait and would have to, it does nothing and returns false.
func (a *applier) commit(changes []change, run []record, isInInitialList, mayWait bool) (_ []change, done bool) {
	operations := operationsOf(a.operations, run)
	advance := func(held string) string { return versionAfterRun(held, run) }
	began := a.contents.pace.start()
	if done = true; mayWait {
		a.contents.apply(operations, advance)
	} else {
		done = a.contents.tryApply(operations, advance)
	}
	if done {
		a.contents.pace.end(began, len(operations))
		changes = a.addChanges(changes, run, operations, isInInitialList)
	}
	clear(operations)
	a.operations = operations
	return changes, done
}

// operationsOf makes an operation of each record about an object, in that memory.
func operationsOf(memory []table.Op, run []record) []table.Op {
	operations := slices.Grow(memory[:0], len(run))
	for i := range run {
		switch rec := &run[i]; rec.typ {
		case Bookmark:
		case Deleted:
			operations = append(operations, table.Op{Key: rec.key, Delete: true})
		default:
			operations = append(operations, table.Op{Key: rec.key, Object: rec.object})
		}
	}
	return operations
}

// addChanges adds what the records mean for which the operations were made.
func (a *applier) addChanges(changes []change, run []record, operations []table.Op, isInInitialList bool) []change {
	changes = slices.Grow(changes, len(operations))
	for i := range run {
		if run[i].typ != Bookmark {
			changes = append(changes, a.changeFor(&run[i], operations[0].Old, isInInitialList))
			operations = operations[1:]
		}
	}
	return changes
}

// versionAfterRun moves the store's version on by the versions received. Tombstones and resyncs
// carry none.
func versionAfterRun(held string, run []record) string {
	for i := range run {
		rec := &run[i]
		if _, isTombstone := rec.object.(DeletedFinalStateUnknown); isTombstone || rec.typ == Sync {
			continue
		}
		held = laterVersion(held, rec.version)
	}
	return held
}

// changeFor returns what a record means now that it has replaced old in the store.
func (a *applier) changeFor(rec *record, old any, isInInitialList bool) change {
	if rec.typ == Deleted {
		delete(a.received, rec.key)
		return change{kind: changeDelete, key: rec.key, old: rec.object}
	}
	before := a.received.of(rec.key, old)
	if rec.transformed || len(a.received) > 0 {
		a.received.note(rec.key, rec.version, rec.object)
	}
	if old == nil {
		return change{kind: changeAdd, key: rec.key, new: rec.object, initial: isInInitialList}
	}
	return change{kind: changeUpdate, key: rec.key, old: old, new: rec.object, resync: isResync(rec.typ, before, rec.version)}
}

// isResync reports whether an update says nothing new. Objects of the watch without a version (fake
// clientsets send them) cannot be told apart, so they count as new.
func isResync(typ DeltaType, before, after string) bool {
	switch typ {
	case Sync:
		return true
	case Replaced, ReplacedAll:
		return before == after
	default:
		return before == after && after != ""
	}
}

// receivedVersions holds the resourceVersion as the server sent it of objects in which a transform
// has changed it. What a resync is and what version the store is at is decided on the received one.
type receivedVersions map[string]string

// of returns the version with which an object came from the server.
func (r receivedVersions) of(key string, obj any) string {
	if version, altered := r[key]; altered {
		return version
	}
	version, _ := objectVersion(obj)
	return version
}

// note remembers the received version of an object if the object does not show it any more.
func (r receivedVersions) note(key, version string, obj any) {
	if visible, _ := objectVersion(obj); visible != version {
		r[key] = version
	} else if len(r) > 0 {
		delete(r, key)
	}
}

// syncAll adds a resync of every stored object, as one bulk record.
func (a *applier) syncAll(changes []change) []change {
	stored := storedSnapshot(a.contents.table.Snapshot())
	if stored.len() == 0 {
		return changes
	}
	return append(changes, change{kind: changeUpdate, many: stored, resync: true})
}
