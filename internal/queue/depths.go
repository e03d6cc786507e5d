// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

import "time"

// SetLimit bounds the queue: once n items wait, a reflector of this package reads no further from
// its watch until some are taken. How far the server waits for that is the server's business; a
// watch that it ends meanwhile goes on later from the last resourceVersion. 0 or less is no bound,
// as in the beginning.
//
// The limit holds up our reflectors only. What is put by anybody else, lists, resyncs and the
// bookmarks of a full queue are taken in beyond it. What is being processed does not count.
func (q *Queue) SetLimit(n int) {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	q.limit.set(n, q.Waiting.Len())
}

// Pending returns how many items were put and are not processed yet: those that wait and those that
// are being processed.
func (q *Queue) Pending() int {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	return q.Waiting.Len() + q.Mu.working
}

// Depths is how full a queue is, and what its bounds have cost.
type Depths struct {
	Waiting, Limit int // items
	Pauses         uint64
	Paused         time.Duration
}

// Depths returns how full the queue is now.
func (q *Queue) Depths() Depths {
	q.Mu.Lock()
	defer q.Mu.Unlock()
	d := Depths{
		Waiting: q.Waiting.Len(), Limit: int(q.limit.items.Load()),
		Pauses: q.limit.pauses, Paused: q.limit.paused,
	}
	if q.limit.freed != nil {
		d.Paused += time.Since(q.limit.since)
	}
	return d
}
