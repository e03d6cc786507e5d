// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
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
	recordQueue
	byKey        *byKey    // guarded by mu
	replacedType DeltaType // how the objects of a Replace are marked: Replaced or Sync
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
	f := &DeltaFIFO{byKey: newByKey(), replacedType: Sync}
	if opts.EmitDeltaTypeReplaced {
		f.replacedType = Replaced
	}
	f.init(firstOf(opts.Name, "DeltaFIFO"))
	f.reader.keys.init(opts.KeyFunction)
	f.reader.keys.opens = opensTombstones
	f.reader.logger = queueLogger(opts.Logger, f.name)
	f.known, f.reader.transform.function = opts.KnownObjects, opts.Transformer
	f.waiting, f.admits = f.byKey, f.admitsLocked
	f.early = true // as in client-go: the process function of the last item sees HasSynced
	setMetrics(&f.recordQueue, InformerNameAndResource{}, nil)
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

// KeyOf returns the key of an object, of Deltas (of their newest object) or of a DeletedFinalStateUnknown. Its error is that
// of the key function, or a KeyError for Deltas without any.
func (f *DeltaFIFO) KeyOf(obj interface{}) (string, error) { return f.reader.keys.read(obj, false) }

// Transformer returns the function that every object passes on its way in, or nil.
func (f *DeltaFIFO) Transformer() TransformFunc { return f.reader.transform.function }

// Add queues an Added delta. Errors: KeyError, or what the transformer returned; nothing is queued then.
func (f *DeltaFIFO) Add(obj interface{}) error { return f.put(Added, obj) }

// Update queues an Updated delta. Errors as for Add.
func (f *DeltaFIFO) Update(obj interface{}) error { return f.put(Updated, obj) }

// Delete queues a Deleted delta, unless neither the queue nor the known objects have the object. Errors as for Add, and only
// of what would be queued. An object without a key is no write that HasSynced counts.
func (f *DeltaFIFO) Delete(obj interface{}) error {
	if _, err := f.reader.keys.keyOf(obj, false); err != nil {
		return err
	}
	return f.put(Deleted, obj)
}

// admitsLocked keeps out deletions of what nobody knows. A failing lookup counts as known.
func (f *DeltaFIFO) admitsLocked(typ DeltaType, key string) bool {
	if typ != Deleted || f.byKey.waiting(key) != nil {
		return true
	}
	if f.known == nil {
		return false
	}
	_, known, err := f.known.GetByKey(key)
	return known || err != nil
}

// Pop waits for an object and calls process with its Deltas while the queue is locked: process must not call the queue. It
// returns the Deltas, which belong to the caller, and what process returned, or ErrFIFOClosed when the queue is closed and
// empty. What fails in process is not queued again.
func (f *DeltaFIFO) Pop(process PopProcessFunc) (interface{}, error) {
	return f.popDeltas("DeltaFIFO Pop Process", process)
}

// SetMaxHistory bounds what is kept for one object at n deltas, 2 at least: when there are more, those between the oldest
// and the newest ones are dropped, beginning with the second. A deletion among them, and the creation after it, then look
// like an update. 0 or less is no bound, as in the beginning. QueueStats.Compacted counts what was dropped.
func (f *DeltaFIFO) SetMaxHistory(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n > 0 {
		n = max(n, 2)
	}
	f.byKey.maxHistory = max(n, 0)
}

// Replace queues a delta for each object of the list, then a deletion for each other object that is queued or known. An
// object without a key or that cannot be transformed fails the call and nothing is queued. The queue keeps no
// resourceVersion.
func (f *DeltaFIFO) Replace(list []interface{}, _ string) error {
	listed, err := f.newReplacement(list)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	keys := listed.names()
	deletions := f.unlistedLocked(keys)
	for i, key := range listed.keys {
		f.appendLocked(record{typ: f.replacedType, key: key, version: listed.versions[i], object: listed.objects[i]})
	}
	for i := range deletions {
		f.byKey.put(deletions[i]) // whether or not the object can still be had
	}
	f.announceLocked()
	f.populateInitialLocked(keys.Len() + len(deletions))
	return nil
}

// unlistedLocked returns deletions for the objects that a list lacks.
func (f *DeltaFIFO) unlistedLocked(listed sets.Set[string]) (deletions []record) {
	for key, item := range f.byKey.open {
		if !listed.Has(key) {
			last := item.records[len(item.records)-1].lastState()
			deletions = append(deletions, deletionOf(DeletedFinalStateUnknown{Key: key, Obj: last}))
		}
	}
	if f.known == nil {
		return deletions
	}
	for _, key := range f.known.ListKeys() {
		if !listed.Has(key) && f.byKey.waiting(key) == nil {
			deletions = append(deletions, f.tombstone(key))
		}
	}
	return deletions
}

// Resync queues a Sync delta for each known object that nothing is queued for. It does nothing without known objects.
func (f *DeltaFIFO) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		return nil
	}
	for _, key := range f.known.ListKeys() {
		if f.byKey.waiting(key) != nil {
			continue
		}
		if rec, ok := f.syncOf(key); ok {
			f.appendLocked(rec)
		}
	}
	return nil
}
