// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"slices"
	"sync"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/internal/event"
)

// Queue is what RealFIFO and DeltaFIFO are made of: records that wait in an order.
//
// The reader completes the records of a batch that is put: key, version, transform. No lock is
// held. Pop counts what was processed for HasSynced, and gets its memory back.
//
// A batch has one owner at a time. The slice that is put stays the putter's. Records that are taken
// are the process function's until it returns; then their memory is used again. Objects are never
// copied.
type Queue struct {
	Life
	options Options
	Known   clientgo.KeyListerGetter
	Reader  event.Reader

	Unlocked bool  // process without holding Mu
	Waiting  Order // guarded by Mu
	limit    queueLimit
	seen     map[string]struct{} // memory of UniqueLocked; guarded by Mu

	// Direct processes a batch in the goroutine that puts it, and reports whether it could. It
	// reports its own errors and does not panic. Set before the first put, and only where no
	// function of the user's could wait for that goroutine; nil: a consumer takes everything.
	Direct func(batch []event.Record, isInInitialList bool) bool

	// Through is called under the lock after each batch that a consumer has processed without the
	// lock; nil: it is not.
	Through func()

	Mu struct {
		sync.Mutex
		arrival   sync.Cond // an item came, or the queue was closed
		closed    bool
		working   int  // items that are being processed without the lock
		populated bool // something was put, or a Replace came
		initial   int  // items of the first Replace that are not through yet
		over      bool // synced is closed: what comes now is not of the initial list
	}
}

// ProcessFunc is what a consumer does with a batch, which is its own until it returns.
type ProcessFunc = func(batch []event.Record, isInInitialList bool) error

// PutBatch queues records in their order, under one lock. Given are Type (Added, Updated, Deleted
// or Bookmark), Object and Version as received; the reader fills in the rest. The slice is the
// caller's again when the call returns, cleared. A record that cannot be queued is left out, and is
// among what is returned. A deletion that cannot be transformed is queued, as the object is gone.
func (q *Queue) PutBatch(records []event.Record) []event.Refused {
	return q.PutBatchOf(&q.Reader, records)
}

// PutBatchOf is PutBatch with another reader, for one of several putters; see NewReader.
func (q *Queue) PutBatchOf(reader *event.Reader, records []event.Record) []event.Refused {
	defer clear(records)
	admitted, refused := q.admitBatch(reader, records)
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if !q.Mu.populated && (len(refused) > 0 || slices.ContainsFunc(admitted, func(r event.Record) bool { return r.Keyed() })) {
		q.populateLocked()
	}
	if len(admitted) > 0 && !q.processHereLocked(admitted) {
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
			event.ReportTo(q.Reader.Logger, event.Discreet(err), "Object deleted without its last state: transform failed", "key", rec.Key)
		}
		if n != i {
			records[n] = *rec
		}
		n++
	}
	return records[:n], refused
}

// Put queues one change that did not come in a batch. One that cannot be transformed is not queued,
// as in client-go: the caller knows.
func (q *Queue) Put(typ clientgo.DeltaType, obj any) error { return q.put(typ, obj, true) }

// PutKeyed is Put, but HasSynced does not count an object without a key.
func (q *Queue) PutKeyed(typ clientgo.DeltaType, obj any) error { return q.put(typ, obj, false) }

