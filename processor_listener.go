// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
)

// processorListener is one registration of a handler. It is the registration handle too. What the handler has still to hear
// is read from the processor's log by its couriers.
type processorListener struct {
	processor *sharedProcessor
	logger    klog.Logger
	handler   ResourceEventHandler // without the wrapper of Deliver
	delivery  Delivery             // with its defaults
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
	fault    atomic.Bool   // removed by Disconnect
}

type listenerConfig struct {
	logger       klog.Logger
	handler      ResourceEventHandler
	clock        clockNow
	requested    time.Duration // the resync period that the user asked for
	resyncPeriod time.Duration // the one that is possible
}

// clockNow tells the time.
type clockNow interface{ Now() time.Time }

// newProcessorListener makes a listener that is not registered yet. It fails for options of Deliver that make no sense.
func newProcessorListener(p *sharedProcessor, config listenerConfig) (*processorListener, error) {
	handler, delivery, err := unwrapDelivery(config.handler)
	if err != nil {
		return nil, err
	}
	warnOfTypedNil(config.logger, handler)
	l := &processorListener{
		processor: p,
		logger:    config.logger,
		handler:   handler,
		delivery:  delivery,
		live:      delivery.Parallel,
		synced:    make(chan struct{}),
		closing:   make(chan struct{}),
		finished:  make(chan struct{}),
	}
	l.resync.init(config.requested, config.resyncPeriod, config.clock.Now())
	l.unsynced.Store(int64(delivery.Parallel))
	for number := range delivery.Parallel {
		c := &courier{listener: l, number: uint64(number)}
		if l.coalesces() {
			c.mu.pending = newCoalescer()
		}
		l.couriers = append(l.couriers, c)
	}
	return l, nil
}

// ShutdownChan returns a channel that is closed when the handler was removed, or the informer stopped, and its last call
// has returned.
func (l *processorListener) ShutdownChan() <-chan struct{} { return l.finished }

func (l *processorListener) coalesces() bool { return l.delivery.Overflow == Coalesce }

// needsKeys reports whether calls are merged or handed out by object.
func (l *processorListener) needsKeys() bool { return l.coalesces() || len(l.couriers) > 1 }

// boundsLog tells whether Delivery.Max bounds how far the handler may be behind.
func (l *processorListener) boundsLog() bool {
	return l.delivery.Overflow == Block || l.delivery.Overflow == Disconnect
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
			"handler", l.delivery.Name, "call", took, "pendingNotifications", backlog)
	}
}
