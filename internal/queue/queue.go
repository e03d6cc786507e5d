// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/internal/event"
)

// Queue is the common part of RealFIFO, DeltaFIFO and the informers' queues: records that wait in
// an order.
//
// The reader completes the records of a batch that is put: key, version, transform. No lock is held
// then. Pop counts the processed items for HasSynced, and reuses their memory.
//
// A batch has one owner at a time. A slice that is put remains the caller's. Records that are taken
// belong to the process function until it returns; then their memory is reused. Objects are never
// copied.
type Queue struct {
	Life
	options Options
	Known   clientgo.KeyListerGetter
	Reader  event.Reader

	Unlocked bool  // process without holding Mu
	Waiting  Order // guarded by Mu
	limit    queueLimit
	seen     map[string]struct{} // scratch memory of UniqueLocked; guarded by Mu

	// Through is called under the lock after each batch that a consumer has processed without the
	// lock. It may be nil.
	Through func()

	Mu struct {
		sync.Mutex
		arrival   sync.Cond // signals that an item was put, or that the queue was closed
		closed    bool
		working   int    // number of items being processed without the lock
		processed uint64 // number of items that were processed without the lock; see Settle
		populated bool   // an item was put, or a Replace was
		initial   int    // number of items of the first Replace that are not processed yet
		over      bool   // synced is closed; later items are not of the initial list
	}
}

// ProcessFunc is the function with which a consumer processes a batch. It owns the batch until it
// returns.
type ProcessFunc = func(batch []event.Record, isInInitialList bool) error

// PutBatch queues records in their order, under one lock. The caller sets Type (Added, Updated,
// Deleted or Bookmark), Object and Version as received; the reader sets the other fields. PutBatch
// clears the slice, which remains the caller's. Records that cannot be queued are skipped and
// returned. A deletion that cannot be transformed is queued, because the object does not exist any
// more.
func (q *Queue) PutBatch(records []event.Record) []event.Refused {
	return q.PutBatchOf(&q.Reader, records)
}

// PutBatchOf is PutBatch with another reader, for one of several goroutines that put; see
// NewReader.
func (q *Queue) PutBatchOf(reader *event.Reader, records []event.Record) []event.Refused {
	defer clear(records)
	admitted, refused := q.admitBatch(reader, records)
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if !q.Mu.populated && (len(refused) > 0 || slices.ContainsFunc(admitted, func(r event.Record) bool { return r.Keyed() })) {
		q.populateLocked()
	}
	if len(admitted) > 0 {
		q.AppendLocked(admitted...)
	}
	return refused
}

// admitBatch completes the records in place and moves those that can be queued to the front.
func (q *Queue) admitBatch(reader *event.Reader, records []event.Record) (admitted []event.Record, refused []event.Refused) {
	n := 0
	for i := range records {
		rec := &records[i]
		if rec.Type == clientgo.Bookmark && !q.options.Bookmarks {
			continue
		}
		received := rec.Object
		if err := reader.Complete(rec); err != nil && !rec.Lost() {
			refused = append(refused, event.Refused{Type: rec.Type, Object: received, Err: err})
			continue
		} else if err != nil {
			reader.ReportLost(rec, err)
		}
		if n != i {
			records[n] = *rec
		}
		n++
	}
	return records[:n], refused
}

// Put queues a single change. If it cannot be transformed it is not queued and Put returns the
// error, as in client-go.
func (q *Queue) Put(typ clientgo.DeltaType, obj any) error { return q.put(typ, obj, true) }

// PutKeyed is Put, except that an object without a key does not count for HasSynced.
func (q *Queue) PutKeyed(typ clientgo.DeltaType, obj any) error { return q.put(typ, obj, false) }

