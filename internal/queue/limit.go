// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync/atomic"
	"time"
)

// UnlockedLimit is the number of waiting items from which client-go's queue no longer lets its reflector add others while it
// processes some. Here it is the limit of the queues that a slow event handler or process function would fill.
const UnlockedLimit = 2 * PopBatchSize

// queueLimit is the bound of a queue, with its statistics. It is guarded by the queue's lock,
// except that any goroutine may load items. A pause begins when a reflector finds the queue full,
// and ends when there is room again or the queue is closed.
type queueLimit struct {
	items  atomic.Int64  // the bound; 0 means none
	freed  chan struct{} // closed at the end of the pause; nil if there is none
	since  time.Time     // start of the pause
	pauses uint64
	paused time.Duration // total duration of the pauses that have ended
}

// set changes the bound of a queue with this number of waiting items. 0 or less means none.
func (l *queueLimit) set(n, waiting int) {
	l.items.Store(int64(max(n, 0)))
	l.resume(waiting)
}

// room returns the number of items for which there is room. If there is none, it begins a pause,
// and freed is closed at its end.
func (l *queueLimit) room(waiting int) (items int, freed <-chan struct{}) {
	if !l.reached(waiting) {
		return max(int(l.items.Load())-waiting, 1), nil
	}
	if l.freed == nil {
		l.freed, l.since = make(chan struct{}), time.Now()
		l.pauses++
	}
	return 0, l.freed
}

func (l *queueLimit) reached(waiting int) bool {
	limit := int(l.items.Load())
	return limit > 0 && waiting >= limit
}

// resume ends the pause if there is room.
func (l *queueLimit) resume(waiting int) {
	if l.freed != nil && !l.reached(waiting) {
		l.end()
	}
}

// end ends a pause.
func (l *queueLimit) end() {
	if l.freed != nil {
		close(l.freed)
		l.freed = nil
		l.paused += time.Since(l.since)
	}
}
