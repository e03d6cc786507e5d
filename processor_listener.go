// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"slices"
	"sync"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/tools/cache/synctrack"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"k8s.io/utils/trace"
)

// processorListener delivers changes to one handler, in order, one call at a time. It is the registration handle too.
//
// What is still to deliver waits in a slice, without a bound. A goroutine exists only while there is something to deliver:
// enqueue starts it, and it ends when it finds nothing more.
type processorListener struct {
	logger   klog.Logger
	handler  ResourceEventHandler
	name     string
	tracker  *synctrack.SingleFileTracker
	closing  chan struct{} // closed by close
	finished chan struct{} // closed when the handler will not be called any more

	mu struct {
		sync.Mutex
		workers *sync.WaitGroup // nil until started
		working bool            // a goroutine delivers
		closed  bool
		pending []change
	}

	resync resyncSchedule
}

type listenerConfig struct {
	logger       klog.Logger
	handler      ResourceEventHandler
	upstream     DoneChecker
	clock        clock.PassiveClock
	requested    time.Duration // the resync period that the user asked for
	resyncPeriod time.Duration // the one that is possible
}

func newProcessorListener(config listenerConfig) *processorListener {
	name := nameForHandler(config.handler)
	l := &processorListener{
		logger:   config.logger,
		handler:  config.handler,
		name:     name,
		tracker:  synctrack.NewSingleFileTracker(fmt.Sprintf("%s + event handler %s", config.upstream.Name(), name)),
		closing:  make(chan struct{}),
		finished: make(chan struct{}),
	}
	l.resync.init(config.requested, config.resyncPeriod, config.clock.Now())
	return l
}

// HasSynced tells whether the informer has synced and the handler has returned from the Adds of its initial list.
func (l *processorListener) HasSynced() bool { return l.tracker.HasSynced() }

// HasSyncedChecker returns what HasSynced answers as a channel.
func (l *processorListener) HasSyncedChecker() DoneChecker { return l.tracker }

// ShutdownChan returns a channel that is closed when the handler was removed, or the informer stopped, and its last call
// has returned.
func (l *processorListener) ShutdownChan() <-chan struct{} { return l.finished }

func (l *processorListener) upstreamSynced() { l.tracker.UpstreamHasSynced() }

// enqueue adds what is meant for this handler to what it has still to hear.
func (l *processorListener) enqueue(changes []change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return
	}
	l.mu.pending = slices.Grow(l.mu.pending, len(changes))
	for i := range changes {
		if changes[i].resync && !l.resync.takesPart() {
			continue
		}
		if changes[i].initial {
			l.tracker.Start()
		}
		l.mu.pending = append(l.mu.pending, changes[i])
	}
	l.workLocked()
}

// start lets the listener work, counted in workers.
func (l *processorListener) start(workers *sync.WaitGroup) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.workers = workers
	l.workLocked()
}

// workLocked starts a goroutine if there is something to do and nobody does it.
func (l *processorListener) workLocked() {
	if l.mu.workers != nil && !l.mu.working && !l.mu.closed && len(l.mu.pending) > 0 {
		l.mu.working = true
		l.mu.workers.Go(l.work)
	}
}

// close drops what is pending. It does not wait for a running call.
func (l *processorListener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.closed = true
	l.mu.pending = nil
	close(l.closing)
	if !l.mu.working {
		close(l.finished)
	}
}

// work delivers until nothing is pending. A handler that ends the goroutine by runtime.Goexit loses the call it was in and
// the ones taken with it go on in a new goroutine.
func (l *processorListener) work() {
	var batch []change
	defer func() { l.leave(batch) }()
	for {
		batch = l.take()
		if len(batch) == 0 {
			return
		}
		for len(batch) > 0 && !l.isClosing() {
			next := batch[0]
			batch[0] = change{}
			batch = batch[1:]
			if !l.call(next) {
				l.pauseAfterPanic()
			}
		}
	}
}

// take moves what is pending to the caller.
func (l *processorListener) take() []change {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := l.mu.pending
	l.mu.pending = nil
	return batch
}

// leave ends the goroutine's work, putting back what it took and could not deliver.
func (l *processorListener) leave(undelivered []change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.working = false
	if l.mu.closed {
		close(l.finished)
		return
	}
	l.mu.pending = append(undelivered, l.mu.pending...)
	l.workLocked()
}

func (l *processorListener) isClosing() bool {
	select {
	case <-l.closing:
		return true
	default:
		return false
	}
}

const (
	// panicPause keeps a handler that panics all the time from filling the log, as in client-go.
	panicPause = time.Second

	// A call that takes longer than slowCall while more than deepBacklog changes wait is worth a line in the log.
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

// call runs the handler for one change and tells whether it returned. An initial Add counts for HasSynced only then.
func (l *processorListener) call(c change) (returned bool) {
	defer utilruntime.HandleCrashWithLogger(l.logger)
	defer l.traceSlowCall()()
	c.deliver(l.handler)
	if c.initial {
		l.tracker.Finished()
	}
	return true
}

// traceSlowCall returns what to call when the handler has returned.
func (l *processorListener) traceSlowCall() func() {
	l.mu.Lock()
	backlog := len(l.mu.pending)
	l.mu.Unlock()
	if backlog <= deepBacklog {
		return func() {}
	}
	t := trace.New("processorListener handler",
		trace.Field{Key: "handler", Value: l.name},
		trace.Field{Key: "pendingNotifications", Value: backlog})
	return func() { t.LogIfLong(slowCall) }
}

// decideResync tells whether the handler is due, and has it take part in resyncs until the next decision if so.
func (l *processorListener) decideResync(now time.Time) bool { return l.resync.decide(now) }

func (l *processorListener) fitResyncPeriod(check time.Duration) { l.resync.fit(l.logger, check) }
