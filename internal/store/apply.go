// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
)

// Applier brings the store of an informer up to date, batch by batch, and returns what that means
// to handlers. It has one user at a time: the consumer of the informer's queue.
//
//  1. Each run of events of the watch becomes one transaction: an operation for each record, and
//     the version that the store has then.
//  2. The table applies it, seen by readers all at once, and fills in what each one replaced.
//  3. What was replaced makes a record an Add, an Update or a Delete.
//
// A whole state takes the place of the former one (replace.go), and a resync is one bulk record.
type Applier struct {
	contents *Contents
	Progress Progress
	vouched  bool // the server vouches for the store's version, and so says Progress

	Received Received // of the stored objects

	sharing sharing // nil: all records are of one source

	*batchMemory             // between Apply and Done
	own          batchMemory // for batches up to ownBatch
}

// batchMemory is what the work on one batch needs and nobody keeps. For larger batches informers
// share it, so that idle ones hold little.
type batchMemory struct {
	operations []table.Op // empty between two runs
	changes    []event.Change
	complete   bool // Apply has returned: nothing else is left in the memory
}

var spareMemory = sync.Pool{New: func() any { return new(batchMemory) }}

// NewApplier returns the applier of a store.
func NewApplier(c *Contents) *Applier { return &Applier{contents: c, Received: Received{}} }

// Apply applies the batch to the store and returns the notifications for it, in order. Each run of
// events of the watch is one transaction, so that readers see it at once. The notifications are the
// caller's until the next call of Done.
func (a *Applier) Apply(batch []event.Record, isInInitialList bool) []event.Change {
	vouched := a.begin(batch)
	changes := a.changes[:0]
	for rest := batch; len(rest) > 0; {
		if n := eventRun(rest); n > 0 {
			if a.sharing != nil {
				changes, n = a.share(changes, rest[:n])
			} else {
				changes, _ = a.commit(changes, rest[:n], isInInitialList, true)
			}
			rest = rest[n:]
			continue
		}
		switch rec := &rest[0]; rec.Type {
		case clientgo.ReplacedAll:
			changes = rec.State.(wholeState).replaceIn(a, changes, rec.Version, isInInitialList)
		case clientgo.SyncAll:
			changes = a.SyncAll(changes)
		}
		rest = rest[1:]
	}
	a.end(changes, vouched)
	return changes
}

// wholeState is the State of a ReplacedAll.
type wholeState interface {
	// replaceIn makes it all that the store has, and adds what that means to changes.
	replaceIn(a *Applier, changes []event.Change, version string, isInInitialList bool) []event.Change
}

// sharing is what several sources of one store have of it.
type sharing interface {
	// admit moves the records to the front of the run that change the store. It returns them, and of
	// how many this is the first transaction; the others are for another call.
	admit(run []event.Record) (admitted []event.Record, of int)
	// publish shows the versions of the sources after the transaction.
	publish()
	// done tells those who wait for a state that the handlers have it.
	done()
}

// share brings events at the front of a run of several sources into the store, and returns of how
// many these are.
func (a *Applier) share(changes []event.Change, run []event.Record) (_ []event.Change, applied int) {
	admitted, applied := a.sharing.admit(run)
	changes, _ = a.commit(changes, admitted, false, true)
	a.sharing.publish()
	return changes, applied
}

// TryApply is Apply for events of the watch, and for a caller who must not wait for other writers
// of the store, nor for slow index functions. Where it would have to it returns false, and has
// applied nothing.
func (a *Applier) TryApply(batch []event.Record, isInInitialList bool) (changes []event.Change, ok bool) {
	if a.sharing != nil || !a.contents.AllowsReader(len(batch)) || eventRun(batch) < len(batch) {
		return nil, false
	}
	vouched := a.begin(batch)
	changes, ok = a.commit(a.changes[:0], batch, isInInitialList, false)
	if ok {
		a.end(changes, vouched)
	}
	a.complete = true
	return changes, ok
}

