// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"cmp"
	"maps"
	"slices"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
)

// Processor distributes changes to the listeners of one informer. It writes each change once, to
// the log of its feed, whatever the number of listeners. Each listener reads the log by the cursors
// of its consumers. A consumer that has read all is parked after a moment: it has no cursor, and
// keeps no object alive. So Distribute enters each parked consumer that wants a change in the log,
// appends once, and starts at most one worker (pool.go). Other consumers cost it nothing.
type Processor struct {
	feed    feed
	pool    pool
	guarded registry // guarded by the feed's lock
	clock   clock.PassiveClock
	watcher watcher
}

// NewProcessor returns a processor. upstream reports whether the first list was distributed.
func NewProcessor(upstream clientgo.DoneChecker, c clock.PassiveClock) *Processor {
	p := &Processor{clock: c}
	p.feed.init(upstream)
	p.pool.init(&p.feed)
	p.guarded.feed, p.guarded.pool = &p.feed, &p.pool
	p.watcher.registry, p.pool.watch = &p.guarded, p.watcher.readAllLocked
	return p
}

// NewListener returns a listener that is not yet registered.
func (p *Processor) NewListener(handler clientgo.ResourceEventHandler, o Options) *Listener {
	return newListener(&p.feed, p.clock.Now(), handler, o)
}

// SetLogger sets the logger of the lines about handlers that have none of their own: that of the
// context in which the informer runs.
func (p *Processor) SetLogger(logger klog.Logger) { p.feed.logger.Store(&logger) }

// LoggerOr returns own or, if it is nil, the logger of SetLogger, or klog's before SetLogger.
func (p *Processor) LoggerOr(own *klog.Logger) klog.Logger { return p.feed.loggerOr(own) }

// Distribute publishes the changes to the listeners, in order. It does not wait for a handler. It
// writes to the changes, and keeps a copy of them. It must be called by one goroutine at a time.
func (p *Processor) Distribute(changes []event.Change) {
	if len(changes) == 0 {
		return
	}
	p.feed.mu.Lock()
	if p.guarded.stopped {
		p.feed.mu.Unlock()
		return
	}
	changes = p.stampLocked(changes, p.feed.now())
	p.pool.wakeLocked(changes)
	p.appendLocked(changes)
	if len(p.guarded.notLossless) > 0 {
		p.guarded.checkOverflowLocked()
	}
	p.watcher.startLocked()
	start := p.pool.addWorkerLocked()
	p.feed.mu.Unlock()
	if start {
		go p.pool.workFunc()
	}
}

// stampLocked sets the fields of the changes that depend on the time and the listeners, and returns
// the changes that are for any consumer.
func (p *Processor) stampLocked(changes []event.Change, now int64) []event.Change {
	unwanted, missed := false, false
	for i := range changes {
		c := &changes[i]
		if c.At = now; c.Many != nil {
			c.Many.Keyed = p.guarded.keysNeededLocked()
		}
		switch {
		case !c.Resync:
		case c.Everything():
			p.guarded.handOutLocked(c)
			unwanted, missed = unwanted || c.Size() == 0, false
		default:
			if c.Round = p.guarded.round; !missed {
				p.guarded.missLocked()
			}
			missed = true
		}
	}
	if unwanted {
		changes = slices.DeleteFunc(changes, func(c event.Change) bool { return c.Size() == 0 })
	}
	return changes
}

// appendLocked appends the changes to the log, and counts them.
func (p *Processor) appendLocked(changes []event.Change) {
	f := &p.feed
	f.mu.log.Append(changes)
	end, bounded := f.end.Load(), f.bounded.Load()
	for i := range changes {
		end += int64(changes[i].Size())
		if isBounded(&changes[i]) {
			bounded++
		}
		if changes[i].Initial {
			f.mu.lastInitial = end
		}
	}
	f.end.Store(end)
	f.bounded.Store(bounded)
}

// Room returns the number of events of the watch that may be read without exceeding the bound of a
// blocking handler. Events that were read and are not yet distributed, as returned by inFlight,
// reduce it. If no event may be read, freed is closed when it is worth calling Room again. It must be
// called by one goroutine at a time.
func (p *Processor) Room(inFlight func() int) (events int, freed <-chan struct{}) {
	if p.guarded.blockers.Load() > 0 {
		return p.guarded.room(inFlight)
	}
	return unbounded, nil
}

