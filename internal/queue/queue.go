// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/utils/trace"

	"github.com/kinformer/cache/internal/event"
)

// Queue is what RealFIFO and DeltaFIFO are made of: records that wait in an order.
//
//	put:   key, version, transform (no lock) → lock → order, or, if nobody else is at work, straight to direct
//	take:  lock → records out of the order → process, with or without the lock → through: HasSynced, memory back
//
// A batch has one owner at a time. Records that are put are copied, so the slice stays the putter's. Records that are taken
// are the process function's until it returns; then their memory is used again. Objects are never copied.
type Queue struct {
	Synced
	options Options
	Known   clientgo.KeyListerGetter
	Reader  event.Reader

	Unlocked bool // process without holding mu
	Waiting  Order
	limit    queueLimit          // guarded by mu
	seen     map[string]struct{} // memory of UniqueLocked; guarded by mu

	// Direct processes a batch in the goroutine that puts it; false means that it cannot now. It reports its own errors
	// and does not panic. Set before the first put, and only where no function of the user's could wait for that
	// goroutine; nil: a consumer takes everything.
	Direct func(batch []event.Record, isInInitialList bool) bool

	// Through is called, under the lock, each time when a batch that was processed without the lock is; nil: nobody is
	// interested.
	Through func()
}

// ProcessFunc is what a consumer does with a batch, which is its own until it returns.
type ProcessFunc = func(batch []event.Record, isInInitialList bool) error

// PutBatch queues records in their order, under one lock. Given are typ (Added, Updated, Deleted or Bookmark), object and
// version as received; the reader fills in the rest. The slice is the caller's again when the call returns, cleared. A record
// that cannot be queued is left out; it is among what is returned.
func (q *Queue) PutBatch(records []event.Record) []event.Refused {
	defer clear(records)
	admitted, refused := q.admitBatch(records)
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if len(refused) > 0 || holdsKeyed(admitted) {
		q.PopulateLocked()
	}
	if len(admitted) > 0 && !q.processHereLocked(admitted) {
		q.AppendLocked(admitted...)
	}
	return slices.DeleteFunc(refused, func(r event.Refused) bool { return q.ignoresLocked(r.Type, r.Key) })
}

// ignoresLocked reports whether a change that cannot be transformed would not be queued either.
func (q *Queue) ignoresLocked(typ clientgo.DeltaType, key string) bool {
	if key == "" || q.options.Admits == nil || q.options.Admits(typ, key) {
		return false
	}
	q.Reader.Transform.Forget(key)
	return true
}

func holdsKeyed(records []event.Record) bool {
	for i := range records {
		if records[i].Keyed() {
			return true
		}
	}
	return false
}

// admitBatch completes the records in place and moves those that can be queued to the front.
func (q *Queue) admitBatch(records []event.Record) (admitted []event.Record, refused []event.Refused) {
	n := 0
	for i := range records {
		if records[i].Type == clientgo.Bookmark && !q.options.Bookmarks {
			continue
		}
		received := records[i].Object
		if err := q.Reader.Complete(&records[i]); err != nil {
			refused = append(refused, event.Refused{Type: records[i].Type, Key: records[i].Key, Object: received, Err: err})
			continue
		}
		if n != i {
			records[n] = records[i]
		}
		n++
	}
	return records[:n], refused
}

// Put queues one change that did not come in a batch.
func (q *Queue) Put(typ clientgo.DeltaType, obj any) error {
	rec, err := q.Reader.Record(typ, obj)
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.PopulateLocked()
	switch {
	case err == nil:
		q.AppendLocked(rec)
	case q.ignoresLocked(typ, rec.Key):
		return nil
	}
	return err
}

// SyncAll queues a resync as one record.
func (q *Queue) SyncAll() error {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.AppendLocked(event.Record{Type: clientgo.SyncAll})
	return nil
}

// Bookmark queues a Bookmark record if the queue keeps them.
func (q *Queue) Bookmark(version string) error {
	if !q.options.Bookmarks {
		return nil
	}
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.AppendLocked(event.Record{Type: clientgo.Bookmark, Version: version})
	return nil
}

// AppendLocked queues the records that are worth it.
func (q *Queue) AppendLocked(records ...event.Record) {
	if arrivals, ok := q.Waiting.(*Arrivals); ok { // all at once: a put is these copies more than anything else
		arrivals.push(records...)
		q.AnnounceLocked()
		return
	}
	for i := range records {
		if q.options.Admits == nil || q.options.Admits(records[i].Type, records[i].Key) {
			q.Waiting.Put(records[i])
		}
	}
	q.AnnounceLocked()
}

// AnnounceLocked lets consumers know that something was put.
func (q *Queue) AnnounceLocked() {
	q.Mu.Arrival.Broadcast()
	q.showDepthLocked()
}

// processHereLocked processes the batch in this goroutine if that changes nothing but the time it takes: nothing is before
// it in the queue or in work, and the queue is open. It releases the lock meanwhile.
func (q *Queue) processHereLocked(batch []event.Record) (done bool) {
	if q.Direct == nil || q.Mu.closed || q.Mu.working > 0 || q.Waiting.Len() > 0 {
		return false
	}
	_ = q.workLocked(batch, 0, func(batch []event.Record, isInInitialList bool) error {
		done = q.Direct(batch, isInInitialList)
		return nil
	})
	return done
}

// PopAll is the consumer's call in our own informers: it takes all there is, up to the end of the initial list, without
// leaving the typed form.
func (q *Queue) PopAll(process ProcessFunc) error {
	return q.Pop("Queue Pop Process", q.allLocked, process)
}

