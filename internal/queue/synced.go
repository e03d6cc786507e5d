// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import clientgo "k8s.io/client-go/tools/cache"

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
