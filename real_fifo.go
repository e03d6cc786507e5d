// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/klog/v2"
	"k8s.io/utils/trace"
)

// RealFIFO is a Queue that hands out changes one by one, or in batches, in exactly the order in which they were put.
//
// With AtomicEvents a Replace is one ReplacedAll delta and a Resync one SyncAll delta, to be resolved against the store by
// whoever pops them. Without, they become one delta an object, as in a DeltaFIFO, against KnownObjects.
//
// All methods are safe for use by any number of goroutines. A RealFIFO must be made by a constructor.
type RealFIFO struct {
	queueCore
	logger     klog.Logger
	known      KeyListerGetter
	transform  TransformFunc
	atomic     bool
	bookmarks  bool
	unlocked   bool // process without holding mu
	identifier InformerNameAndResource
	metrics    queueMetrics

	items []record // guarded by mu
}

var (
	_ QueueWithBatch         = (*RealFIFO)(nil)
	_ TransformingStore      = (*RealFIFO)(nil)
	_ ReflectorBookmarkStore = (*RealFIFO)(nil)
	_ DoneChecker            = (*RealFIFO)(nil)
)

// popBatchSize bounds what one PopBatch takes, as in client-go: it is what a store transaction is held up for.
const popBatchSize = 1000

// NewRealFIFO returns an empty RealFIFO without atomic events.
//
// Deprecated: use NewRealFIFOWithOptions, which has all options.
func NewRealFIFO(keyFunc KeyFunc, knownObjects KeyListerGetter, transformer TransformFunc) *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{KeyFunction: keyFunc, KnownObjects: knownObjects, Transformer: transformer})
}

