// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"time"
)

// errDisconnected is what listenerOptions.onDisconnect gets, wrapped in an error that says how far
// the handler was behind.
var errDisconnected = errors.New("event handler disconnected")

// processorListener is one registration of a handler: the consumers that read the feed for it.
type processorListener struct {
	target
	consumers    []*consumer // at least one
	resync       resyncSchedule
	max          int
	onDisconnect func(error)
}

// newProcessorListener makes a listener that reads the feed once it is registered.
func newProcessorListener(f *feed, now time.Time, handler ResourceEventHandler, o listenerOptions) *processorListener {
	l := &processorListener{max: o.max, onDisconnect: o.onDisconnect}
	l.target.init(f, handler, &o)
	l.resync.init(o.logger, o.resync, o.check, now)
	for number := range l.parallel {
		l.consumers = append(l.consumers, newConsumer(&l.target, number))
	}
	return l
}

// shutdown returns a channel that is closed when the handler was removed and its last call has
// returned.
func (l *processorListener) shutdown() <-chan struct{} { return l.finished }

// figures returns what is known of the handler. It does not wait for calls.
func (l *processorListener) figures() figures {
	all := figures{name: l.name, syncError: l.syncError(), disconnected: l.dropped.Load(), removed: l.closed.Load()}
	now := l.feed.now()
	for _, c := range l.consumers {
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

// behind returns how many notifications the handler has not returned from; with several consumers
// from the oldest of these on.
func (l *processorListener) behind() int {
	most := int64(0)
	for _, c := range l.consumers {
		most = max(most, c.behind())
	}
	return int(most)
}
