// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"runtime"
	"sync"

	"github.com/kinformer/cache/internal/event"
)

// pool has the workers, which are the goroutines that call handlers, and the consumers that they
// serve.
//
//	parked ──▶ ready ──▶ served by a worker until all is read ──▶ idle ──▶ parked
//	             ▲                                                 │
//	             └────────────── changes are distributed ──────────┘
//
// Most calls take less time than the start of a goroutine, so a worker serves one consumer after
// the other. Yet no handler waits for a call of another: while a consumer is ready or idle, a
// worker is spinning, that is, it is in no call and about to look for a consumer. A worker that is
// about to make a call starts another worker, which spins. If calls are quick, the first worker has
// served all consumers before the second one begins; if a call blocks, the second worker serves the
// rest.
//
// A consumer that has read all is idle and keeps its cursor in the log. It is parked if a worker
// has yielded and no change was distributed meanwhile.
type pool struct {
	feed     *feed
	watch    func()         // called under the feed's lock when a handler that was logged as slow may have caught up
	running  sync.WaitGroup // counts workers, and other goroutines that may call user code
	workFunc func()         // the method value work, created once because a go statement with a method allocates

	// The fields below are guarded by the feed's lock.
	ready    []*consumer // ready[first:]
	first    int
	idle     []*consumer
	parked   []*consumer
	leaving  map[*consumer]struct{} // closed consumers that a worker still serves
	spinning bool                   // a worker is in no call and about to look, or was started and has not begun
}

func (w *pool) init(f *feed) { w.feed, w.workFunc, w.leaving = f, w.work, map[*consumer]struct{}{} }

// push makes consumers ready. If more than half of the list was popped, its memory is reused: under
// a lasting load the list never becomes empty.
func (w *pool) push(consumers ...*consumer) {
	if left := w.ready[w.first:]; w.first > len(left) {
		n := copy(w.ready, left)
		clear(left)
		w.ready, w.first = w.ready[:n], 0
	}
	w.ready = append(w.ready, consumers...)
}

// pushIdle makes the idle consumers ready.
func (w *pool) pushIdle() {
	w.push(w.idle...)
	clear(w.idle)
	w.idle = w.idle[:0]
}

func (w *pool) anyReady() bool { return w.first < len(w.ready) }

// pop returns the consumer that became ready first, or nil if none is ready.
func (w *pool) pop() *consumer {
	if !w.anyReady() {
		return nil
	}
	c := w.ready[w.first]
	w.ready[w.first] = nil
	if w.first++; w.first == len(w.ready) {
		w.ready, w.first = w.ready[:0], 0
	}
	return c
}

// wakeLocked makes the idle consumers ready, and the parked ones that want any of the changes.
func (w *pool) wakeLocked(changes []event.Change) {
	w.pushIdle()
	still := w.parked[:0]
	for _, c := range w.parked {
		if c.share.wantsAny(changes) {
			c.enter(nil)
			w.push(c)
		} else {
			c.parkedAt = len(still)
			still = append(still, c)
		}
	}
	clear(w.parked[len(still):])
	w.parked = still
}

// parkLocked adds a consumer to the parked ones.
func (w *pool) parkLocked(c *consumer) {
	c.parkedAt = len(w.parked)
	w.parked = append(w.parked, c)
}

func (w *pool) unparkLocked(c *consumer) {
	last := len(w.parked) - 1
	moved := w.parked[last]
	w.parked[c.parkedAt], moved.parkedAt = moved, c.parkedAt
	w.parked[last] = nil
	w.parked = w.parked[:last]
}

// removeLocked closes a consumer. If it is in a call, it ends after the call.
func (w *pool) removeLocked(c *consumer) {
	if c.abandon() {
		w.leaving[c] = struct{}{}
	} else {
		w.unparkLocked(c)
		c.target.consumerEndedLocked()
	}
}

// endLocked is called when no worker serves a closed consumer any longer.
func (w *pool) endLocked(c *consumer) {
	delete(w.leaving, c)
	c.target.consumerEndedLocked()
}

// addWorkerLocked reports whether a worker is needed. If so, the caller must start a goroutine with
// workFunc after it has released the lock.
func (w *pool) addWorkerLocked() (start bool) {
	if w.spinning || !w.anyReady() && len(w.idle) == 0 {
		return false
	}
	w.spinning = true
	w.running.Add(1)
	return true
}

// work is the body of a worker's goroutine.
func (w *pool) work() { w.workOn(w.next(nil), false) }

// workOn serves a consumer, and then others until the worker is no longer needed. If a handler, or a
// log function, ends the goroutine, a new one continues, with ended set.
func (w *pool) workOn(c *consumer, ended bool) {
	defer func() {
		if c == nil {
			w.running.Done()
		} else {
			go w.workOn(c, true)
		}
	}()
	if ended {
		c.lose("ended its goroutine")
	}
	for c != nil {
		c.work()
		c = w.next(c)
	}
}

// next gives back the consumer that was served last, nil for a new worker, and returns the consumer
// to serve now: the same one if it has more to deliver, or nil if the worker is no longer needed.
func (w *pool) next(last *consumer) (c *consumer) {
	more, start := false, false
	w.feed.mu.Lock()
	if last == nil {
		w.spinning = false
	} else {
		more = w.pauseLocked(last)
	}
	if c = last; !more {
		c, start = w.nextLocked()
	}
	w.feed.mu.Unlock()
	if start {
		go w.workFunc()
	}
	return c
}

// pauseLocked makes a consumer idle if it has read all. If it has more to deliver, it stays with
// the worker.
func (w *pool) pauseLocked(c *consumer) (more bool) {
	state, more := c.pause(w.feed.now())
	switch {
	case state == consumerClosed:
		w.endLocked(c)
	case !more:
		w.idle = append(w.idle, c)
		if c.target.warned {
			w.watch()
		}
	}
	return more
}

// nextLocked returns the next consumer, or nil if the worker is not needed. start reports whether
// another worker must be started, because the consumer may make a call.
func (w *pool) nextLocked() (c *consumer, start bool) {
	if c = w.pop(); c == nil && !w.spinning && len(w.idle) > 0 {
		c = w.spinLocked()
	}
	return c, c != nil && w.addWorkerLocked()
}

// spinLocked releases the lock and yields while no consumer is ready, because more changes may be
// about to be distributed. If none is ready afterwards, the idle consumers are parked.
func (w *pool) spinLocked() *consumer {
	w.spinning = true
	w.feed.mu.Unlock()
	runtime.Gosched()
	w.feed.mu.Lock()
	w.spinning = false
	if !w.anyReady() {
		w.parkIdleLocked()
	}
	return w.pop()
}

func (w *pool) parkIdleLocked() {
	for _, c := range w.idle {
		switch c.park() {
		case consumerParked:
			w.parkLocked(c)
		case consumerClosed:
			w.endLocked(c)
		default: // it has more to deliver; Distribute makes idle consumers ready, but this does not rely on it
			w.push(c)
		}
	}
	clear(w.idle)
	w.idle = w.idle[:0]
}
