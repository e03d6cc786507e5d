// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
)

// DeltaFIFO is a Queue that collects per object what happened to it since it was last popped: Pop hands out the Deltas of
// one object, oldest first, and objects come in the order in which their first waiting Delta arrived.
//
// A Replace adds a Deleted delta with a DeletedFinalStateUnknown for every object that the list lacks, whether it is among
// the known objects or only in the queue. Two deletions in a row become one.
//
// All methods are safe for use by any number of goroutines. A DeltaFIFO must be made by a constructor.
type DeltaFIFO struct {
	queueCore
	logger       klog.Logger
	known        KeyListerGetter
	transform    TransformFunc
	replacedType DeltaType // how the objects of a Replace are marked: Replaced or Sync

	items map[string]Deltas // by key, never empty; guarded by mu
	order []string          // the keys of items, in order of arrival; guarded by mu
}

var (
	_ Queue             = (*DeltaFIFO)(nil)
	_ TransformingStore = (*DeltaFIFO)(nil)
	_ DoneChecker       = (*DeltaFIFO)(nil)
)

// NewDeltaFIFO returns an empty DeltaFIFO with these two options.
//
// Deprecated: use NewDeltaFIFOWithOptions, which has them all.
func NewDeltaFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter) *DeltaFIFO {
	return NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects})
}

// NewDeltaFIFOWithOptions returns an empty DeltaFIFO. All options may be zero: the key is then namespace/name, and without
// KnownObjects deletions are only noticed for objects in the queue.
func NewDeltaFIFOWithOptions(opts DeltaFIFOOptions) *DeltaFIFO {
	f := &DeltaFIFO{
		known:        opts.KnownObjects,
		transform:    opts.Transformer,
		replacedType: Sync,
		items:        map[string]Deltas{},
	}
	if opts.EmitDeltaTypeReplaced {
		f.replacedType = Replaced
	}
	f.init(firstOf(opts.Name, "DeltaFIFO"), opts.KeyFunction)
	f.logger = queueLogger(opts.Logger, f.name)
	return f
}

// firstOf returns the first name that is not empty.
func firstOf(names ...string) string {
	for _, name := range names {
		if name != "" {
			return name
		}
	}
	return ""
}

func queueLogger(given *klog.Logger, name string) klog.Logger {
	if given == nil {
		return klog.LoggerWithName(klog.Background(), name)
	}
	return klog.LoggerWithName(*given, name)
}

// KeyOf returns the key of an object, a Delta, Deltas (of their newest object) or a DeletedFinalStateUnknown. Its error is
// a KeyError.
func (f *DeltaFIFO) KeyOf(obj interface{}) (string, error) { return f.keyOf(obj) }

// Transformer returns the function that every object passes on its way in, or nil.
func (f *DeltaFIFO) Transformer() TransformFunc { return f.transform }

// Add queues an Added delta. Errors: KeyError, or what the transformer returned; nothing is queued then.
func (f *DeltaFIFO) Add(obj interface{}) error { return f.put(Added, obj) }

// Update queues an Updated delta. Errors as for Add.
func (f *DeltaFIFO) Update(obj interface{}) error { return f.put(Updated, obj) }

// Delete queues a Deleted delta, unless neither the queue nor the known objects have the object. Errors as for Add.
func (f *DeltaFIFO) Delete(obj interface{}) error { return f.put(Deleted, obj) }

func (f *DeltaFIFO) put(typ DeltaType, obj any) error {
	key, err := f.keyOf(obj)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.populateLocked()
	if err != nil {
		return err
	}
	if typ == Deleted && !f.existsLocked(key) {
		return nil
	}
	if obj, err = transformed(f.transform, obj); err != nil {
		return err
	}
	f.appendLocked(key, Delta{Type: typ, Object: obj})
	return nil
}

// existsLocked tells whether there is anything to delete. A failing lookup counts as yes.
func (f *DeltaFIFO) existsLocked(key string) bool {
	if _, queued := f.items[key]; queued {
		return true
	}
	if f.known == nil {
		return false
	}
	_, known, err := f.known.GetByKey(key)
	return known || err != nil
}