// PopUnique takes at most one change of an object, for a consumer that calls the user once the store has a batch: what is
// told of an object is then what the store has. It is for a queue in order of arrival.
func (q *Queue) PopUnique(process ProcessFunc) error {
	return q.Pop("Queue Pop Process", q.UniqueLocked, process)
}

// PopDeltas is Pop: one item, in the form that the exported queue API hands out.
func (q *Queue) PopDeltas(title string, process clientgo.PopProcessFunc) (any, error) {
	var popped clientgo.Deltas
	err := q.Pop(title, oneItem, func(batch []event.Record, isInInitialList bool) error {
		popped = make(clientgo.Deltas, len(batch))
		for i := range batch {
			popped[i] = DeltaOf(&batch[i])
		}
		return process(popped, isInInitialList)
	})
	if popped == nil {
		return nil, err
	}
	return popped, err
}

func oneItem() int { return 1 }

// Pop takes as many items as count says are next, has them processed, and only then counts them as through.
func (q *Queue) Pop(title string, count func() int, process ProcessFunc) error {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if err := q.AwaitLocked(q.Waiting.Len); err != nil {
		return err
	}
	items := count()
	batch := q.Waiting.take(items)
	defer q.Waiting.recycle(batch)
	depth := q.Waiting.Len()
	q.showDepthLocked()
	q.resumeLocked()
	if depth > deepQueue {
		defer traceSlowPop(title, batch[0].Key, depth, len(batch), q.traceFields()...)()
	}
	return q.workLocked(batch, items, process)
}

// workLocked has a batch of that many items processed, without the lock if the queue allows that.
func (q *Queue) workLocked(batch []event.Record, items int, process ProcessFunc) error {
	isInInitialList := !q.HasSynced()
	if q.options.Early {
		q.ThroughLocked(items)
	} else {
		defer q.ThroughLocked(items)
	}
	if q.Unlocked {
		q.Mu.working = len(batch)
		q.Mu.Unlock()
		defer q.restLocked()
		defer q.Mu.Lock()
	}
	if q.options.Latency != nil {
		start := time.Now()
		defer func() { q.options.Latency.Observe(time.Since(start).Seconds()) }()
	}
	return process(batch, isInInitialList)
}

// restLocked lets others work on what came meanwhile.
func (q *Queue) restLocked() {
	q.Mu.working = 0
	if q.Waiting.Len() > 0 || q.Mu.closed {
		q.Mu.Arrival.Broadcast()
	}
	if q.Through != nil {
		q.Through()
	}
}

// allLocked stops at the end of the initial list, so that everything in a batch has the same isInInitialList.
func (q *Queue) allLocked() int {
	if q.Mu.initial > 0 {
		return min(q.Mu.initial, q.Waiting.Len())
	}
	return q.Waiting.Len()
}

// PopBatchSize bounds what UniqueLocked counts, as in client-go: it is what a store transaction is held up for.
const PopBatchSize = 1000

// UniqueLocked counts how many of the first items are each about another object. What is about more than one object is
// alone.
func (q *Queue) UniqueLocked() int {
	waiting, limit := q.Waiting.(*Arrivals), min(PopBatchSize, q.allLocked())
	if limit < 2 {
		return limit
	}
	if q.seen == nil {
		q.seen = make(map[string]struct{}, limit)
	}
	defer clear(q.seen)
	for i := range limit {
		rec := waiting.At(i)
		q.seen[rec.Key] = struct{}{}
		if !rec.Keyed() || len(q.seen) == i {
			return max(i, 1)
		}
	}
	return limit
}

// showDepthLocked publishes how many items wait.
func (q *Queue) showDepthLocked() {
	if q.options.Depth != nil {
		q.options.Depth.Set(float64(q.Waiting.Len()))
	}
}

func (q *Queue) traceFields() (fields []trace.Field) {
	if name := q.options.Identifier.Name(); name != "" {
		fields = append(fields, trace.Field{Key: "Name", Value: name})
	}
	if gvr := q.options.Identifier.GroupVersionResource(); !gvr.Empty() {
		fields = append(fields, trace.Field{Key: "Resource", Value: gvr})
	}
	return fields
}

// Tombstone looks up what is known under key, for a deletion that nobody saw. An object that cannot be had is nil.
func (q *Queue) Tombstone(key string) event.Record {
	obj, exists, err := q.Known.GetByKey(key)
	switch {
	case err != nil:
		utilruntime.HandleErrorWithLogger(q.Reader.Logger, event.Discreet(err), "No last state for a deleted object: lookup failed", "key", key)
		obj = nil
	case !exists:
		q.Reader.Logger.Info("No last state for a deleted object: gone from the known objects", "key", key)
		obj = nil
	}
	return DeletionOf(clientgo.DeletedFinalStateUnknown{Key: key, Obj: obj})
}

func DeletionOf(tombstone clientgo.DeletedFinalStateUnknown) event.Record {
	return event.Record{Type: clientgo.Deleted, Key: tombstone.Key, Object: tombstone}
}

// SyncOf looks up a known object for a resync. One that cannot be had is left out, with a line in the log.
func (q *Queue) SyncOf(key string) (rec event.Record, ok bool) {
	obj, exists, err := q.Known.GetByKey(key)
	if err != nil {
		utilruntime.HandleErrorWithLogger(q.Reader.Logger, event.Discreet(err), "Object left out of a resync: lookup failed", "key", key)
		return event.Record{}, false
	}
	if !exists {
		q.Reader.Logger.Info("Object left out of a resync: gone from the known objects", "key", key)
		return event.Record{}, false
	}
	version, _ := event.VersionOf(obj)
	return event.Record{Type: clientgo.Sync, Key: key, Version: version, Object: obj}, true
}
