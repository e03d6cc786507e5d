// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
)

// ErrDisconnected is what Options.OnDisconnect gets, wrapped in an error that says how far
// the handler was behind.
var ErrDisconnected = errors.New("event handler disconnected")

// Listener is one registration of a handler: the consumers that read the feed for it.
type Listener struct {
	target
	consumers    []*consumer // at least one
	place        int         // among the processor's listeners, guarded by the feed's lock
	resync       resyncSchedule
	max          int
	onDisconnect func(error)
}

// newListener makes a listener that reads the feed once it is registered.
func newListener(f *feed, now time.Time, handler clientgo.ResourceEventHandler, o Options) *Listener {
	l := &Listener{max: o.Max, onDisconnect: o.OnDisconnect}
	l.target.init(f, handler, &o)
	l.resync.init(o.Logger, o.Resync, o.Check, now)
	for number := range l.parallel {
		l.consumers = append(l.consumers, newConsumer(&l.target, number))
	}
	return l
}

// Shutdown returns a channel that is closed when the handler was removed and its last call has
// returned.
func (l *Listener) Shutdown() <-chan struct{} { return l.finished }

// Figures returns what is known of the handler. It does not wait for calls.
func (l *Listener) Figures() Figures {
	all := Figures{Name: l.name, SyncError: l.syncError(), Disconnected: l.dropped.Load(), Removed: l.closed.Load()}
	now := l.feed.now()
	for _, c := range l.consumers {
		c.addFigures(&all, now)
	}
	all.Stuck = all.Calling >= stuckCall
	return all
}

// refuse makes a listener that was never registered one that is removed.
func (l *Listener) refuse() {
	l.syncFailed.Store(&syncFailure{ErrRemovedUnsynced})
	l.closed.Store(true)
	close(l.closing)
	close(l.finished)
}

// behind returns how many notifications the handler has not returned from; with several consumers
// from the oldest of these on.
func (l *Listener) behind() int {
	most := int64(0)
	for _, c := range l.consumers {
		most = max(most, c.behind())
	}
	return int(most)
}
