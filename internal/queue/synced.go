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
	Life
	ending func() // called under the lock by Close; nil: nothing is

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
	q.Life = Life{of: q, done: done{name, make(chan struct{})}}
	q.Mu.Arrival.L = &q.Mu
}

// Life is what the types of queues, which embed it, show of the beginning and the end of theirs.
type Life struct {
	of *Synced
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
	q.Mu.Arrival.Broadcast()
	if q.ending != nil {
		q.ending()
	}
}

// IsClosed reports whether Close was called.
func (l *Life) IsClosed() bool {
	l.of.Mu.Lock()
	defer l.of.Mu.Unlock()
	return l.of.Mu.closed
}

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