func (q *Queue) put(typ clientgo.DeltaType, obj any, counts bool) error {
	one := [1]event.Record{{Type: typ, Object: obj}} // an array, because append does not copy it
	one[0].Version, _ = event.VersionOf(obj)
	err := q.Reader.Complete(&one[0])
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if counts || err == nil || one[0].Key != "" {
		q.populateLocked()
	}
	switch {
	case err == nil:
		q.AppendLocked(one[:]...)
	case one[0].Lost() && !q.admitsLocked(typ, one[0].Key):
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

// AppendLocked queues the records that the queue admits.
func (q *Queue) AppendLocked(records ...event.Record) {
	defer q.AnnounceLocked()
	arrivals, ok := q.Waiting.(*Arrivals)
	if ok && (q.Known == nil || !slices.ContainsFunc(records, func(r event.Record) bool { return r.Lost() })) { // all at once, because these copies are most of the cost of a put
		arrivals.push(records...)
		return
	}
	for i := range records {
		rec := &records[i]
		if q.admitsLocked(rec.Type, rec.Key) && (!rec.Lost() || q.recoverLocked(rec)) {
			q.Waiting.Put(*rec)
		}
	}
}

// recoverLocked sets the object of a deletion whose last state was refused to the last known one.
// It reports false if there is none, so that the deletion need not be queued.
func (q *Queue) recoverLocked(rec *event.Record) (exists bool) {
	if newest := q.Waiting.newest(rec.Key); newest != nil {
		rec.Object = clientgo.DeletedFinalStateUnknown{Key: rec.Key, Obj: newest.LastState()}
		return newest.Type != clientgo.Deleted
	}
	if _, exists, err := q.Known.GetByKey(rec.Key); err == nil && !exists {
		return false
	}
	rec.Object = q.Tombstone(rec.Key).Object
	return true
}

// Tombstone returns the deletion of a known object for which no event was received. Its object is
// nil if it cannot be looked up.
func (q *Queue) Tombstone(key string) event.Record {
	obj, _ := q.lookUp(key, "No last state for a deleted object")
	return DeletionOf(clientgo.DeletedFinalStateUnknown{Key: key, Obj: obj})
}

func DeletionOf(tombstone clientgo.DeletedFinalStateUnknown) event.Record {
	return event.Record{Type: clientgo.Deleted, Key: tombstone.Key, Object: tombstone}
}

// ResyncKnownLocked queues a Sync for each known object without a queued item, until one has no key: it
// returns that error.
func (q *Queue) ResyncKnownLocked(isQueued func(key string) bool) error {
	if q.Known == nil {
		return nil
	}
	keys := event.Keys{Opens: q.options.Opens} // q.Reader's may be in use
	keys.Init(q.options.KeyFunc, q.options.UsualKey)
	for _, key := range q.Known.ListKeys() {
		if isQueued(key) {
			continue
		}
		obj, exists := q.lookUp(key, "Object left out of a resync")
		if !exists {
			continue
		}
		if _, err := keys.KeyOf(obj, false); err != nil {
			return fmt.Errorf("resync of %q: %w", key, err)
		}
		version, _ := event.VersionOf(obj)
		q.AppendLocked(event.Record{Type: clientgo.Sync, Key: key, Version: version, Object: obj})
	}
	return nil
}

// lookUp returns a known object. If it cannot be looked up, that is logged.
func (q *Queue) lookUp(key, message string) (obj any, exists bool) {
	obj, exists, err := q.Known.GetByKey(key)
	switch {
	case err != nil:
		event.ReportTo(q.Reader.Logger, event.Redacted(err), message+": lookup failed", "key", key)
	case !exists:
		q.Reader.Logger.Info(message+": gone from the known objects", "key", key)
	default:
		return obj, true
	}
	return nil, false
}

// admitsLocked reports whether a change of the object must be queued.
func (q *Queue) admitsLocked(typ clientgo.DeltaType, key string) bool {
	return q.options.Admits == nil || q.options.Admits(typ, key)
}

// AnnounceLocked wakes the consumers after a put.
func (q *Queue) AnnounceLocked() {
	q.Mu.arrival.Broadcast()
	q.showDepthLocked()
}

// workLocked processes a batch, without the lock if the queue allows that.
func (q *Queue) workLocked(batch []event.Record, isInInitialList bool, process ProcessFunc) error {
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

// restLocked ends the processing of a batch, and wakes the goroutines that wait for that.
func (q *Queue) restLocked() {
	q.Mu.processed += uint64(q.Mu.working)
	q.Mu.working = 0
	q.Mu.arrival.Broadcast()
}

// Settle blocks until the items that wait or are being processed now have been processed, or ctx ends. It is
// for queues in order of arrival that process without the lock.
func (q *Queue) Settle(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		q.Mu.Lock()
		defer q.Mu.Unlock()
		q.Mu.arrival.Broadcast()
	})()
	q.Mu.Lock()
	defer q.Mu.Unlock()
	for last := q.Mu.processed + uint64(q.Mu.working+q.Waiting.Len()); q.Mu.processed < last && ctx.Err() == nil; {
		q.Mu.arrival.Wait()
	}
}

// showDepthLocked sets the metric of the number of waiting items.
func (q *Queue) showDepthLocked() {
	if q.options.Depth != nil {
		q.options.Depth.Set(float64(q.Waiting.Len()))
	}
}

// Room returns the number of items that may be put before the queue is full. If it is 0, freed is
// closed when there is room again. A closed queue counts as empty, so that no goroutine waits for
// it.
func (q *Queue) Room() (items int, freed <-chan struct{}) {
	if q.limit.items.Load() == 0 {
		return event.BatchLimit, nil
	}
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if q.Mu.closed {
		return q.limit.room(0)
	}
	return q.limit.room(q.Waiting.Len())
}

// SetLimit bounds the queue: while n items wait, a reflector of this module does not read from its
// watch. 0 or less means no bound. Items put by other callers are accepted beyond it.
func (q *Queue) SetLimit(n int) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.limit.set(n, q.Waiting.Len())
}

