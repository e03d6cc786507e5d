// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/trace"
)

// queueCore is what FIFO, DeltaFIFO and RealFIFO have in common: the lock, the wait of an idle consumer, and the account
// of the initial population that HasSynced is answered from.
type queueCore struct {
	name    string
	keyFunc KeyFunc
	synced  chan struct{} // closed once the initial population is through

	mu struct {
		sync.Mutex
		arrival   sync.Cond // an item came, or the queue was closed
		closed    bool
		populated bool // something was put, or a Replace came
		initial   int  // items of the first Replace that are not through yet
	}
}

func (q *queueCore) init(name string, keyFunc KeyFunc) {
	q.name, q.keyFunc = name, keyFunc
	if q.keyFunc == nil {
		q.keyFunc = MetaNamespaceKeyFunc
	}
	q.synced = make(chan struct{})
	q.mu.arrival.L = &q.mu
}

// Close lets every waiting Pop return with ErrFIFOClosed once nothing is left to take. It may be called more than once.
func (q *queueCore) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.closed = true
	q.mu.arrival.Broadcast()
}

// IsClosed tells whether Close was called.
func (q *queueCore) IsClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.closed
}

// HasSynced tells whether all that the first Replace brought is through, or something was put before any Replace.
func (q *queueCore) HasSynced() bool { return IsDone(q) }

// HasSyncedChecker returns what HasSynced answers as a channel.
func (q *queueCore) HasSyncedChecker() DoneChecker { return q }

// Name returns the queue's name, for logs.
func (q *queueCore) Name() string { return q.name }

// Done returns a channel that is closed when HasSynced turns true.
func (q *queueCore) Done() <-chan struct{} { return q.synced }

// keyOf returns the key of an object, a Delta, Deltas (of their newest object) or a DeletedFinalStateUnknown. Its error is
// a KeyError.
func (q *queueCore) keyOf(obj any) (string, error) {
	if deltas, ok := obj.(Deltas); ok {
		if len(deltas) == 0 {
			return "", KeyError{Obj: obj, Err: ErrZeroLengthDeltasObject}
		}
		obj = deltas.Newest().Object
	}
	if delta, ok := obj.(Delta); ok {
		obj = delta.Object
	}
	if tombstone, ok := obj.(DeletedFinalStateUnknown); ok {
		return tombstone.Key, nil
	}
	return keyOf(q.keyFunc, obj)
}

// populateLocked notes that the queue was filled by other means than a Replace.
func (q *queueCore) populateLocked() {
	q.mu.populated = true
	q.checkSyncedLocked()
}

// populateInitialLocked notes that a Replace left n items; only the first population counts.
func (q *queueCore) populateInitialLocked(n int) {
	if q.mu.populated {
		return
	}
	q.mu.populated, q.mu.initial = true, n
	q.checkSyncedLocked()
}

// throughLocked notes that n items have left the queue.
func (q *queueCore) throughLocked(n int) {
	if q.mu.initial > 0 {
		q.mu.initial -= min(n, q.mu.initial)
		q.checkSyncedLocked()
	}
}

func (q *queueCore) checkSyncedLocked() {
	if q.mu.populated && q.mu.initial == 0 && !IsDone(q) {
		close(q.synced)
	}
}

// awaitLocked waits until length is not 0. It returns ErrFIFOClosed when the queue is closed and empty.
func (q *queueCore) awaitLocked(length func() int) error {
	for length() == 0 {
		if q.mu.closed {
			return ErrFIFOClosed
		}
		q.mu.arrival.Wait()
	}
	return nil
}

// A pop that leaves more than deepQueue items behind and takes longer than slowPop an item is worth a line in the log:
// the consumer is what holds the queue up.
const (
	deepQueue    = 10
	slowPop      = 100 * time.Millisecond
	slowPopBatch = time.Second
)

// traceSlowPop returns what to call when processing is over.
func traceSlowPop(title, key string, depth, batch int, more ...trace.Field) func() {
	if depth <= deepQueue {
		return func() {}
	}
	fields := append([]trace.Field{
		{Key: "ID", Value: key},
		{Key: "Depth", Value: depth},
		{Key: "BatchSize", Value: batch},
		{Key: "Reason", Value: "slow event handlers blocking the queue"},
	}, more...)
	t := trace.New(title, fields...)
	return func() { t.LogIfLong(min(slowPop*time.Duration(batch), slowPopBatch)) }
}

// transformed returns obj as it is to be queued. Tombstones are passed on as they are.
func transformed(transform TransformFunc, obj any) (any, error) {
	if transform == nil {
		return obj, nil
	}
	if _, isTombstone := obj.(DeletedFinalStateUnknown); isTombstone {
		return obj, nil
	}
	return transform(obj)
}

// tombstoneFor looks up what is known under key, for a deletion that nobody saw. An object that cannot be had is nil.
func tombstoneFor(logger klog.Logger, known KeyListerGetter, key string) DeletedFinalStateUnknown {
	obj, exists, err := known.GetByKey(key)
	switch {
	case err != nil:
		utilruntime.HandleErrorWithLogger(logger, err, "No last state for a deleted object: lookup failed", "key", key)
		obj = nil
	case !exists:
		logger.Info("No last state for a deleted object: gone from the known objects", "key", key)
		obj = nil
	}
	return DeletedFinalStateUnknown{Key: key, Obj: obj}
}

// replacedKeys computes the keys of a list before anything of it is queued.
func (q *queueCore) replacedKeys(list []any) (keys []string, err error) {
	keys = make([]string, len(list))
	for i, obj := range list {
		if keys[i], err = q.keyOf(obj); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
