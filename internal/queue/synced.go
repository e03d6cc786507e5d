// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync"

	clientgo "k8s.io/client-go/tools/cache"
)

// Synced is what FIFO, DeltaFIFO and RealFIFO have in common: the lock, the wait of an idle
// consumer, and the account of the initial population that HasSynced is answered from.
type Synced struct {
	label  string
	synced chan struct{} // closed once the initial population is through

	Mu struct {
		sync.Mutex
		Arrival   sync.Cond // an item came, or the queue was closed
		closed    bool
		working   int  // items that are being processed without the lock
		populated bool // something was put, or a Replace came
		initial   int  // items of the first Replace that are not through yet
		over      bool // synced is closed: what comes now is not of the initial list
	}
}

func (q *Synced) Init(name string) {
	q.label = name
	q.synced = make(chan struct{})
	q.Mu.Arrival.L = &q.Mu
}

// Close lets every waiting Pop return with ErrFIFOClosed once nothing is left to take. It may be
// called more than once.
func (q *Synced) Close() {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.Mu.closed = true
	q.Mu.Arrival.Broadcast()
}

// IsClosed reports whether Close was called.
func (q *Synced) IsClosed() bool {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.Mu.closed
}

// HasSynced reports whether all that the first Replace brought is through, or something was put
// before any Replace.
func (q *Synced) HasSynced() bool { return clientgo.IsDone(q) }

// HasSyncedChecker returns what HasSynced answers as a channel.
func (q *Synced) HasSyncedChecker() clientgo.DoneChecker { return queueSynced{q.label, q.synced} }

// queueSynced is the DoneChecker of a queue, and shows nothing else of it.
type queueSynced struct {
	name string
	done <-chan struct{}
}

func (s queueSynced) Name() string { return s.name }

func (s queueSynced) Done() <-chan struct{} { return s.done }

// Name returns the queue's name, for logs.
func (q *Synced) Name() string { return q.label }

// Done returns a channel that is closed when HasSynced turns true.
func (q *Synced) Done() <-chan struct{} { return q.synced }

// PopulateLocked notes that the queue was filled by other means than a Replace.
func (q *Synced) PopulateLocked() {
	if !q.Mu.populated {
		q.Mu.populated = true
		q.checkSyncedLocked()
	}
}

// PopulateInitialLocked notes that a Replace left n items; only the first population counts.
func (q *Synced) PopulateInitialLocked(n int) {
	if q.Mu.populated {
		return
	}
	q.Mu.populated, q.Mu.initial = true, n
	q.checkSyncedLocked()
}

// ThroughLocked notes that n items have left the queue.
func (q *Synced) ThroughLocked(n int) {
	if q.Mu.initial > 0 {
		q.Mu.initial -= min(n, q.Mu.initial)
		q.checkSyncedLocked()
	}
}

// IsInitialLocked reports whether what is next belongs to the initial list, as long as HasSynced is
// false.
func (q *Synced) IsInitialLocked() bool { return !q.Mu.over }

func (q *Synced) checkSyncedLocked() {
	if q.Mu.populated && q.Mu.initial == 0 && !q.Mu.over {
		q.Mu.over = true
		close(q.synced)
	}
}

// AwaitLocked waits until length is not 0 and no batch is being processed. It returns ErrFIFOClosed
// when the queue is closed, empty and at rest.
func (q *Synced) AwaitLocked(length func() int) error {
	for length() == 0 || q.Mu.working > 0 {
		if q.Mu.closed && q.Mu.working == 0 {
			return clientgo.ErrFIFOClosed
		}
		q.Mu.Arrival.Wait()
	}
	return nil
}
