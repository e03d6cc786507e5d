// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"slices"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/trace"
)

// recordQueue is what RealFIFO and DeltaFIFO are made of: records that wait in an order.
//
//	put:   key, version, transform (no lock) → lock → order, or, if nobody else is at work, straight to direct
//	take:  lock → records out of the order → process, with or without the lock → through: HasSynced, memory back
//
// A batch has one owner at a time. Records that are put are copied, so the slice stays the putter's. Records that are taken
// are the process function's until it returns; then their memory is used again. Objects are never copied.
type recordQueue struct {
	queueCore
	known      KeyListerGetter
	reader     reader
	depth      GaugeMetric     // items waiting; nil: nobody looks at it
	latency    HistogramMetric // seconds spent processing one pop; nil: nobody looks at it
	identifier InformerNameAndResource

	bookmarks bool // keep them; else they are dropped
	unlocked  bool // process without holding mu
	early     bool // HasSynced counts items when they are taken, not when they are processed
	waiting   order
	limit     queueLimit                           // guarded by mu
	seen      map[string]struct{}                  // memory of uniqueLocked; guarded by mu
	admits    func(typ DeltaType, key string) bool // in the order by key: whether a record is worth its place; nil: always

	// direct processes a batch in the goroutine that puts it; false means that it cannot now. It reports its own errors
	// and does not panic. Set before the first put, and only where no function of the user's could wait for that
	// goroutine; nil: a consumer takes everything.
	direct func(batch []record, isInInitialList bool) bool

	// through is called, under the lock, each time when a batch that was processed without the lock is; nil: nobody is
	// interested.
	through func()
}

// processFunc is what a consumer does with a batch, which is its own until it returns.
type processFunc = func(batch []record, isInInitialList bool) error

// putBatch queues records in their order, under one lock. Given are typ (Added, Updated, Deleted or Bookmark), object and
// version as received; the reader fills in the rest. The slice is the caller's again when the call returns, cleared. A record
// that cannot be queued is left out; it is among what is returned.
func (q *recordQueue) putBatch(records []record) []refusedRecord {
	defer clear(records)
	admitted, refused := q.admitBatch(records)
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(refused) > 0 || holdsKeyed(admitted) {
		q.populateLocked()
	}
	if len(admitted) > 0 && !q.processHereLocked(admitted) {
		q.appendLocked(admitted...)
	}
	return slices.DeleteFunc(refused, func(r refusedRecord) bool { return q.ignoresLocked(r.typ, r.key) })
}

// ignoresLocked reports whether a change that cannot be transformed would not be queued either.
func (q *recordQueue) ignoresLocked(typ DeltaType, key string) bool {
	if key == "" || q.admits == nil || q.admits(typ, key) {
		return false
	}
	q.reader.transform.forget(key)
	return true
}

func holdsKeyed(records []record) bool {
	for i := range records {
		if records[i].keyed() {
			return true
		}
	}
	return false
}

// admitBatch completes the records in place and moves those that can be queued to the front.
func (q *recordQueue) admitBatch(records []record) (admitted []record, refused []refusedRecord) {
	n := 0
	for i := range records {
		if records[i].typ == Bookmark && !q.bookmarks {
			continue
		}
		received := records[i].object
		if err := q.reader.complete(&records[i]); err != nil {
			refused = append(refused, refusedRecord{typ: records[i].typ, key: records[i].key, object: received, err: err})
			continue
		}
		if n != i {
			records[n] = records[i]
		}
		n++
	}
	return records[:n], refused
}

// put queues one change that did not come in a batch.
func (q *recordQueue) put(typ DeltaType, obj any) error {
	rec, err := q.reader.record(typ, obj)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.populateLocked()
	switch {
	case err == nil:
		q.appendLocked(rec)
	case q.ignoresLocked(typ, rec.key):
		return nil
	}
	return err
}

// syncAll queues a resync as one record.
func (q *recordQueue) syncAll() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.appendLocked(record{typ: SyncAll})
	return nil
}

// bookmark queues a Bookmark record if the queue keeps them.
func (q *recordQueue) bookmark(version string) error {
	if !q.bookmarks {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.appendLocked(record{typ: Bookmark, version: version})
	return nil
}

// appendLocked queues the records that are worth it.
func (q *recordQueue) appendLocked(records ...record) {
	if arrivals, ok := q.waiting.(*arrivals); ok { // all at once: a put is these copies more than anything else
		arrivals.push(records...)
		q.announceLocked()
		return
	}
	for i := range records {
		if q.admits == nil || q.admits(records[i].typ, records[i].key) {
			q.waiting.put(records[i])
		}
	}
	q.announceLocked()
}

// announceLocked lets consumers know that something was put.
func (q *recordQueue) announceLocked() {
	q.mu.arrival.Broadcast()
	q.showDepthLocked()
}

// processHereLocked processes the batch in this goroutine if that changes nothing but the time it takes: nothing is before
// it in the queue or in work, and the queue is open. It releases the lock meanwhile.
func (q *recordQueue) processHereLocked(batch []record) (done bool) {
	if q.direct == nil || q.mu.closed || q.mu.working > 0 || q.waiting.len() > 0 {
		return false
	}
	_ = q.workLocked(batch, 0, func(batch []record, isInInitialList bool) error {
		done = q.direct(batch, isInInitialList)
		return nil
	})
	return done
}

// popAll is the consumer's call in our own informers: it takes all there is, up to the end of the initial list, without
// leaving the typed form.
func (q *recordQueue) popAll(process processFunc) error {
	return q.pop("Queue Pop Process", q.allLocked, process)
}

// popUnique takes at most one change of an object, for a consumer that calls the user once the store has a batch: what is
// told of an object is then what the store has. It is for a queue in order of arrival.
func (q *recordQueue) popUnique(process processFunc) error {
	return q.pop("Queue Pop Process", q.uniqueLocked, process)
}

// popDeltas is Pop: one item, in the form that the exported queue API hands out.
func (q *recordQueue) popDeltas(title string, process PopProcessFunc) (any, error) {
	var popped Deltas
	err := q.pop(title, oneItem, func(batch []record, isInInitialList bool) error {
		popped = make(Deltas, len(batch))
		for i := range batch {
			popped[i] = deltaOf(&batch[i])
		}
		return process(popped, isInInitialList)
	})
	if popped == nil {
		return nil, err
	}
	return popped, err
}

func oneItem() int { return 1 }

// pop takes as many items as count says are next, has them processed, and only then counts them as through.
func (q *recordQueue) pop(title string, count func() int, process processFunc) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.awaitLocked(q.waiting.len); err != nil {
		return err
	}
	items := count()
	batch := q.waiting.take(items)
	defer q.waiting.recycle(batch)
	depth := q.waiting.len()
	q.showDepthLocked()
	q.resumeLocked()
	if depth > deepQueue {
		defer traceSlowPop(title, batch[0].key, depth, len(batch), q.traceFields()...)()
	}
	return q.workLocked(batch, items, process)
}