// NewRealFIFOWithOptions returns an empty RealFIFO. It panics for options that contradict each other: AtomicEvents goes
// without KnownObjects, which are needed otherwise; UnlockWhileProcessing and EmitDeltaTypeBookmark need AtomicEvents.
func NewRealFIFOWithOptions(opts RealFIFOOptions) *RealFIFO {
	if err := refuseRealFIFOOptions(opts); err != nil {
		panic(err)
	}
	f := &RealFIFO{
		known:      opts.KnownObjects,
		transform:  opts.Transformer,
		atomic:     opts.AtomicEvents,
		bookmarks:  opts.EmitDeltaTypeBookmark,
		unlocked:   opts.UnlockWhileProcessing,
		identifier: opts.Identifier,
		metrics:    newQueueMetrics(opts.Identifier, opts.MetricsProvider),
	}
	f.init(firstOf(opts.Identifier.Name(), opts.Name, "RealFIFO"), opts.KeyFunction)
	f.logger = queueLogger(opts.Logger, f.name)
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

// Transformer returns the function that every object passes on its way in, or nil.
func (f *RealFIFO) Transformer() TransformFunc { return f.transform }

// Add queues an Added delta. Errors: KeyError, or what the transformer returned; nothing is queued then.
func (f *RealFIFO) Add(obj interface{}) error { return f.put(Added, obj) }

// Update queues an Updated delta. Errors as for Add.
func (f *RealFIFO) Update(obj interface{}) error { return f.put(Updated, obj) }

// Delete queues a Deleted delta, whether or not the object is known. Errors as for Add.
func (f *RealFIFO) Delete(obj interface{}) error { return f.put(Deleted, obj) }

func (f *RealFIFO) put(typ DeltaType, obj any) error {
	rec, err := f.newRecord(typ, obj, f.transform)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.populateLocked()
	if err != nil {
		return err
	}
	f.appendLocked(rec)
	return nil
}

// newRecord reads key and version of an object as received and transforms it.
func (f *RealFIFO) newRecord(typ DeltaType, obj any, transform TransformFunc) (record, error) {
	key, err := f.keyOf(obj)
	if err != nil {
		return record{}, err
	}
	version, _ := objectVersion(obj)
	stored, err := transformed(transform, obj)
	if err != nil {
		return record{}, err
	}
	return record{typ: typ, key: key, version: version, object: stored}, nil
}

func (f *RealFIFO) appendLocked(records ...record) {
	f.items = append(f.items, records...)
	f.mu.arrival.Broadcast()
	f.metrics.depth.Set(float64(len(f.items)))
}

// Bookmark queues a Bookmark delta if EmitDeltaTypeBookmark is set.
func (f *RealFIFO) Bookmark(resourceVersion string) error {
	if !f.bookmarks {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.appendLocked(record{typ: Bookmark, version: resourceVersion})
	return nil
}

// Replace queues what makes list the whole state: one ReplacedAll delta, or deletions and then a Replaced delta for each
// object. An object without a key or that cannot be transformed fails the call and nothing is queued.
func (f *RealFIFO) Replace(newItems []interface{}, resourceVersion string) error {
	listed, err := f.newReplacement(newItems)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.atomic {
		f.appendLocked(record{typ: ReplacedAll, version: resourceVersion, list: listed})
	} else {
		f.appendLocked(f.expandLocked(listed)...)
	}
	f.populateInitialLocked(len(f.items))
	return nil
}

func (f *RealFIFO) newReplacement(objects []any) (*replacement, error) {
	r := &replacement{
		keys:     make([]string, len(objects)),
		versions: make([]string, len(objects)),
		objects:  make([]any, len(objects)),
	}
	for i, obj := range objects {
		rec, err := f.newRecord(Replaced, obj, f.transform)
		if err != nil {
			return nil, err
		}
		r.keys[i], r.versions[i], r.objects[i] = rec.key, rec.version, rec.object
	}
	return r, nil
}

// expandLocked turns a replacement into single records: deletions of what is queued or known and not listed, then the list.
func (f *RealFIFO) expandLocked(listed *replacement) (records []record) {
	keys := sets.New(listed.keys...)
	queued, order := f.lastQueuedLocked()
	for _, key := range order {
		if last := queued[key]; !keys.Has(key) && last.typ != Deleted {
			records = append(records, deletionOf(DeletedFinalStateUnknown{Key: key, Obj: last.object}))
		}
	}
	for _, key := range f.known.ListKeys() {
		if _, isQueued := queued[key]; !isQueued && !keys.Has(key) {
			records = append(records, deletionOf(tombstoneFor(f.logger, f.known, key)))
		}
	}
	for i, key := range listed.keys {
		records = append(records, record{typ: Replaced, key: key, version: listed.versions[i], object: listed.objects[i]})
	}
	return records
}

func deletionOf(tombstone DeletedFinalStateUnknown) record {
	return record{typ: Deleted, key: tombstone.Key, object: tombstone}
}

// lastQueuedLocked returns the newest record of each key and the keys in order of arrival.
func (f *RealFIFO) lastQueuedLocked() (last map[string]*record, order []string) {
	last = make(map[string]*record, len(f.items))
	for i := range f.items {
		rec := &f.items[i]
		if _, seen := last[rec.key]; !seen {
			order = append(order, rec.key)
		}
		last[rec.key] = rec
	}
	return last, order
}

// Resync queues one SyncAll delta, or without AtomicEvents a Sync delta for each known object that nothing is queued for.
func (f *RealFIFO) Resync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.atomic {
		f.appendLocked(record{typ: SyncAll})
		return nil
	}
	queued, _ := f.lastQueuedLocked()
	for _, key := range f.known.ListKeys() {
		if _, isQueued := queued[key]; isQueued {
			continue
		}
		if obj, ok := knownForSync(f.logger, f.known, key); ok {
			version, _ := objectVersion(obj)
			f.appendLocked(record{typ: Sync, key: key, version: version, object: obj})
		}
	}
	return nil
}

// Pop waits for a change and calls process with Deltas of just that one. It returns them and what process returned, or
// ErrFIFOClosed when the queue is closed and empty. The queue is locked meanwhile unless UnlockWhileProcessing is set.
// What fails in process is not queued again.
func (f *RealFIFO) Pop(process PopProcessFunc) (interface{}, error) {
	var popped Deltas
	err := f.pop(f.oneLocked, func(batch []record, isInInitialList bool) error {
		popped = Deltas{batch[0].delta()}
		return process(popped, isInInitialList)
	})
	if popped == nil {
		return nil, err
	}
	return popped, err
}

// PopBatch waits for changes and calls processBatch with the first ones of the queue, each about another object: 1000 at
// most, and never beyond the end of the initial list. A change that is alone in its batch, as ReplacedAll, SyncAll and
// Bookmark always are, goes to processSingle instead. Locking and errors are as for Pop.
func (f *RealFIFO) PopBatch(processBatch ProcessBatchFunc, processSingle PopProcessFunc) error {
	return f.pop(f.batchLocked, func(batch []record, isInInitialList bool) error {
		deltas := make([]Delta, len(batch))
		for i := range batch {
			deltas[i] = batch[i].delta()
		}
		if len(deltas) == 1 {
			return processSingle(Deltas(deltas), isInInitialList)
		}
		return processBatch(deltas, isInInitialList)
	})
}

// popAll is the consumer's call in our own informers: it takes all there is, up to the end of the initial list, without
// leaving the typed form. The batch is process's for the time of the call.
func (f *RealFIFO) popAll(process func(batch []record, isInInitialList bool) error) error {
	return f.pop(f.allLocked, process)
}

// pop takes what take says is next, has it processed, and only then counts it as through.
func (f *RealFIFO) pop(take func() int, process func(batch []record, isInInitialList bool) error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.awaitLocked(func() int { return len(f.items) }); err != nil {
		return err
	}
	isInInitialList := !f.HasSynced()
	batch := f.takeLocked(take())
	defer func() {
		f.throughLocked(len(batch))
		clear(batch)
	}()
	defer traceSlowPop("RealFIFO Pop Process", batch[0].key, len(f.items), len(batch), f.traceFields()...)()

	if f.unlocked && len(f.items) < 2*popBatchSize {
		f.mu.Unlock()
		defer f.mu.Lock()
	}
	start := time.Now()
	defer func() { f.metrics.latency.Observe(time.Since(start).Seconds()) }()
	return process(batch, isInInitialList)
}

// takeLocked removes the first n records. They belong to the caller, who clears them in the end: their array may have to
// live on for the records behind them.
func (f *RealFIFO) takeLocked(n int) []record {
	batch := f.items[:n:n]
	f.items = f.items[n:]
	if len(f.items) == 0 {
		f.items = nil
	}
	f.metrics.depth.Set(float64(len(f.items)))
	return batch
}

func (f *RealFIFO) oneLocked() int { return 1 }

// allLocked stops at the end of the initial list, so that everything in a batch has the same isInInitialList.
func (f *RealFIFO) allLocked() int {
	if f.mu.initial > 0 {
		return min(f.mu.initial, len(f.items))
	}
	return len(f.items)
}

func (f *RealFIFO) batchLocked() int {
	limit := min(popBatchSize, f.allLocked())
	keys := make(sets.Set[string], limit)
	for i := range limit {
		rec := &f.items[i]
		if !rec.keyed() || keys.Has(rec.key) {
			return max(i, 1)
		}
		keys.Insert(rec.key)
	}
	return limit
}

func (f *RealFIFO) traceFields() (fields []trace.Field) {
	if name := f.identifier.Name(); name != "" {
		fields = append(fields, trace.Field{Key: "Name", Value: name})
	}
	if gvr := f.identifier.GroupVersionResource(); !gvr.Empty() {
		fields = append(fields, trace.Field{Key: "Resource", Value: gvr})
	}
	return fields
}
