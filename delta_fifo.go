// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/switched"
)

// DeltaFIFO is a Queue that collects the changes of each object since its last Pop. Pop returns the
// Deltas of one object, oldest first. Objects are popped in the order in which their first pending Delta
// arrived.
//
// A Replace adds a Deleted delta with a DeletedFinalStateUnknown for every object that the list
// lacks, whether it is among the known objects or only in the queue. Two deletions in a row become
// one.
//
// All methods are safe for use by any number of goroutines. A DeltaFIFO must be made by a
// constructor.
type DeltaFIFO struct {
	queueHolder
	queueLife
	queue        *queue.Queue
	byKey        *queue.ByKey // the queue's order; guarded by its lock
	replacedType DeltaType    // how the objects of a Replace are marked: Replaced or Sync
}

var (
	_ Queue             = (*DeltaFIFO)(nil)
	_ TransformingStore = (*DeltaFIFO)(nil)
	_ DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFO returns an empty DeltaFIFO with these two options.
//
// Deprecated: use NewDeltaFIFOWithOptions, which has all options.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects})
}

// NewDeltaFIFOWithOptions returns an empty DeltaFIFO. All options may be zero: the key is then
// namespace/name, and without KnownObjects deletions are only noticed for objects in the queue.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	switched.StaysQueue()
	f := &DeltaFIFO{byKey: queue.NewByKey(), replacedType: Sync}
	if opts.EmitDeltaTypeReplaced {
		f.replacedType = Replaced
	}
	f.queue = queue.New(queue.Options{
		Name: cmp.Or(opts.Name, "DeltaFIFO"), Logger: opts.Logger,
		KeyFunc: opts.KeyFunction, UsualKey: isMetaNamespaceKeyFunc(opts.KeyFunction), Opens: event.OpensTombstones,
		Known: opts.KnownObjects, Transform: opts.Transformer, Order: f.byKey, Admits: f.admitsLocked,
		Early: true, // as in client-go: the process function of the last item sees HasSynced
	})
	f.queueHolder, f.queueLife = door.NewHolder(f.queue), f.queue.Life
	return f
}

// KeyOf returns the key of an object, of the newest object of Deltas, or of a DeletedFinalStateUnknown.
// It returns the error of the key function, or a KeyError for empty Deltas.
func (f *DeltaFIFO) KeyOf(obj interface{}) (string, error) {
	return f.queue.Reader.Keys.Read(obj, false)
}

// Transformer returns the function that transforms objects before they are queued, or nil.
func (f *DeltaFIFO) Transformer() TransformFunc { return f.queue.Reader.Transform.Function }

// Add queues an Added delta. It returns a KeyError, or the transformer's error, in which case nothing is
// queued.
func (f *DeltaFIFO) Add(obj interface{}) error { return f.queue.Put(Added, obj) }

// Update queues an Updated delta. Errors as for Add.
func (f *DeltaFIFO) Update(obj interface{}) error { return f.queue.Put(Updated, obj) }

// Delete queues a Deleted delta if the queue or the known objects have the object. It returns the same
// errors as Add, but only for such an object. HasSynced does not count an object without a key.
//
// If the transformer fails for a deletion, the reflectors of this package still queue it, as a
// DeletedFinalStateUnknown with the queued or known object.
func (f *DeltaFIFO) Delete(obj interface{}) error { return f.queue.PutKeyed(Deleted, obj) }

// admitsLocked reports whether a change may be queued: a deletion only of a known object. An object whose
// lookup fails counts as known.
func (f *DeltaFIFO) admitsLocked(typ DeltaType, key string) bool {
	if typ != Deleted || f.byKey.Open[key] != nil {
		return true
	}
	if f.queue.Known == nil {
		return false
	}
	_, known, err := f.queue.Known.GetByKey(key)
	return known || err != nil
}

// Pop waits for an object and calls process with its Deltas while the queue is locked: process must
// not call the queue. It returns the Deltas, which belong to the caller, and the error of process,
// or ErrFIFOClosed when the queue is closed and empty. Pop does not queue failed Deltas again.
func (f *DeltaFIFO) Pop(process PopProcessFunc) (interface{}, error) {
	return f.queue.PopDeltas(process)
}

// Replace queues a delta for each object of the list, then a deletion for each other object that is
// queued or known. If an object has no key or cannot be transformed, Replace returns the error and queues
// nothing. The queue keeps no resourceVersion.
func (f *DeltaFIFO) Replace(list []interface{}, _ string) error {
	listed, err := f.queue.NewReplacement(list)
	if err != nil {
		return err
	}
	f.queue.Mu.Lock()
	defer f.queue.Mu.Unlock()
	keys := listed.Names()
	deletions := f.unlistedLocked(keys)
	for i, key := range listed.Keys {
		f.queue.AppendLocked(event.Record{
			Type: f.replacedType, Key: key, Version: listed.Versions[i], Object: listed.Objects[i],
		})
	}
	for i := range deletions {
		f.byKey.Put(deletions[i]) // whether or not the object can still be had
	}
	f.queue.AnnounceLocked()
	f.queue.PopulateInitialLocked(keys.Len() + len(deletions))
	return nil
}

// unlistedLocked returns deletions for the objects that a list lacks.
func (f *DeltaFIFO) unlistedLocked(listed sets.Set[string]) (deletions []event.Record) {
	for key, records := range f.byKey.Open {
		if !listed.Has(key) {
			last := records[len(records)-1].LastState()
			deletions = append(deletions, queue.DeletionOf(DeletedFinalStateUnknown{Key: key, Obj: last}))
		}
	}
	if f.queue.Known == nil {
		return deletions
	}
	for _, key := range f.queue.Known.ListKeys() {
		if !listed.Has(key) && f.byKey.Open[key] == nil {
			deletions = append(deletions, f.queue.Tombstone(key))
		}
	}
	return deletions
}

// Resync queues a Sync delta for each known object without queued changes, until one has no key: it returns
// that KeyError. It does nothing without known objects.
func (f *DeltaFIFO) Resync() error {
	f.queue.Mu.Lock()
	defer f.queue.Mu.Unlock()
	return f.queue.ResyncKnownLocked(func(key string) bool { return f.byKey.Open[key] != nil })
}