// workLocked has a batch of that many items processed, without the lock if the queue allows that.
func (q *recordQueue) workLocked(batch []record, items int, process processFunc) error {
	isInInitialList := !q.HasSynced()
	if q.early {
		q.throughLocked(items)
	} else {
		defer q.throughLocked(items)
	}
	if q.unlocked {
		q.mu.working = len(batch)
		q.mu.Unlock()
		defer q.restLocked()
		defer q.mu.Lock()
	}
	if q.latency != nil {
		start := time.Now()
		defer func() { q.latency.Observe(time.Since(start).Seconds()) }()
	}
	return process(batch, isInInitialList)
}

// restLocked lets others work on what came meanwhile.
func (q *recordQueue) restLocked() {
	q.mu.working = 0
	if q.waiting.len() > 0 || q.mu.closed {
		q.mu.arrival.Broadcast()
	}
	if q.through != nil {
		q.through()
	}
}

// allLocked stops at the end of the initial list, so that everything in a batch has the same isInInitialList.
func (q *recordQueue) allLocked() int {
	if q.mu.initial > 0 {
		return min(q.mu.initial, q.waiting.len())
	}
	return q.waiting.len()
}

// popBatchSize bounds what uniqueLocked counts, as in client-go: it is what a store transaction is held up for.
const popBatchSize = 1000

// uniqueLocked counts how many of the first items are each about another object. What is about more than one object is
// alone.
func (q *recordQueue) uniqueLocked() int {
	waiting, limit := q.waiting.(*arrivals), min(popBatchSize, q.allLocked())
	if limit < 2 {
		return limit
	}
	if q.seen == nil {
		q.seen = make(map[string]struct{}, limit)
	}
	defer clear(q.seen)
	for i := range limit {
		rec := waiting.at(i)
		q.seen[rec.key] = struct{}{}
		if !rec.keyed() || len(q.seen) == i {
			return max(i, 1)
		}
	}
	return limit
}

// showDepthLocked publishes how many items wait.
func (q *recordQueue) showDepthLocked() {
	if q.depth != nil {
		q.depth.Set(float64(q.waiting.len()))
	}
}

func (q *recordQueue) traceFields() (fields []trace.Field) {
	if name := q.identifier.Name(); name != "" {
		fields = append(fields, trace.Field{Key: "Name", Value: name})
	}
	if gvr := q.identifier.GroupVersionResource(); !gvr.Empty() {
		fields = append(fields, trace.Field{Key: "Resource", Value: gvr})
	}
	return fields
}

// tombstone looks up what is known under key, for a deletion that nobody saw. An object that cannot be had is nil.
func (q *recordQueue) tombstone(key string) record {
	obj, exists, err := q.known.GetByKey(key)
	switch {
	case err != nil:
		utilruntime.HandleErrorWithLogger(q.reader.logger, discreet(err), "No last state for a deleted object: lookup failed", "key", key)
		obj = nil
	case !exists:
		q.reader.logger.Info("No last state for a deleted object: gone from the known objects", "key", key)
		obj = nil
	}
	return deletionOf(DeletedFinalStateUnknown{Key: key, Obj: obj})
}

func deletionOf(tombstone DeletedFinalStateUnknown) record {
	return record{typ: Deleted, key: tombstone.Key, object: tombstone}
}

// lastState is the object that a record tells of, without a tombstone around it.
func (r *record) lastState() any {
	if tombstone, ok := r.object.(DeletedFinalStateUnknown); ok {
		return tombstone.Obj
	}
	return r.object
}

// syncOf looks up a known object for a resync. One that cannot be had is left out, with a line in the log.
func (q *recordQueue) syncOf(key string) (rec record, ok bool) {
	obj, exists, err := q.known.GetByKey(key)
	if err != nil {
		utilruntime.HandleErrorWithLogger(q.reader.logger, discreet(err), "Object left out of a resync: lookup failed", "key", key)
		return record{}, false
	}
	if !exists {
		q.reader.logger.Info("Object left out of a resync: gone from the known objects", "key", key)
		return record{}, false
	}
	version, _ := objectVersion(obj)
	return record{typ: Sync, key: key, version: version, object: obj}, true
}
