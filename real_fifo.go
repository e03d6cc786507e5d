// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"fmt"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/provider"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/switched"
)

// RealFIFO is a Queue that returns changes one by one, or in batches, in exactly the order in which
// they were put.
//
// With AtomicEvents a Replace is one ReplacedAll delta and a Resync one SyncAll delta, which the consumer
// resolves against the store. Without AtomicEvents they become one delta for each object, resolved against
// KnownObjects as in a DeltaFIFO.
//
// All methods are safe for use by any number of goroutines. A RealFIFO must be made by a
// constructor.
type RealFIFO struct {
	queueHolder
	queueLife
	queue    *queue.Queue
	arrivals *queue.Arrivals // the queue's order; guarded by its lock
	atomic   bool
}

var (
	_ QueueWithBatch         = (*RealFIFO)(nil)
	_ TransformingStore      = (*RealFIFO)(nil)
	_ ReflectorBookmarkStore = (*RealFIFO)(nil)
	_ DoneChecker            = (*RealFIFO)(nil)
)

// NewRealFIFO returns an empty RealFIFO without atomic events.
//
// Deprecated: use NewRealFIFOWithOptions, which has all options.
func NewRealFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter, transformer TransformFunc) *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{
		KeyFunction: keyFunc, KnownObjects: knownObjects, Transformer: transformer,
	})
}

// NewRealFIFOWithOptions returns an empty RealFIFO. It panics for contradictory options: KnownObjects must
// be nil with AtomicEvents, and set without it; UnlockWhileProcessing and EmitDeltaTypeBookmark need
// AtomicEvents. With UnlockWhileProcessing a reflector of a controller does not read its watch while 2000
// items wait; kinformer.LimitQueue sets another limit.
func NewRealFIFOWithOptions(opts RealFIFOOptions) *RealFIFO {
	if err := refuseRealFIFOOptions(opts); err != nil {
		panic(err)
	}
	switched.StaysQueue()
	f := &RealFIFO{arrivals: &queue.Arrivals{}, atomic: opts.AtomicEvents}
	depth, latency := provider.OfQueue(opts.Identifier, opts.MetricsProvider)
	f.queue = queue.New(queue.Options{
		Name: cmp.Or(opts.Identifier.Name(), opts.Name, "RealFIFO"), Logger: opts.Logger,
		KeyFunc: opts.KeyFunction, UsualKey: isMetaNamespaceKeyFunc(opts.KeyFunction), Opens: event.OpensDeltas,
		Known: opts.KnownObjects, Transform: opts.Transformer, Order: f.arrivals,
		Bookmarks: opts.EmitDeltaTypeBookmark, Unlocked: opts.UnlockWhileProcessing,
		Identifier: opts.Identifier, Depth: depth, Latency: latency,
	})
	if opts.UnlockWhileProcessing {
		f.queue.SetLimit(queue.UnlockedLimit)
	}
	f.queueHolder, f.queueLife = door.NewHolder(f.queue), f.queue.Life
	return f
}

func refuseRealFIFOOptions(opts RealFIFOOptions) error {
	switch {
	case opts.AtomicEvents && opts.KnownObjects != nil:
		return fmt.Errorf("RealFIFO: KnownObjects must be nil with AtomicEvents")
	case opts.AtomicEvents:
		return nil
	case opts.KnownObjects == nil:
		return fmt.Errorf("RealFIFO: KnownObjects must be set without AtomicEvents")
	case opts.UnlockWhileProcessing:
		return fmt.Errorf("RealFIFO: UnlockWhileProcessing needs AtomicEvents")
	case opts.EmitDeltaTypeBookmark:
		return fmt.Errorf("RealFIFO: EmitDeltaTypeBookmark needs AtomicEvents")
	}
	return nil
}

// Transformer returns the function that transforms objects before they are queued, or nil.
func (f *RealFIFO) Transformer() TransformFunc { return f.queue.Reader.Transform.Function }

// Add queues an Added delta. It returns a KeyError, or the transformer's error, in which case nothing is
// queued.
func (f *RealFIFO) Add(obj interface{}) error { return f.queue.Put(Added, obj) }

// Update queues an Updated delta. Errors as for Add.
func (f *RealFIFO) Update(obj interface{}) error { return f.queue.Put(Updated, obj) }

