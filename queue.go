// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"time"

	"k8s.io/utils/trace"
)

// queueCore is what FIFO, DeltaFIFO and RealFIFO have in common: the lock, the wait of an idle consumer, and the account
// of the initial population that HasSynced is answered from.
type queueCore struct {
	name   string
	synced chan struct{} // closed once the initial population is through

	mu struct {
		sync.Mutex
		arrival   sync.Cond // an item came, or the queue was closed
		closed    bool
		working   int  // items that are being processed without the lock
		populated bool // something was put, or a Replace came
		initial   int  // items of the first Replace that are not through yet
	}
}

func (q *queueCore) init(name string) {
	q.name = name
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

// IsClosed reports whether Close was called.
func (q *queueCore) IsClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.closed
}

// HasSynced reports whether all that the first Replace brought is through, or something was put before any Replace.
func (q *queueCore) HasSynced() bool { return IsDone(q) }

// HasSyncedChecker returns what HasSynced answers as a channel.
func (q *queueCore) HasSyncedChecker() DoneChecker { return queueSynced{q.name, q.synced} }

// queueSynced is the DoneChecker of a queue, and shows nothing else of it.
type queueSynced struct {
	name string
	done <-chan struct{}
}

func (s queueSynced) Name() string { return s.name }

func (s queueSynced) Done() <-chan struct{} { return s.done }

// Name returns the queue's name, for logs.
func (q *queueCore) Name() string { return q.name }

// Done returns a channel that is closed when HasSynced turns true.
func (q *queueCore) Done() <-chan struct{} { return q.synced }

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

// awaitLocked waits until length is not 0 and no batch is being processed. It returns ErrFIFOClosed when the queue is
// closed, empty and at rest.
func (q *queueCore) awaitLocked(length func() int) error {
	for length() == 0 || q.mu.working > 0 {
		if q.mu.closed && q.mu.working == 0 {
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
