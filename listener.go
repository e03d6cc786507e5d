// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// overflow is what is done about a handler that is slower than the changes come.
type overflow uint8

const (
	lossless   overflow = iota // what it has still to hear waits in memory
	block                      // room asks for no more than listenerOptions.max
	coalesce                   // what waits is merged by object
	disconnect                 // it is removed when more than listenerOptions.max wait
)

// errDisconnected is what listenerOptions.onDisconnect gets, wrapped in an error that says how far the handler was behind.
var errDisconnected = errors.New("event handler disconnected")

// listenerOptions say how a handler is served. The zero value is everything, in order, one call at a time.
type listenerOptions struct {
	name         string // what logs call the handler
	overflow     overflow
	max          int // with block and disconnect: how many notifications may wait, the one that it is at included
	parallel     int // how many goroutines call the handler; 0 is one
	onDisconnect func(error)
	resync       time.Duration // how often the handler wants to hear of everything again; 0 is never
	check        time.Duration // how often it is asked who is due for that; 0 is never
	logger       klog.Logger
}

// processorListener is one registration of a handler. What the handler has still to hear is read from the processor's log by
// its couriers.
type processorListener struct {
	processor *sharedProcessor
	handler   ResourceEventHandler
	logger    klog.Logger
	name      string
	overflow  overflow
	max       int
	dropped   func(error) // listenerOptions.onDisconnect
	resync    resyncSchedule

	couriers []*courier // at least one
	live     int        // couriers that have not ended, guarded by the processor's lock
	joinedAt int64      // where in the log it was added; set before its couriers see it

	unsynced atomic.Int64  // couriers whose initial list is not through
	synced   chan struct{} // closed when that is none
	hopeless chan struct{} // closed with syncFailed; nil until somebody waits; guarded by the processor's lock

	syncFailed atomic.Pointer[syncFailure]

	closed   atomic.Bool   // the handler is not called again
	closing  chan struct{} // closed with closed
	finished chan struct{} // closed when the last call has returned, too
	slow     atomic.Bool   // that the handler is slow was logged, and it has not caught up since
	fault    atomic.Bool   // it was removed because it was too slow
}

// newProcessorListener makes a listener that is not registered yet.
func newProcessorListener(p *sharedProcessor, handler ResourceEventHandler, o listenerOptions) *processorListener {
	parallel := max(1, o.parallel)
	l := &processorListener{
		processor: p,
		handler:   handler,
		logger:    o.logger,
		name:      o.name,
		overflow:  o.overflow,
		max:       o.max,
		dropped:   o.onDisconnect,
		live:      parallel,
		synced:    make(chan struct{}),
		closing:   make(chan struct{}),
		finished:  make(chan struct{}),
	}
	l.resync.init(o.resync, effectiveResyncPeriod(o.logger, o.resync, o.check), p.clock.Now())
	l.unsynced.Store(int64(parallel))
	for number := range parallel {
		c := &courier{listener: l, number: uint64(number)}
		if l.coalesces() {
			c.mu.pending = newCoalescer()
		}
		l.couriers = append(l.couriers, c)
	}
	return l
}

func (l *processorListener) coalesces() bool { return l.overflow == coalesce }

// needsKeys reports whether calls are merged or handed out by object.
func (l *processorListener) needsKeys() bool { return l.coalesces() || len(l.couriers) > 1 }

// boundsLog reports whether max bounds how far the handler may be behind.
func (l *processorListener) boundsLog() bool {
	return l.overflow == block || l.overflow == disconnect
}

// courierSynced is called once by each courier whose part of the initial list is through.
func (l *processorListener) courierSynced() {
	if l.unsynced.Add(-1) == 0 {
		close(l.synced)
	}
}

// courierEnded is called once for each courier of a removed listener. The caller holds the processor's lock.
func (l *processorListener) courierEnded() {
	if l.live--; l.live == 0 {
		delete(l.processor.mu.leaving, l)
		close(l.finished)
	}
}

// longestCall returns how long the oldest of the running calls has lasted.
func (l *processorListener) longestCall(now int64) (longest time.Duration) {
	for _, c := range l.couriers {
		lasts, _ := c.call(now)
		longest = max(longest, lasts)
	}
	return longest
}

// figures returns what is known of the handler. It waits for nobody.
func (l *processorListener) figures() figures {
	all := figures{disconnected: l.fault.Load(), removed: l.closed.Load()}
	now := l.processor.now()
	for _, c := range l.couriers {
		c.addFigures(&all, now)
	}
	all.stuck = all.calling >= stuckCall
	return all
}

// refuse makes a listener that was never registered one that is removed.
func (l *processorListener) refuse() {
	l.syncFailed.Store(&syncFailure{errRemovedUnsynced})
	l.closed.Store(true)
	close(l.closing)
	close(l.finished)
}

// behind returns how many notifications the handler has not returned from; with Parallel from the oldest of these on.
func (l *processorListener) behind() int {
	most := int64(0)
	for _, c := range l.couriers {
		c.mu.Lock()
		if c.mu.state == courierAtWork {
			most = max(most, l.processor.bounded.Load()-c.mu.counted)
		}
		c.mu.Unlock()
	}
	return int(most)
}

func (l *processorListener) foldBehind() {
	for _, c := range l.couriers {
		c.foldBehind()
	}
}

const (
	// panicPause keeps a handler that panics all the time from filling the log, as in client-go.
	panicPause = time.Second

	// A call that takes longer than slowCall while more than deepBacklog calls are outstanding is worth a line in the log.
	deepBacklog = 1024
	slowCall    = 100 * time.Millisecond
)

func (l *processorListener) pauseAfterPanic() {
	timer := time.NewTimer(panicPause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.closing:
	}
}

// logSlowCall says once that the handler is slow, until it has caught up.
func (l *processorListener) logSlowCall(took time.Duration, backlog int64) {
	if backlog > deepBacklog && !l.slow.Swap(true) {
		l.logger.Info("Warning: an event handler is slow and falls behind; this is said once until it has caught up",
			"handler", l.name, "call", took, "pendingNotifications", backlog)
	}
}
