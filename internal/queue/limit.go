// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync/atomic"
	"time"

	"github.com/kinformer/cache/internal/event"
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
func (q *Queue) SetLimit(n int) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.limit.items.Store(int64(max(n, 0)))
	q.resumeLocked()
}

// Room returns how many more items the queue would like to be given at once. If that is 0, freed is closed when there is
// room again.
func (q *Queue) Room() (items int, freed <-chan struct{}) {
	if q.limit.items.Load() == 0 {
		return event.BatchLimit, nil
	}
	q.Mu.Lock()
	defer q.Mu.Unlock()
	if !q.isFullLocked() {
		return max(int(q.limit.items.Load())-q.Waiting.Len(), 1), nil
	}
	if q.limit.freed == nil {
		q.limit.freed, q.limit.since = make(chan struct{}), time.Now()
		q.limit.pauses++
	}
	return 0, q.limit.freed
}

// Pending counts the items that were put and are not through: those that wait and those that are being processed.
func (q *Queue) Pending() int {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.Waiting.Len() + q.Mu.working
}

// isFullLocked is false for a closed queue: nobody is to wait for that.
func (q *Queue) isFullLocked() bool {
	limit := int(q.limit.items.Load())
	return limit > 0 && !q.Mu.closed && q.Waiting.Len() >= limit
}

// resumeLocked ends a pause that has no reason any more.
func (q *Queue) resumeLocked() {
	if q.limit.freed != nil && !q.isFullLocked() {
		close(q.limit.freed)
		q.limit.freed = nil
		q.limit.paused += time.Since(q.limit.since)
	}
}

// Close lets every waiting Pop return with ErrFIFOClosed once nothing is left to take. It may be called more than once. It
// waits for a process function that runs under the lock, and for no other.
func (q *Queue) Close() {
	q.Synced.Close()
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.resumeLocked()
}

// queueDepths is how full a queue is, and what its bound has cost.
type queueDepths struct {
	Waiting, Limit int // items
	Pauses         uint64
	Paused         time.Duration
	Compacted      uint64 // records that a bound of histories has dropped
}

func (q *Queue) Depths() queueDepths {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	d := queueDepths{Waiting: q.Waiting.Len(), Limit: int(q.limit.items.Load()), Pauses: q.limit.pauses, Paused: q.limit.paused}
	if q.limit.freed != nil {
		d.Paused += time.Since(q.limit.since)
	}
	if byKey, ok := q.Waiting.(*ByKey); ok {
		d.Compacted = byKey.dropped
	}
	return d
}
