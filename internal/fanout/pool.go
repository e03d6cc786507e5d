// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"runtime"
	"sync"

	"github.com/kinformer/cache/internal/event"
)

// pool are the workers, the goroutines that call handlers, and the consumers that they serve.
//
//	parked ──▶ ready ──▶ a worker's: it delivers until all is read ──▶ idle ──▶ parked
//	             ▲                                                      │
//	             └────────────── something was distributed ─────────────┘
//
// Most calls take less time than it takes to start a goroutine, so a worker serves one consumer
// after the other. Yet no handler waits for a call of another: while a consumer is ready or idle, a
// worker spins, that is, it is in no call and about to look. A worker that is about to make a call
// starts another one, which spins. If calls are quick, the first has served all before that one
// begins; if a call blocks, that one serves the rest.
//
// A consumer that has read all is idle, with its place in the log, until a worker has let others
// run and nothing was distributed meanwhile: then it is parked.
type pool struct {
	feed     *feed
	running  sync.WaitGroup // one for each worker, and for each other goroutine that may call the user
	workFunc func()         // work, made once: a go statement with a method allocates

	// Guarded by the feed's lock.
	ready    []*consumer // those from first on
	first    int
	idle     []*consumer
	parked   []*consumer
	leaving  map[*consumer]struct{} // closed, and a worker's
	spinning bool                   // a worker is in no call and about to look, or about to begin
}

func (w *pool) init(f *feed) { w.feed, w.workFunc, w.leaving = f, w.work, map[*consumer]struct{}{} }

// push makes consumers ready. What was popped makes room for them, once it is half of the list:
// under a load that lasts, the list never becomes empty.
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

// pop returns the consumer that is ready for longest, nil if none is.
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

// wakeLocked makes the parked consumers ready that want any of the changes, and the idle ones.
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

// parkLocked takes a consumer that has nothing to do.
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

// removeLocked closes a consumer. One that is in a call ends with that.
func (w *pool) removeLocked(c *consumer) {
	if c.abandon() {
		w.leaving[c] = struct{}{}
	} else {
		w.unparkLocked(c)
		c.target.consumerEndedLocked()
	}
}

// endLocked is called when no worker has a closed consumer any more.
func (w *pool) endLocked(c *consumer) {
	delete(w.leaving, c)
	c.target.consumerEndedLocked()
}

// addWorkerLocked reports whether a worker is needed. If so, the caller starts it, as a goroutine
// with workFunc, when it has released the lock.
func (w *pool) addWorkerLocked() (start bool) {
	if w.spinning || !w.anyReady() && len(w.idle) == 0 {
		return false
	}
	w.spinning = true
	w.running.Add(1)
	return true
}

// work is a worker, from its start to its end.
func (w *pool) work() { w.workOn(w.next(nil)) }

// workOn goes on with a consumer. If a handler ends the goroutine, another one takes its place.
func (w *pool) workOn(c *consumer) {
	defer func() {
		if c == nil {
			w.running.Done()
		} else {
			go w.workOn(c)
		}
	}()
	for c != nil {
		c.work()
		c = w.next(c)
	}
}

// next gives a consumer back and returns the one to serve now: the same if there is more for it,
// nil if the worker is not needed any more. A worker that has just started has none to give back.
func (w *pool) next(last *consumer) (c *consumer) {
	var said *remark
	more, start := false, false
	w.feed.mu.Lock()
	if last == nil {
		w.spinning = false
	} else {
		said, more = w.pauseLocked(last)
	}
	if c = last; !more {
		c, start = w.nextLocked()
	}
	w.feed.mu.Unlock()
	if start {
		go w.workFunc()
	}
	if said != nil {
		said.say()
	}
	return c
}

// pauseLocked makes a consumer idle that has read all. One with more to deliver stays the worker's.
func (w *pool) pauseLocked(c *consumer) (said *remark, more bool) {
	state, said, more := c.pause(w.feed.now())
	switch {
	case state == consumerClosed:
		w.endLocked(c)
	case !more:
		w.idle = append(w.idle, c)
	}
	return said, more
}

// nextLocked returns the consumer that is next, nil if the worker is not needed, and whether
// another worker is to be started because there may be a call.
func (w *pool) nextLocked() (c *consumer, start bool) {
	if c = w.pop(); c == nil && !w.spinning && len(w.idle) > 0 {
		c = w.spinLocked()
	}
	return c, c != nil && w.addWorkerLocked()
}

// spinLocked lets others run while nothing is ready: more may be about to be distributed. If it is
// not, the idle consumers are parked.
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
		default: // there is more for it: distribute makes it ready, too, but this does not rely on it
			w.push(c)
		}
	}
	clear(w.idle)
	w.idle = w.idle[:0]
}