func (f *DeltaFIFO) appendLocked(key string, delta Delta) {
	deltas, queued := f.items[key]
	if !queued {
		f.order = append(f.order, key)
	}
	f.items[key] = withDelta(deltas, delta)
	f.mu.arrival.Broadcast()
}

// withDelta appends delta, except that of two deletions in a row the one that knows the object stays.
func withDelta(deltas Deltas, delta Delta) Deltas {
	newest := deltas.Newest()
	if newest == nil || newest.Type != Deleted || delta.Type != Deleted {
		return append(deltas, delta)
	}
	if _, unknown := newest.Object.(DeletedFinalStateUnknown); unknown {
		*newest = delta
	}
	return deltas
}

// Pop waits for an object and calls process with its Deltas while the queue is locked: process must not call the queue. It
// returns the Deltas, which belong to the caller, and what process returned, or ErrFIFOClosed when the queue is closed and
// empty. What fails in process is not queued again.
func (f *DeltaFIFO) Pop(process PopProcessFunc) (interface{}, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.awaitLocked(func() int { return len(f.order) }); err != nil {
		return nil, err
	}
	isInInitialList := !f.HasSynced()
	key := f.order[0]
	f.order = f.order[1:]
	deltas := f.items[key]
	delete(f.items, key)
	f.throughLocked(1)

	defer traceSlowPop("DeltaFIFO Pop Process", key, len(f.order), 1)()
	return deltas, process(deltas, isInInitialList)
}

// Replace queues a delta for each object of the list, then a deletion for each other object that is queued or known. An
// object without a key fails the call before anything is queued; a failing transformer fails it in the middle. The queue
// keeps no resourceVersion.
func (f *DeltaFIFO) Replace(list []interface{}, _ string) error {
	keys, err := f.replacedKeys(list)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, obj := range list {
		if obj, err = transformed(f.transform, obj); err != nil {
			return fmt.Errorf("couldn't enqueue object: %w", err)
		}
		f.appendLocked(keys[i], Delta{Type: f.replacedType, Object: obj})
	}
	listed := sets.New(keys...)
	deletions := f.deleteUnlistedLocked(listed)
	f.populateInitialLocked(listed.Len() + deletions)
	return nil
}

// deleteUnlistedLocked queues deletions for the objects that a list lacks, and returns how many it found.
func (f *DeltaFIFO) deleteUnlistedLocked(listed sets.Set[string]) (found int) {
	queued := sets.KeySet(f.items)
	for key := range queued.Difference(listed) {
		found++
		f.appendLocked(key, Delta{Type: Deleted, Object: lastQueued(key, f.items[key])})
	}
	if f.known == nil {
		return found
	}
	for _, key := range f.known.ListKeys() {
		if listed.Has(key) || queued.Has(key) {
			continue
		}
		found++
		f.appendLocked(key, Delta{Type: Deleted, Object: tombstoneFor(f.logger, f.known, key)})
	}
	return found
}

// lastQueued makes the tombstone of an object whose last state is in the queue.
func lastQueued(key string, deltas Deltas) DeletedFinalStateUnknown {
	last := deltas.Newest().Object
	if tombstone, ok := last.(DeletedFinalStateUnknown); ok {
		last = tombstone.Obj
	}
	return DeletedFinalStateUnknown{Key: key, Obj: last}
}

// Resync queues a Sync delta for each known object that nothing is queued for. It does nothing without known objects.
func (f *DeltaFIFO) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		return nil
	}
	for _, key := range f.known.ListKeys() {
		if _, queued := f.items[key]; queued {
			continue
		}
		if obj, ok := knownForSync(f.logger, f.known, key); ok {
			f.appendLocked(key, Delta{Type: Sync, Object: obj})
		}
	}
	return nil
}

// knownForSync looks up a known object for a resync. One that cannot be had is left out, with a line in the log.
func knownForSync(logger klog.Logger, known KeyListerGetter, key string) (obj any, ok bool) {
	obj, exists, err := known.GetByKey(key)
	if err != nil {
		utilruntime.HandleErrorWithLogger(logger, err, "Object left out of a resync: lookup failed", "key", key)
		return nil, false
	}
	if !exists {
		logger.Info("Object left out of a resync: gone from the known objects", "key", key)
	}
	return obj, exists
}