// begin makes memory ready for the batch. It returns whether the server vouches for the version
// that the store has after it. A version in between, for which the server does not, is of no use to
// those who wait for one: Progress says so before.
func (a *Applier) begin(batch []event.Record) (vouched bool) {
	if a.batchMemory = &a.own; len(batch) > ownBatch {
		a.batchMemory = spareMemory.Get().(*batchMemory)
	}
	a.complete = false
	if vouched = a.vouched; a.sharing != nil {
		return false // each source has a version of its own
	}
	for i := range batch {
		switch rec := &batch[i]; rec.Type { // Added events may come in any order, and say nothing
		case clientgo.ReplacedAll, clientgo.Bookmark, clientgo.Updated, clientgo.Deleted:
			if vouched = rec.Version != "" && rec.Version != "0"; !vouched && a.vouched {
				a.turn()
			}
		}
	}
	return vouched
}

// end keeps what was made for Done, and tells those who wait for a version.
func (a *Applier) end(changes []event.Change, vouched bool) {
	a.changes, a.complete = changes, true
	if vouched != a.vouched {
		a.turn()
	}
	if a.Progress.waiting.Load() > 0 {
		a.Progress.wake()
	}
}

// turn notes that the server begins or ceases to vouch for the store's version.
func (a *Applier) turn() {
	a.vouched = !a.vouched
	a.Progress.era.Add(1)
}