// Pending returns the number of items that are waiting or being processed.
func (q *Queue) Pending() int {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.Waiting.Len() + q.Mu.working
}

// Depths describes how full a queue is, and how often and for how long its bound has paused
// reading.
type Depths struct {
	Waiting, Limit int // numbers of items
	Pauses         uint64
	Paused         time.Duration
}

// Depths returns the current numbers.
func (q *Queue) Depths() Depths {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	d := Depths{
		Waiting: q.Waiting.Len(), Limit: int(q.limit.items.Load()),
		Pauses: q.limit.pauses, Paused: q.limit.paused,
	}
	if q.limit.freed != nil {
		d.Paused += time.Since(q.limit.since)
	}
	return d
}

// Options configure a queue. The zero value is a queue without a name, in order of arrival, with
// MetaNamespaceKeyFunc.
type Options struct {
	Name   string
	Logger *klog.Logger // gets the queue's name; nil means klog.Background

	// KeyFunc returns an object's key; nil means MetaNamespaceKeyFunc. UsualKey means that KeyFunc
	// is equivalent to that function.
	KeyFunc  clientgo.KeyFunc
	UsualKey bool
	Opens    event.Wrapping           // wrappings to be removed from the object that KeyFunc gets
	Stored   event.KeyFinder          // has the strings of keys; if nil, the queue keeps some itself
	Known    clientgo.KeyListerGetter // the objects of the queue's consumer; nil if they do not matter

	Transform  clientgo.TransformFunc // may be nil
	KeepCached bool                   // an object of a list that cannot be transformed keeps its cached version and is no error

	Order  Order                                         // nil means order of arrival
	Admits func(typ clientgo.DeltaType, key string) bool // in the order by key: reports whether a record must be queued; nil means always

	Bookmarks bool // queue bookmarks instead of dropping them
	Unlocked  bool // process without holding the lock
	Early     bool // HasSynced counts items when they are taken instead of when they are processed

	Identifier clientgo.InformerNameAndResource
	Depth      clientgo.GaugeMetric     // number of waiting items; may be nil
	Latency    clientgo.HistogramMetric // seconds spent processing one pop; may be nil
}

