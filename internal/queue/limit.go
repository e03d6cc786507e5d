// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"sync/atomic"
	"time"
)

// queueLimit is the bound of a queue, and what it has cost. The lock of the queue guards it, except
// that any goroutine may load items. A pause lasts from the moment when a reflector finds the queue
// full until there is room again, or nobody has to wait any more.
type queueLimit struct {
	items  atomic.Int64  // 0: none
	freed  chan struct{} // closed when the pause is over; nil: no pause
	since  time.Time     // when the pause began
	pauses uint64
	paused time.Duration // up to the last pause that is over
}

// set changes the bound of a queue in which so many items wait; 0 or less is none.
func (l *queueLimit) set(n, waiting int) {
	l.items.Store(int64(max(n, 0)))
	l.resume(waiting)
}

// room returns for how many items there is room. If there is none, a pause is on, and freed is
// closed at its end.
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

// resume ends a pause that has no reason any more.
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
