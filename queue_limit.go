// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "time"

// boundedStore is a batchStore that may be full.
type boundedStore interface {
	batchStore
	// room returns how many more items the store would like to be given at once. If that is 0, freed is closed when there
	// is room again.
	room() (items int, freed <-chan struct{})
}

// queueLimit is the bound of a queue and what it has cost. The lock of the queue guards it.
type queueLimit struct {
	items  int           // 0: none
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
	q.limit.items = max(n, 0)
	q.resumeLocked()
}

func (q *recordQueue) room() (items int, freed <-chan struct{}) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.isFullLocked() {
		if q.limit.items == 0 {
			return drainLimit, nil
		}
		return max(q.limit.items-q.waiting.len(), 1), nil
	}
	if q.limit.freed == nil {
		q.limit.freed, q.limit.since = make(chan struct{}), time.Now()
		q.limit.pauses++
	}
	return 0, q.limit.freed
}

// isFullLocked is false for a closed queue: nobody is to wait for that.
func (q *recordQueue) isFullLocked() bool {
	return q.limit.items > 0 && !q.mu.closed && q.waiting.len() >= q.limit.items
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

func (q *recordQueue) addLimitLocked(stats *QueueStats) {
	stats.Limit, stats.Pauses, stats.Paused = q.limit.items, q.limit.pauses, q.limit.paused
	if q.limit.freed != nil {
		stats.Paused += time.Since(q.limit.since)
	}
}