// New returns an empty queue.
func New(o Options) *Queue {
	if o.Order == nil {
		o.Order = &Arrivals{}
	}
	q := &Queue{Known: o.Known, Waiting: o.Order, Unlocked: o.Unlocked, options: o}
	q.Life = Life{queue: q, done: done{o.Name, make(chan struct{})}}
	q.Mu.arrival.L = &q.Mu
	o.initReader(&q.Reader)
	return q
}

func (o *Options) initReader(r *event.Reader) {
	r.Logger = klog.LoggerWithName(ptr.Deref(o.Logger, klog.Background()), o.Name)
	r.Keys.Init(o.KeyFunc, o.UsualKey)
	r.Keys.Opens, r.Keys.Known = o.Opens, o.Stored
	r.Transform.Function, r.Transform.KeepCached = o.Transform, o.KeepCached
}

// NewReader returns a reader like the queue's own, for an additional goroutine that puts.
func (q *Queue) NewReader() *event.Reader {
	r := &event.Reader{}
	q.options.initReader(r)
	return r
}

// Life has the methods for the beginning and the end of a queue. The queue types embed it.
type Life struct {
	queue *Queue
	done
}

// done is the DoneChecker of a queue. It refers to nothing else of the queue.
type done struct {
	name   string
	synced chan struct{} // closed when the initial population was processed
}

// Name returns the queue's name, for logs.
func (d done) Name() string { return d.name }

// Done returns a channel that is closed when HasSynced becomes true.
func (d done) Done() <-chan struct{} { return d.synced }

// HasSynced reports whether all items of the first Replace were processed, or an item was put
// before any Replace.
func (d done) HasSynced() bool { return clientgo.IsDone(d) }

// HasSyncedChecker returns HasSynced as a DoneChecker.
func (d done) HasSyncedChecker() clientgo.DoneChecker { return d }

// Close makes each Pop return ErrFIFOClosed once no item is left. It may be called more than once.
// It waits only for a process function that runs under the lock.
func (l *Life) Close() {
	q := l.queue
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.Mu.closed = true
	q.Mu.arrival.Broadcast()
	q.limit.end()
}

// IsClosed reports whether Close was called.
func (l *Life) IsClosed() bool {
	l.queue.Mu.Lock()
	defer l.queue.Mu.Unlock()
	return l.queue.Mu.closed
}

// populateLocked records that the queue was filled by other means than a Replace.
func (q *Queue) populateLocked() {
	if !q.Mu.populated {
		q.Mu.populated = true
		q.checkSyncedLocked()
	}
}

// PopulateInitialLocked records that a Replace has queued n items. Only the first population
// counts.
func (q *Queue) PopulateInitialLocked(n int) {
	if q.Mu.populated {
		return
	}
	q.Mu.populated, q.Mu.initial = true, n
	q.checkSyncedLocked()
}

// throughLocked records that n items were processed.
func (q *Queue) throughLocked(n int) {
	if q.Mu.initial > 0 {
		q.Mu.initial -= min(n, q.Mu.initial)
		q.checkSyncedLocked()
	}
}

// isInitialLocked reports whether the next items belong to the initial list, that is, whether
// HasSynced is false.
func (q *Queue) isInitialLocked() bool { return !q.Mu.over }

func (q *Queue) checkSyncedLocked() {
	if q.Mu.populated && q.Mu.initial == 0 && !q.Mu.over {
		q.Mu.over = true
		close(q.synced)
	}
}

// awaitLocked blocks until an item waits and no batch is being processed. It returns ErrFIFOClosed
// when the queue is closed and empty, and no batch is being processed.
func (q *Queue) awaitLocked() error {
	for q.Waiting.Len() == 0 || q.Mu.working > 0 {
		if q.Mu.closed && q.Mu.working == 0 {
			return clientgo.ErrFIFOClosed
		}
		q.Mu.arrival.Wait()
	}
	return nil
}
