// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "runtime"

// workers are the goroutines in which handlers are called.
//
//	parked ──▶ ready ──▶ a worker's: it delivers until it has read all ──▶ standing by ──▶ parked
//	             ▲                                                              │
//	             └───────────────────── something was distributed ──────────────┘
//
// Most calls take less time than it takes to start a goroutine, so a worker sees to one courier after the other. Yet no
// handler waits for a call of another: while a courier is ready or stands by, a worker is coming, that is, in no call and
// about to look. A worker that is about to make a call has another one come first. If calls are quick, it is through
// with all couriers before that one begins; if a call blocks, that one sees to the rest.
//
// Couriers that have read all stand by, with their place in the log, until a worker has let others run and nothing was
// distributed meanwhile: then it parks them.
//
// The fields are guarded by sharedProcessor.mu.
type workers struct {
	ready    []*courier // those from first on
	first    int
	standing []*courier
	coming   bool
}

// await makes couriers ready. What was taken makes room for them, once it is half of the list: under a load that lasts,
// there is always somebody ready.
func (w *workers) await(couriers ...*courier) {
	if left := w.ready[w.first:]; w.first > len(left) {
		n := copy(w.ready, left)
		clear(left)
		w.ready, w.first = w.ready[:n], 0
	}
	w.ready = append(w.ready, couriers...)
}

// rouse makes those who stand by ready.
func (w *workers) rouse() {
	w.await(w.standing...)
	clear(w.standing)
	w.standing = w.standing[:0]
}

func (w *workers) anyReady() bool { return w.first < len(w.ready) }

// take returns the courier that is ready for longest, nil if none is.
func (w *workers) take() *courier {
	if !w.anyReady() {
		return nil
	}
	l := w.ready[w.first]
	w.ready[w.first] = nil
	if w.first++; w.first == len(w.ready) {
		w.ready, w.first = w.ready[:0], 0
	}
	return l
}

// callWorkerLocked has a worker come if one is needed. The caller starts it, when it has released the lock.
func (p *sharedProcessor) callWorkerLocked() (start bool) {
	w := &p.mu.workers
	if w.coming || !w.anyReady() && len(w.standing) == 0 {
		return false
	}
	w.coming = true
	p.running.Add(1)
	return true
}

// work is a worker, from its start to its end.
func (p *sharedProcessor) work() { p.workOn(p.next(nil)) }

// workOn goes on with a courier. If a handler ends the goroutine, another one takes over its place.
func (p *sharedProcessor) workOn(l *courier) {
	defer func() {
		if l == nil {
			p.running.Done()
		} else {
			go p.workOn(l)
		}
	}()
	for l != nil {
		l.work()
		l = p.next(l)
	}
}

// next puts down a courier and returns who is next: the same if there is more for it, nil if the worker is not needed any
// more. A worker that has just come has none to put down.
func (p *sharedProcessor) next(last *courier) (l *courier) {
	var said remark
	more, start := false, false
	p.mu.Lock()
	if last == nil {
		p.mu.workers.coming = false
	} else {
		said, more = p.putDownLocked(last)
	}
	if l = last; !more {
		l, start = p.takeNextLocked()
	}
	p.mu.Unlock()
	if start {
		go p.workFunc()
	}
	said.say()
	return l
}

// putDownLocked has a courier stand by that has read all. One with more to deliver stays the worker's.
func (p *sharedProcessor) putDownLocked(l *courier) (said remark, more bool) {
	state, said, more := l.pause(p.now())
	switch {
	case state == courierClosed:
		l.listener.courierEnded()
	case !more:
		p.mu.workers.standing = append(p.mu.workers.standing, l)
	}
	return said, more
}

// takeNextLocked returns the courier that is next, nil if the worker is not needed, and whether another worker is to be started
// because there may be a call.
func (p *sharedProcessor) takeNextLocked() (l *courier, start bool) {
	w := &p.mu.workers
	if l = w.take(); l == nil && !w.coming && len(w.standing) > 0 {
		l = p.lingerLocked()
	}
	return l, l != nil && p.callWorkerLocked()
}

// lingerLocked lets others run while nobody is ready: the producer may be about to distribute more. If it did not, those who
// stand by are parked. Meanwhile this worker is the one that is coming.
func (p *sharedProcessor) lingerLocked() *courier {
	w := &p.mu.workers
	w.coming = true
	p.mu.Unlock()
	runtime.Gosched()
	p.mu.Lock()
	w.coming = false
	if !w.anyReady() {
		p.parkStandingLocked()
	}
	return w.take()
}

func (p *sharedProcessor) parkStandingLocked() {
	w := &p.mu.workers
	for _, l := range w.standing {
		switch l.rest() {
		case courierParked:
			p.parkLocked(l)
		case courierClosed:
			l.listener.courierEnded()
		default: // there is more for it: whoever distributes that rouses it, but nobody is to rely on it here
			w.await(l)
		}
	}
	clear(w.standing)
	w.standing = w.standing[:0]
}
