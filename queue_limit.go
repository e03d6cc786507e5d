// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync/atomic"
	"time"
)

// queueLimit is the bound of a queue and what it has cost. The lock of the queue guards it, but for looks at items.
type queueLimit struct {
	items  atomic.Int64  // 0: none
	freed  chan struct{} // closed when the pause is over; nil: no pause
	since  time.Time     // when the pause began
	pauses uint64
	paused time.Duration // up to the last pause that is over
}

// SetLimit bounds the queue: once n items wait, a reflector of this package reads no further from its watch until some are
// taken. How far the server waits for that is the server's business; a watch that it ends meanwhile goes on later from the
// last resourceVersion. 0 or less is no bound, as in the beginning.
//
// The limit holds up our reflectors only. What is put by anybody else, lists, resyncs and the bookmarks of a full queue are
// taken in beyond it. What is being processed does not count.
func (q *recordQueue) SetLimit(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limit.items.Store(int64(max(n, 0)))
	q.resumeLocked()
}

// room returns how many more items the queue would like to be given at once. If that is 0, freed is closed when there is
// room again.
func (q *recordQueue) room() (items int, freed <-chan struct{}) {
	if q.limit.items.Load() == 0 {
		return drainLimit, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.isFullLocked() {
		return max(int(q.limit.items.Load())-q.waiting.len(), 1), nil
	}
	if q.limit.freed == nil {
		q.limit.freed, q.limit.since = make(chan struct{}), time.Now()
		q.limit.pauses++
	}
	return 0, q.limit.freed
}

// pending counts the items that were put and are not through: those that wait and those that are being processed.
func (q *recordQueue) pending() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting.len() + q.mu.working
}

// isFullLocked is false for a closed queue: nobody is to wait for that.
func (q *recordQueue) isFullLocked() bool {
	limit := int(q.limit.items.Load())
	return limit > 0 && !q.mu.closed && q.waiting.len() >= limit
}

// resumeLocked ends a pause that has no reason any more.
func (q *recordQueue) resumeLocked() {
	if q.limit.freed != nil && !q.isFullLocked() {
		close(q.limit.freed)
		q.limit.freed = nil
		q.limit.paused += time.Since(q.limit.since)
	}
}

// Close lets every waiting Pop return with ErrFIFOClosed once nothing is left to take. It may be called more than once. It
// waits for a process function that runs under the lock, and for no other.
func (q *recordQueue) Close() {
	q.queueCore.Close()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.resumeLocked()
}

// queueDepths is how full a queue is, and what its bound has cost.
type queueDepths struct {
	waiting, limit int // items
	pauses         uint64
	paused         time.Duration
	compacted      uint64 // records that a bound of histories has dropped
}

func (q *recordQueue) depths() queueDepths {
	q.mu.Lock()
	defer q.mu.Unlock()
	d := queueDepths{waiting: q.waiting.len(), limit: int(q.limit.items.Load()), pauses: q.limit.pauses, paused: q.limit.paused}
	if q.limit.freed != nil {
		d.paused += time.Since(q.limit.since)
	}
	if byKey, ok := q.waiting.(*byKey); ok {
		d.compacted = byKey.dropped
	}
	return d
}