func (q *Queue) put(typ clientgo.DeltaType, obj any, counts bool) error {
	one := [1]event.Record{{Type: typ, Object: obj}} // an array, which is not copied to be appended
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

// AppendLocked queues the records that are worth it.
func (q *Queue) AppendLocked(records ...event.Record) {
	defer q.AnnounceLocked()
	arrivals, ok := q.Waiting.(*Arrivals)
	if ok && (q.Known == nil || !slices.ContainsFunc(records, func(r event.Record) bool { return r.Lost() })) { // all at once: a put is these copies more than anything else
		arrivals.push(records...)
		return
	}
	for i := range records {
		rec := &records[i]
		if q.admitsLocked(rec.Type, rec.Key) && (q.Known == nil || !rec.Lost() || q.recoverLocked(rec)) {
			q.Waiting.Put(*rec)
		}
	}
}

// recoverLocked gives a deletion whose last state was refused the object that is known in its
// place. It reports false if there is none, so that nobody needs to hear of the deletion.
func (q *Queue) recoverLocked(rec *event.Record) (known bool) {
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

// Tombstone returns the deletion of a known object that nobody saw. An object that cannot be had is
// nil.
func (q *Queue) Tombstone(key string) event.Record {
	obj, _ := q.lookUp(key, "No last state for a deleted object")
	return DeletionOf(clientgo.DeletedFinalStateUnknown{Key: key, Obj: obj})
}

func DeletionOf(tombstone clientgo.DeletedFinalStateUnknown) event.Record {
	return event.Record{Type: clientgo.Deleted, Key: tombstone.Key, Object: tombstone}
}

// ResyncKnownLocked queues a Sync for each known object that nothing is queued for.
func (q *Queue) ResyncKnownLocked(isQueued func(key string) bool) {
	if q.Known == nil {
		return
	}
	for _, key := range q.Known.ListKeys() {
		if isQueued(key) {
			continue
		}
		if obj, exists := q.lookUp(key, "Object left out of a resync"); exists {
			version, _ := event.VersionOf(obj)
			q.AppendLocked(event.Record{Type: clientgo.Sync, Key: key, Version: version, Object: obj})
		}
	}
}

// lookUp returns a known object. One that cannot be had is a line in the log.
func (q *Queue) lookUp(key, message string) (obj any, exists bool) {
	obj, exists, err := q.Known.GetByKey(key)
	switch {
	case err != nil:
		event.ReportTo(q.Reader.Logger, event.Discreet(err), message+": lookup failed", "key", key)
	case !exists:
		q.Reader.Logger.Info(message+": gone from the known objects", "key", key)
	default:
		return obj, true
	}
	return nil, false
}

// admitsLocked reports whether a change of the object is worth its place.
func (q *Queue) admitsLocked(typ clientgo.DeltaType, key string) bool {
	return q.options.Admits == nil || q.options.Admits(typ, key)
}

// AnnounceLocked lets consumers know that something was put.
func (q *Queue) AnnounceLocked() {
	q.Mu.arrival.Broadcast()
	q.showDepthLocked()
}

// processHereLocked processes the batch in this goroutine if that changes nothing but the time it
// takes: nothing is before it in the queue or in work, and the queue is open. It releases the lock
// meanwhile.
func (q *Queue) processHereLocked(batch []event.Record) (done bool) {
	if q.Direct == nil || q.Mu.closed || q.Mu.working > 0 || q.Waiting.Len() > 0 {
		return false
	}
	_ = q.workLocked(batch, !q.Mu.over, func(batch []event.Record, isInInitialList bool) error {
		done = q.Direct(batch, isInInitialList)
		return nil
	})
	return done
}

// workLocked has a batch processed, without the lock if the queue allows that.
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

// restLocked lets others work on what came meanwhile.
func (q *Queue) restLocked() {
	q.Mu.working = 0
	if q.Waiting.Len() > 0 || q.Mu.closed {
		q.Mu.arrival.Broadcast()
	}
}

// showDepthLocked publishes how many items wait.
func (q *Queue) showDepthLocked() {
	if q.options.Depth != nil {
		q.options.Depth.Set(float64(q.Waiting.Len()))
	}
}

// Room returns how many more items the queue would like to be given at once. If that is 0, freed is
// closed when there is room again. A closed queue counts as empty: nobody is to wait for that.
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

// SetLimit bounds the queue: once n items wait, a reflector of this module reads no further from
// its watch until some are taken. 0 or less is no bound. What anybody else puts is taken in beyond
// it.
func (q *Queue) SetLimit(n int) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.limit.set(n, q.Waiting.Len())
}

// Pending returns how many items were put and are not processed yet: those that wait and those that
// are being processed.
func (q *Queue) Pending() int {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.Waiting.Len() + q.Mu.working
}

// Depths is how full a queue is, and what its bounds have cost.
type Depths struct {
	Waiting, Limit int // items
	Pauses         uint64
	Paused         time.Duration
}

// Depths returns how full the queue is now.
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

// Options say what a queue is to be. The zero value is a queue without a name, in order of arrival,
// by MetaNamespaceKeyFunc.
type Options struct {
	Name   string
	Logger *klog.Logger // gets the queue's name; nil: klog.Background

	// KeyFunc tells objects apart; nil is MetaNamespaceKeyFunc. UsualKey says that it is that
	// function by another name.
	KeyFunc  clientgo.KeyFunc
	UsualKey bool
	Opens    event.Wrapping           // what it looks into for the object that KeyFunc gets
	Stored   event.KeyFinder          // has the strings of keys; nil: the queue remembers some
	Known    clientgo.KeyListerGetter // the objects that its consumer has; nil: what they are does not matter

	Transform  clientgo.TransformFunc // nil: objects stay as they are
	KeepCached bool                   // what a list has of an object that cannot be transformed: its cached version, not an error

	Order  Order                                         // nil: that of arrival
	Admits func(typ clientgo.DeltaType, key string) bool // in the order by key: whether a record is worth its place; nil: always

	Bookmarks bool // keep them; else they are dropped
	Unlocked  bool // process without the lock
	Early     bool // HasSynced counts items when they are taken, not when they are processed

	Identifier clientgo.InformerNameAndResource
	Depth      clientgo.GaugeMetric     // items waiting; nil: nobody looks at it
	Latency    clientgo.HistogramMetric // seconds spent processing one pop; nil: nobody looks at it
}

// New returns an empty queue.
func New(o Options) *Queue {
	if o.Order == nil {
		o.Order = &Arrivals{}
	}
	q := &Queue{Known: o.Known, Waiting: o.Order, Unlocked: o.Unlocked, options: o}
	q.Life = Life{of: q, done: done{o.Name, make(chan struct{})}}
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

// NewReader returns a reader like the queue's own, for a goroutine that puts beside another one.
func (q *Queue) NewReader() *event.Reader {
	r := &event.Reader{}
	q.options.initReader(r)
	return r
}

// Life is what the types of queues, which embed it, show of the beginning and the end of theirs.
type Life struct {
	of *Queue
	done
}

// done is the DoneChecker of a queue, and shows nothing else of it.
type done struct {
	name   string
	synced chan struct{} // closed once the initial population is through
}

// Name returns the queue's name, for logs.
func (d done) Name() string { return d.name }

// Done returns a channel that is closed when HasSynced turns true.
func (d done) Done() <-chan struct{} { return d.synced }

// HasSynced reports whether all that the first Replace brought is through, or something was put
// before any Replace.
func (d done) HasSynced() bool { return clientgo.IsDone(d) }

// HasSyncedChecker returns what HasSynced answers as a channel.
func (d done) HasSyncedChecker() clientgo.DoneChecker { return d }

// Close lets every waiting Pop return with ErrFIFOClosed once nothing is left to take. It may be
// called more than once. It waits for a process function that runs under the lock, and for no
// other.
func (l *Life) Close() {
	q := l.of
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.Mu.closed = true
	q.Mu.arrival.Broadcast()
	q.limit.end()
}

// IsClosed reports whether Close was called.
func (l *Life) IsClosed() bool {
	l.of.Mu.Lock()
	defer l.of.Mu.Unlock()
	return l.of.Mu.closed
}

// populateLocked notes that the queue was filled by other means than a Replace.
func (q *Queue) populateLocked() {
	if !q.Mu.populated {
		q.Mu.populated = true
		q.checkSyncedLocked()
	}
}

// PopulateInitialLocked notes that a Replace left n items; only the first population counts.
func (q *Queue) PopulateInitialLocked(n int) {
	if q.Mu.populated {
		return
	}
	q.Mu.populated, q.Mu.initial = true, n
	q.checkSyncedLocked()
}

// throughLocked notes that n items have left the queue.
func (q *Queue) throughLocked(n int) {
	if q.Mu.initial > 0 {
		q.Mu.initial -= min(n, q.Mu.initial)
		q.checkSyncedLocked()
	}
}

// isInitialLocked reports whether what is next belongs to the initial list, as long as HasSynced is
// false.
func (q *Queue) isInitialLocked() bool { return !q.Mu.over }

func (q *Queue) checkSyncedLocked() {
	if q.Mu.populated && q.Mu.initial == 0 && !q.Mu.over {
		q.Mu.over = true
		close(q.synced)
	}
}

// awaitLocked waits until something waits and no batch is being processed. It returns ErrFIFOClosed
// when the queue is closed, empty and at rest.
func (q *Queue) awaitLocked() error {
	for q.Waiting.Len() == 0 || q.Mu.working > 0 {
		if q.Mu.closed && q.Mu.working == 0 {
			return clientgo.ErrFIFOClosed
		}
		q.Mu.arrival.Wait()
	}
	return nil
}
