// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"
	"sync"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
)

// Applier applies batches of records to the store of an informer, and returns the resulting
// notifications for handlers. It has one user at a time: the consumer of the informer's queue.
//
//  1. Each run of events of the watch becomes one transaction: an operation for each record, and
//     the resulting version of the store.
//  2. The table applies it, as one state for readers, and returns the object that each operation
//     has replaced.
//  3. The replaced object determines whether a record is an Add, an Update or a Delete.
//
// A full list replaces the whole content (replace.go), and a resync is one bulk record.
type Applier struct {
	Contents *Contents
	Progress Progress
	Received Received // versions and UIDs of the stored objects
	Sharing  Sharing  // nil if all records are of one source

	*batchMemory             // set between Apply and Done
	own          batchMemory // for batches up to ownBatch
}

// batchMemory is scratch memory for one batch. For larger batches informers share it, so that idle
// ones hold little.
type batchMemory struct {
	operations []table.Op // empty between two runs
	changes    []event.Change
	complete   bool // Apply has returned, so the memory holds nothing else
}

var spareMemory = sync.Pool{New: func() any { return new(batchMemory) }}

// NewApplier returns the applier of a store.
func NewApplier(c *Contents) *Applier { return &Applier{Contents: c, Received: Received{}} }

// Apply applies the batch to the store and returns the resulting notifications, in order. Each run
// of events of the watch is one transaction, visible to readers as one state. The caller may use
// the notifications until it calls Done.
func (a *Applier) Apply(batch []event.Record, isInInitialList bool) []event.Change {
	vouched := a.begin(batch)
	changes := a.changes[:0]
	for rest := batch; len(rest) > 0; {
		if n := eventRun(rest); n > 0 {
			if a.Sharing != nil {
				changes, n = a.share(changes, rest[:n])
			} else {
				changes = a.commit(changes, rest[:n], isInInitialList)
			}
			rest = rest[n:]
			continue
		}
		switch rec := &rest[0]; rec.Type {
		case clientgo.ReplacedAll:
			changes = rec.State.(WholeState).ReplaceIn(a, changes, rec.Version, isInInitialList)
		case clientgo.SyncAll:
			changes = a.SyncAll(changes)
		}
		rest = rest[1:]
	}
	a.end(changes, vouched)
	return changes
}

// WholeState is the State of a ReplacedAll.
type WholeState interface {
	// ReplaceIn makes it the whole content of the store, or of a source, and appends the resulting
	// notifications to changes.
	ReplaceIn(a *Applier, changes []event.Change, version string, isInInitialList bool) []event.Change
}

// Sharing is the state of several sources of one store.
type Sharing interface {
	// Admit moves the records that change the store to the front of the run. It returns them, and
	// the number of records in the first transaction; the others need another call.
	Admit(run []event.Record) (admitted []event.Record, of int)
	// Name returns the name of the source of a record.
	Name(rec *event.Record) *string
	// Publish publishes the versions of the sources after the transaction.
	Publish()
	// Done is called when the handlers have received the batch.
	Done()
}

// Part is one of several sources of a store.
type Part interface {
	// State returns the version of the store for the source, and the keys of its objects, with the
	// version of each that other sources have too. The others have "", which stands for the version
	// in the store. vouched is false if the source's server does not vouch for the version.
	State(of Sharing) (version string, own map[string]string, vouched bool)
}

// share applies events at the front of a run of several sources, and returns their number.
func (a *Applier) share(changes []event.Change, run []event.Record) (_ []event.Change, applied int) {
	admitted, applied := a.Sharing.Admit(run)
	changes = a.commit(changes, admitted, false)
	a.Sharing.Publish()
	return changes, applied
}

// begin prepares the memory for the batch. It reports whether the server vouches for the store's
// version after the batch. If the server does not vouch for a version within the batch, Progress is
// changed first, because such a version must not be taken for reached.
func (a *Applier) begin(batch []event.Record) (vouched bool) {
	if a.batchMemory = &a.own; len(batch) > ownBatch {
		a.batchMemory = spareMemory.Get().(*batchMemory)
	}
	a.complete = false
	if vouched = a.Progress.Vouches(); a.Sharing != nil {
		return false // each source has its own version
	}
	for i := range batch {
		switch rec := &batch[i]; rec.Type { // Added events may arrive in any order, and are ignored
		case clientgo.ReplacedAll, clientgo.Bookmark, clientgo.Updated, clientgo.Deleted:
			if vouched = IsVouched(rec.Version); !vouched {
				a.Progress.Vouch(false)
			}
		}
	}
	return vouched
}

// end stores the notifications for Done, and wakes callers that wait for a version.
func (a *Applier) end(changes []event.Change, vouched bool) {
	a.changes, a.complete = changes, true
	a.Progress.Vouch(vouched)
	a.Progress.Wake()
}