// Delete queues a Deleted delta, whether or not the object is known. Errors as for Add.
//
// If the transformer fails for a deletion, the reflectors of this package still queue it, as a
// DeletedFinalStateUnknown with the queued or known object, if there is one. With AtomicEvents, the
// DeletedFinalStateUnknown has no object: the store of the process function has it.
func (f *RealFIFO) Delete(obj interface{}) error { return f.queue.Put(Deleted, obj) }

// Bookmark queues a Bookmark delta if EmitDeltaTypeBookmark is set.
func (f *RealFIFO) Bookmark(resourceVersion string) error { return f.queue.Bookmark(resourceVersion) }

// Replace queues the deltas after which the store has exactly the objects of list: one ReplacedAll delta, or
// deletions and then a Replaced delta for each object. If an object has no key or cannot be transformed,
// Replace returns the error and queues nothing.
func (f *RealFIFO) Replace(newItems []interface{}, resourceVersion string) error {
	if f.atomic {
		return f.queue.ReplaceAll(newItems, resourceVersion)
	}
	listed, err := f.queue.NewReplacement(newItems)
	if err != nil {
		return err
	}
	f.queue.Mu.Lock()
	defer f.queue.Mu.Unlock()
	f.queue.AppendLocked(f.expandLocked(listed)...)
	f.queue.PopulateInitialLocked(f.queue.Waiting.Len())
	return nil
}

// expandLocked turns a replacement into single records: deletions of queued or known objects that are not
// listed, then the listed objects.
func (f *RealFIFO) expandLocked(listed *queue.List) (records []event.Record) {
	keys := listed.Names()
	queued, order := f.lastQueuedLocked()
	for _, key := range order {
		if last := queued[key]; !keys.Has(key) && last.Type != Deleted {
			records = append(records, queue.DeletionOf(DeletedFinalStateUnknown{Key: key, Obj: last.Object}))
		}
	}
	for _, key := range f.queue.Known.ListKeys() {
		if _, isQueued := queued[key]; !isQueued && !keys.Has(key) {
			records = append(records, f.queue.Tombstone(key))
		}
	}
	for i, key := range listed.Keys {
		records = append(records, event.Record{
			Type: Replaced, Key: key, Version: listed.Versions[i], Object: listed.Objects[i],
		})
	}
	return records
}

// lastQueuedLocked returns the newest record of each key and the keys in order of arrival.
func (f *RealFIFO) lastQueuedLocked() (last map[string]*event.Record, order []string) {
	last = make(map[string]*event.Record, f.arrivals.Len())
	for i := range f.arrivals.Len() {
		rec := f.arrivals.At(i)
		if _, seen := last[rec.Key]; !seen {
			order = append(order, rec.Key)
		}
		last[rec.Key] = rec
	}
	return last, order
}

// Resync queues one SyncAll delta, or without AtomicEvents a Sync delta for each known object without
// queued changes, until one has no key: it returns that KeyError.
func (f *RealFIFO) Resync() error {
	if f.atomic {
		return f.queue.SyncAll()
	}
	f.queue.Mu.Lock()
	defer f.queue.Mu.Unlock()
	queued, _ := f.lastQueuedLocked()
	return f.queue.ResyncKnownLocked(func(key string) bool { return queued[key] != nil })
}

// Pop waits for a change and calls process with Deltas of that change. It returns the Deltas and the error
// of process, or ErrFIFOClosed when the queue is closed and empty. The queue is locked during the call of
// process, unless UnlockWhileProcessing is set; then calls from several goroutines process one after the
// other, and process must not call Pop or PopBatch. Pop does not queue failed Deltas again.
func (f *RealFIFO) Pop(process PopProcessFunc) (interface{}, error) {
	return f.queue.PopDeltas(process)
}

// PopBatch waits for changes and calls processBatch with the first ones of the queue: 1000 at most, and
// never beyond the end of the initial list. Each is of another object, as long as the module is for a
// client-go before v0.38. It calls processSingle for a batch of one change; ReplacedAll, SyncAll and
// Bookmark are always alone. Locking and errors are as for Pop.
func (f *RealFIFO) PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error {
	process := func(batch []event.Record, isInInitialList bool) error {
		deltas := make([]Delta, len(batch))
		for i := range batch {
			deltas[i] = queue.DeltaOf(&batch[i])
		}
		if len(deltas) == 1 {
			return processSingle(Deltas(deltas), isInInitialList)
		}
		return processBatch(deltas, isInInitialList)
	}
	return f.queue.Pop(f.queue.BatchLocked, process)
}