// Done lets go of the last batch, which the handlers have been given. It does nothing if there is
// none.
func (a *Applier) Done() {
	memory := a.batchMemory
	if memory == nil {
		return
	}
	if a.sharing != nil {
		a.sharing.done()
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
// over at most BatchLimit records at once, but more may wait in the queue.
const keptBatch = 4 * event.BatchLimit

// eventRun returns how many records at the front are about one object each, or a bookmark.
func eventRun(batch []event.Record) int {
	for i := range batch {
		if !batch[i].Keyed() && batch[i].Type != clientgo.Bookmark {
			return i
		}
	}
	return len(batch)
}

// commit makes one transaction of a run of events, and adds what it means to changes. If it may not
// wait and would have to, it does nothing and returns false.
func (a *Applier) commit(changes []event.Change, run []event.Record, isInInitialList, mayWait bool) (_ []event.Change, done bool) {
	operations := operationsOf(a.operations, run)
	advance := func(held string) string {
		if a.sharing != nil {
			return held
		}
		return versionAfterRun(held, run)
	}
	pace, began := a.contents.pace.Load(), time.Time{}
	if pace != nil {
		began = time.Now()
	}
	if done = true; mayWait {
		a.contents.Table.Apply(operations, advance)
	} else {
		done = a.contents.Table.TryApply(operations, advance)
	}
	if done {
		if pace != nil {
			pace.note(len(operations), time.Since(began), 0)
		}
		a.contents.publishVersion()
		changes = a.addChanges(changes, run, operations, isInInitialList)
	}
	clear(operations)
	a.operations = operations
	return changes, done
}

// operationsOf makes an operation of each record about an object, in that memory.
func operationsOf(memory []table.Op, run []event.Record) []table.Op {
	operations := slices.Grow(memory[:0], len(run))
	for i := range run {
		switch rec := &run[i]; rec.Type {
		case clientgo.Bookmark:
		case clientgo.Deleted:
			operations = append(operations, table.Op{Key: rec.Key, Delete: true})
		default:
			operations = append(operations, table.Op{Key: rec.Key, Object: rec.Object})
		}
	}
	return operations
}

// addChanges adds what the records mean for which the operations were made. A deletion whose last
// state was refused means nothing where nothing was cached.
func (a *Applier) addChanges(changes []event.Change, run []event.Record, operations []table.Op, isInInitialList bool) []event.Change {
	changes = slices.Grow(changes, len(operations))
	for i := range run {
		if run[i].Type == clientgo.Bookmark {
			continue
		}
		if op := &operations[0]; op.Had || !run[i].Lost() {
			changes = append(changes, a.changeFor(&run[i], op.Old, isInInitialList))
		}
		operations = operations[1:]
	}
	return changes
}

// versionAfterRun moves the store's version on by the versions received. Tombstones and resyncs
// carry none.
func versionAfterRun(held string, run []event.Record) string {
	for i := range run {
		rec := &run[i]
		if _, isTombstone := rec.Object.(clientgo.DeletedFinalStateUnknown); isTombstone && !rec.Lost() || rec.Type == clientgo.Sync {
			continue
		}
		held = event.LaterVersion(held, rec.Version)
	}
	return held
}

// changeFor returns what a record means now that it has replaced old in the store.
func (a *Applier) changeFor(rec *event.Record, old any, isInInitialList bool) event.Change {
	c := a.meaningOf(rec, old, isInInitialList)
	c.Cause = causeOf(rec, c.Initial)
	if session := sessionOf(rec); session != nil {
		c.Source = &session.Name
	}
	return c
}

// causeOf returns why a record about an object came. Tombstones and Replaced are of lists.
func causeOf(rec *event.Record, initial bool) event.Cause {
	_, isTombstone := rec.Object.(clientgo.DeletedFinalStateUnknown)
	switch {
	case initial:
		return event.CauseInitial
	case rec.Type == clientgo.Sync:
		return event.CauseResync
	case rec.Type == clientgo.Replaced, isTombstone && !rec.Lost():
		return event.CauseRelist
	default:
		return event.CauseWatch
	}
}

// meaningOf is changeFor without what says where the change came from.
func (a *Applier) meaningOf(rec *event.Record, old any, isInInitialList bool) event.Change {
	if rec.Type == clientgo.Deleted {
		delete(a.Received, rec.Key)
		last := rec.Object
		if rec.Lost() {
			last = clientgo.DeletedFinalStateUnknown{Key: rec.Key, Obj: old}
		}
		return event.Change{Kind: event.ChangeDelete, Key: rec.Key, Old: last}
	}
	before := a.Received.of(rec.Key, old)
	a.Received.note(rec.Key, rec.Altered)
	if old == nil {
		return event.Change{Kind: event.ChangeAdd, Key: rec.Key, New: rec.Object, Initial: isInInitialList}
	}
	return event.Change{Kind: event.ChangeUpdate, Key: rec.Key, Old: old, New: rec.Object, Resync: isResync(rec.Type, before, rec.Version)}
}

// isResync reports whether an update says nothing new. Objects of the watch without a version (fake
// clientsets send them) cannot be told apart, so they count as new.
func isResync(typ clientgo.DeltaType, before, after string) bool {
	switch typ {
	case clientgo.Sync:
		return true
	case clientgo.Replaced, clientgo.ReplacedAll:
		return before == after
	default:
		return before == after && after != ""
	}
}

// Received holds what the server said of objects in which a transform has changed that, and so
// costs nothing where none does. What a resync is and what version the store is at is decided on
// the received version, and by both an audit knows what it finds on the server.
type Received map[string]event.Origin

// of returns the version with which an object came from the server.
func (r Received) of(key string, obj any) string {
	if origin, altered := r[key]; altered {
		return origin.Version
	}
	version, _ := event.VersionOf(obj)
	return version
}

// Origin is of with the UID.
func (r Received) Origin(key string, obj any) event.Origin {
	if origin, altered := r[key]; altered {
		return origin
	}
	return event.OriginOf(obj)
}

// note remembers what the server said of an object, if that does not show it any more; nil: it
// does.
func (r Received) note(key string, altered *event.Origin) {
	if altered != nil {
		r[key] = *altered
	} else if len(r) > 0 {
		delete(r, key)
	}
}

// SyncAll adds a resync of every stored object, as one bulk record.
func (a *Applier) SyncAll(changes []event.Change) []event.Change {
	stored := event.StoredSnapshot(a.contents.Table.Snapshot())
	if stored.Len() == 0 {
		return changes
	}
	return append(changes, event.Change{Kind: event.ChangeUpdate, Many: stored, Resync: true, Cause: event.CauseResync})
}