// Done releases the last batch, which was passed to the handlers. It does nothing if there is none.
func (a *Applier) Done() {
	memory := a.batchMemory
	if memory == nil {
		return
	}
	if a.Sharing != nil {
		a.Sharing.Done()
	}
	a.batchMemory = nil
	clear(memory.changes)
	memory.changes = memory.changes[:0]
	switch size := max(cap(memory.changes), cap(memory.operations)); {
	case memory != &a.own && size <= maxSpareBatch && memory.complete:
		spareMemory.Put(memory)
	case size > 2*ownBatch || !memory.complete: // a list has grown it, or a panic has left objects in it
		*memory = batchMemory{}
	}
}

// ownBatch is the number of records up to which an applier uses its own memory, at most 5 KiB.
const ownBatch = 16

// maxSpareBatch is the number of records up to which shared memory is reused: 150 KiB. A reflector
// hands over at most BatchLimit records at once, but more may wait in the queue.
const maxSpareBatch = 4 * event.BatchLimit

// eventRun returns the number of records at the front that are bookmarks or about one object each.
func eventRun(batch []event.Record) int {
	for i := range batch {
		if !batch[i].Keyed() && batch[i].Type != clientgo.Bookmark {
			return i
		}
	}
	return len(batch)
}

// commit applies a run of events as one transaction, and appends the resulting notifications to
// changes.
func (a *Applier) commit(changes []event.Change, run []event.Record, isInInitialList bool) []event.Change {
	operations := operationsOf(a.operations, run)
	a.Contents.Apply(operations, func(held string) string {
		if a.Sharing != nil {
			return held
		}
		return versionAfterRun(held, run)
	})
	changes = a.addChanges(changes, run, operations, isInInitialList)
	clear(operations)
	a.operations = operations
	return changes
}

// operationsOf returns an operation for each record about an object, using memory.
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

// addChanges appends the notifications for the records of the operations. A deletion whose last
// state was refused has no notification if the object was not cached.
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

// versionAfterRun returns the store's version after the records. Tombstones and resyncs have no
// version.
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

// changeFor returns the notification for a record that has replaced old in the store.
func (a *Applier) changeFor(rec *event.Record, old any, isInInitialList bool) event.Change {
	c := a.meaningOf(rec, old, isInInitialList)
	c.Cause = causeOf(rec, c.Initial)
	if a.Sharing != nil {
		c.Source = a.Sharing.Name(rec)
	}
	return c
}

// causeOf returns the cause of a record about an object. Tombstones and Replaced records come from
// lists.
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

// meaningOf is changeFor without cause and source.
func (a *Applier) meaningOf(rec *event.Record, old any, isInInitialList bool) event.Change {
	if rec.Type == clientgo.Deleted {
		delete(a.Received, rec.Key)
		last := rec.Object
		if rec.Lost() {
			last = clientgo.DeletedFinalStateUnknown{Key: rec.Key, Obj: old}
		}
		return event.Change{Kind: event.ChangeDelete, Key: rec.Key, Old: last}
	}
	before := a.Received.Version(rec.Key, old)
	a.Received.Note(rec.Key, rec.Altered)
	if old == nil {
		return event.Change{Kind: event.ChangeAdd, Key: rec.Key, New: rec.Object, Initial: isInInitialList}
	}
	return event.Change{Kind: event.ChangeUpdate, Key: rec.Key, Old: old, New: rec.Object, Resync: isResync(rec.Type, before, rec.Version)}
}

// isResync reports whether an update is no change of the server: it comes from the store, or from a list in
// the version of the store. An event of the watch is a change, also in that version, which the program may
// have written into the store.
func isResync(typ clientgo.DeltaType, before, after string) bool {
	switch typ {
	case clientgo.Sync:
		return true
	case clientgo.Replaced, clientgo.ReplacedAll:
		return before == after
	default:
		return false
	}
}

// Received holds the version and UID, as received, of objects in which a transform has changed
// them. It is empty if no transform does. Resyncs and the store's version depend on the received
// version, and an audit compares both with the server's.
type Received map[string]event.Origin

// Version returns the version of an object as received.
func (r Received) Version(key string, obj any) string {
	if origin, altered := r[key]; altered {
		return origin.Version
	}
	version, _ := event.VersionOf(obj)
	return version
}

// Origin returns the version and UID of an object as received.
func (r Received) Origin(key string, obj any) event.Origin {
	if origin, altered := r[key]; altered {
		return origin
	}
	return event.OriginOf(obj)
}

// Note records the origin of an object that no longer shows it. altered is nil if the object does.
func (r Received) Note(key string, altered *event.Origin) {
	if altered != nil {
		r[key] = *altered
	} else if len(r) > 0 {
		delete(r, key)
	}
}

// HasAnother reports whether the stored object of a key is known to be another one than the refused one.
func (a *Applier) HasAnother(key string, refused event.Origin) bool {
	cached, is := a.Contents.Table.Get(key)
	return is && a.Received.Origin(key, cached).IsOfAnother(refused)
}

// SyncAll appends a resync of every stored object, as one bulk record.
func (a *Applier) SyncAll(changes []event.Change) []event.Change {
	stored := event.StoredSnapshot(a.Contents.Table.Snapshot())
	if stored.Len() == 0 {
		return changes
	}
	return append(changes, event.Change{Kind: event.ChangeUpdate, Many: stored, Resync: true, Cause: event.CauseResync})
}