// MadeRoom closes the channel returned by Room.
func (p *Processor) MadeRoom() { p.feed.madeRoom() }

// Add registers a listener. The objects in initial are its initial list. The caller must prevent a
// concurrent Distribute.
func (p *Processor) Add(listener *Listener, initial *event.Snapshot) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	if p.guarded.stopped {
		initial.Release()
		listener.refuse()
		return
	}
	p.guarded.addLocked(listener, initial)
	p.watcher.startLocked()
	if p.pool.addWorkerLocked() {
		go p.pool.workFunc()
	}
}

// Remove removes a listener and drops its undelivered changes. It does nothing for a listener that
// is not registered.
func (p *Processor) Remove(listener *Listener) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.guarded.removeLocked(listener)
}

// Count returns the number of registered listeners.
func (p *Processor) Count() int {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return len(p.guarded.listeners)
}

// Has reports whether the listener is registered.
func (p *Processor) Has(listener *Listener) bool {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return p.guarded.hasLocked(listener)
}

// UpstreamSynced records that the whole first list was distributed.
func (p *Processor) UpstreamSynced() {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.feed.syncedAt.Store(p.feed.mu.lastInitial)
	for c := range p.guarded.consumersLocked() {
		c.checkSynced()
	}
}

// ResyncCheckPeriodChanged adjusts the listeners' periods to a new check period.
func (p *Processor) ResyncCheckPeriodChanged(check time.Duration) {
	for _, listener := range p.registered() {
		listener.resync.fit(listener.logger(), check)
	}
}

// Figures returns the statistics of each registered handler, in the order in which they were added.
// It does not wait for calls.
func (p *Processor) Figures() (handlers []Figures) {
	listeners := p.registered()
	slices.SortFunc(listeners, func(a, b *Listener) int {
		return cmp.Compare(a.consumers[0].share.id, b.consumers[0].share.id)
	})
	handlers = slices.Grow(handlers, len(listeners))
	for _, listener := range listeners {
		handlers = append(handlers, listener.Figures())
	}
	return handlers
}

// Disconnected returns the number of handlers removed because they were too slow.
func (p *Processor) Disconnected() int {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return p.guarded.disconnected
}

func (p *Processor) registered() []*Listener {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return slices.Clone(p.guarded.listeners)
}

// ShouldResync decides which listeners take part in the resync that is due now, and reports whether
// any does.
func (p *Processor) ShouldResync() (due bool) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	now := p.clock.Now()
	round := make(event.ResyncRound)
	for _, listener := range p.guarded.listeners {
		if listener.resync.decide(now) {
			due = true
			continue
		}
		for _, c := range listener.consumers {
			round[c.share.id] = struct{}{}
		}
	}
	p.guarded.round = round
	return due
}

// StopPatience is the time for which an informer that stops waits for a user's function before it
// logs a warning.
const StopPatience = 5 * time.Second

// Stop removes all listeners, and blocks until their running calls have returned. It logs the
// handlers for which it waits longer than StopPatience.
func (p *Processor) Stop() {
	p.feed.mu.Lock()
	for len(p.guarded.listeners) > 0 {
		p.guarded.removeLocked(p.guarded.listeners[0])
	}
	p.guarded.stopped = true
	p.feed.mu.Unlock()
	said := make(chan struct{})
	late := time.AfterFunc(StopPatience, func() { p.nameLeaving(); close(said) })
	p.pool.running.Wait()
	if !late.Stop() {
		<-said
	}
}

// nameLeaving logs the handlers that have not returned from their last call.
func (p *Processor) nameLeaving() {
	p.feed.mu.Lock()
	leaving, now := slices.Collect(maps.Keys(p.pool.leaving)), p.feed.now()
	p.feed.mu.Unlock()
	figures := map[*target]*Figures{}
	for _, c := range leaving {
		if figures[c.target] == nil {
			figures[c.target] = &Figures{}
		}
		c.addFigures(figures[c.target], now)
	}
	for t, f := range figures {
		event.Warn(t.logger(), 0, "The informer has stopped, and Run waits until a call of an event handler returns",
			"handler", t.name, "call", f.Calling)
	}
	if len(leaving) == 0 {
		event.Warn(p.LoggerOr(nil), 0, "The informer has stopped, and Run waits until an OnDisconnect function returns")
	}
}
