// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"errors"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
)

// ErrDisconnected is wrapped by the error passed to Options.OnDisconnect, which states how far the
// handler was behind.
var ErrDisconnected = errors.New("event handler disconnected")

// Listener is one registration of a handler, with the consumers that read the feed for it.
type Listener struct {
	target
	consumers    []*consumer // at least one
	place        int         // index in the processor's listeners, guarded by the feed's lock
	resync       resyncSchedule
	max          int
	onDisconnect func(error)
}

// newListener returns a listener that is not yet registered.
func newListener(f *feed, now time.Time, handler clientgo.ResourceEventHandler, o Options) *Listener {
	l := &Listener{max: o.Max, onDisconnect: o.OnDisconnect}
	l.target.init(f, handler, &o)
	l.resync.init(l.logger(), o.Resync, o.Check, now)
	for number := range l.parallel {
		l.consumers = append(l.consumers, newConsumer(&l.target, number))
	}
	return l
}

// Shutdown returns a channel that is closed when the handler was removed and its last call has
// returned.
func (l *Listener) Shutdown() <-chan struct{} { return l.finished }

// Figures returns the statistics of the handler. It does not wait for calls.
func (l *Listener) Figures() Figures {
	all := Figures{Name: l.name, SyncError: l.syncError(), Disconnected: l.dropped.Load(), Removed: l.closed.Load()}
	now := l.feed.now()
	for _, c := range l.consumers {
		c.addFigures(&all, now)
	}
	all.Stuck = all.Calling >= stuckCall
	return all
}

// refuse marks a listener that was never registered as removed.
func (l *Listener) refuse() {
	l.failSync(ErrRemovedUnsynced)
	l.closed.Store(true)
	close(l.closing)
	close(l.finished)
}

// behind returns the number of outstanding notifications, counted from the oldest one if there are
// several consumers.
func (l *Listener) behind() int {
	most := int64(0)
	for _, c := range l.consumers {
		most = max(most, c.behind())
	}
	return int(most)
}
