// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"sync/atomic"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/internal/event"
)

// registry has the registered listeners, and the operations that are rare: it adds and removes
// listeners, limits the backlog of listeners that are not lossless, and hands out resyncs. It is
// guarded by the feed's lock.
type registry struct {
	feed *feed
	pool *pool

	stopped     bool              // Stop was called
	listeners   []*Listener       // unordered; each is at its index place
	notLossless []*Listener       // the listeners that are not lossless
	blockers    atomic.Int64      // number of blocking listeners; also read without the lock
	round       event.ResyncRound // result of the last ShouldResync
	consumers   uint64            // number of consumers registered so far

	disconnected int // number of listeners removed for being too slow
}

// addLocked registers a listener. The objects in initial are its initial list.
func (r *registry) addLocked(listener *Listener, initial *event.Snapshot) {
	listener.name = r.freeNameLocked(listener.name)
	listener.place = len(r.listeners)
	r.listeners = append(r.listeners, listener)
	initial.Keyed = listener.needsKeys()
	if listener.overflow != Lossless {
		r.notLossless = append(r.notLossless, listener)
	}
	if listener.overflow == Block {
		r.blockers.Add(1)
	}
	listener.joinedAt = r.feed.end.Load()
	for _, c := range listener.consumers {
		r.consumers++
		c.share.id = r.consumers
		if initial.Len() == 0 {
			r.pool.parkLocked(c)
		} else {
			c.enter(&event.Change{Kind: event.ChangeAdd, Many: initial, Initial: true, Cause: event.CauseInitial, At: r.feed.now()})
			r.pool.push(c)
		}
		c.checkSynced()
	}
}

// freeNameLocked returns the name or, if a listener has it, the name with the first free number
// from #2.
func (r *registry) freeNameLocked(name string) string {
	hasName := func(l *Listener) bool { return l.name == name }
	if !slices.ContainsFunc(r.listeners, hasName) {
		return name
	}
	taken := map[string]bool{}
	for _, l := range r.listeners {
		taken[l.name] = true
	}
	free := name
	for n := 2; taken[free]; n++ {
		free = fmt.Sprintf("%s#%d", name, n)
	}
	return free
}

// removeLocked removes a listener and drops its undelivered changes. It does nothing for one that
// is not registered.
func (r *registry) removeLocked(listener *Listener) {
	if !r.hasLocked(listener) {
		return
	}
	end := len(r.listeners) - 1
	last := r.listeners[end]
	r.listeners[listener.place], last.place = last, listener.place
	r.listeners = slices.Delete(r.listeners, end, end+1)
	r.notLossless = slices.DeleteFunc(r.notLossless, func(other *Listener) bool { return other == listener })
	if listener.overflow == Block {
		r.blockers.Add(-1)
		defer r.feed.madeRoom()
	}
	listener.closed.Store(true)
	close(listener.closing)
	for _, c := range listener.consumers {
		r.pool.removeLocked(c)
	}
	if listener.unsynced.Load() > 0 {
		listener.failSync(ErrRemovedUnsynced)
	}
}

// hasLocked reports whether a listener, possibly of another processor, is registered.
func (r *registry) hasLocked(listener *Listener) bool {
	if listener.feed != r.feed || listener.place >= len(r.listeners) {
		return false
	}
	return r.listeners[listener.place] == listener
}

func (r *registry) consumersLocked() iter.Seq[*consumer] {
	return func(yield func(*consumer) bool) {
		for _, listener := range r.listeners {
			for _, c := range listener.consumers {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// keysNeededLocked reports whether a listener needs the key of each object of a bulk record.
func (r *registry) keysNeededLocked() bool {
	return slices.ContainsFunc(r.listeners, func(listener *Listener) bool { return listener.needsKeys() })
}

// checkOverflowLocked limits the backlog of handlers that are not lossless.
func (r *registry) checkOverflowLocked() {
	for i := len(r.notLossless) - 1; i >= 0; i-- {
		switch listener := r.notLossless[i]; listener.overflow {
		case Coalesce:
			r.foldLocked(listener)
		case Disconnect:
			if behind := listener.behind(); behind > listener.max {
				r.disconnectLocked(listener, behind)
			}
		}
	}
}

// foldLocked starts merging the waiting changes of a handler that coalesces, if there are many.
func (r *registry) foldLocked(listener *Listener) {
	for _, c := range listener.consumers {
		if c.startFold() {
			r.pool.running.Go(c.fold)
		}
	}
}

// disconnectLocked removes a listener that is too far behind.
func (r *registry) disconnectLocked(listener *Listener, behind int) {
	listener.dropped.Store(true)
	r.disconnected++
	r.removeLocked(listener)
	err := fmt.Errorf("%w: %s: %d notifications are outstanding, and the limit is %d", ErrDisconnected, listener.name, behind, listener.max)
	r.pool.running.Go(func() {
		defer utilruntime.HandleCrashWithLogger(listener.logger())
		event.Warn(listener.logger(), 0, "An event handler was removed",
			"handler", listener.name, "informer", listener.feed.upstream.Name(), "err", err)
		if listener.onDisconnect != nil {
			listener.onDisconnect(err)
		}
	})
}

// handOutLocked gives a resync of all objects to the consumers that take part and have no
// undelivered one. c becomes the record of it for the log, of size 0 if no consumer needs it.
func (r *registry) handOutLocked(c *event.Change) {
	all, wanted := c.Many, false
	var provided []uint64
	for consumer := range r.consumersLocked() {
		switch {
		case r.round.Excludes(consumer.share.id):
		case consumer.addResync(all):
			wanted = true
		default:
			provided = append(provided, consumer.share.id)
		}
	}
	c.Many, c.Round = &event.Snapshot{}, r.round.Without(provided)
	if wanted {
		c.Many.N = all.Len()
	} else {
		all.Release()
	}
}

// missLocked records that an update that counts as a resync is not for the consumers that do not
// take part.
func (r *registry) missLocked() {
	if len(r.round) == 0 {
		return
	}
	for c := range r.consumersLocked() {
		if r.round.Excludes(c.share.id) {
			c.missResync()
		}
	}
}

// room is Processor.Room if a listener blocks.
func (r *registry) room(inFlight func() int) (events int, freed <-chan struct{}) {
	if events = r.roomBeyond(inFlight); events > 0 {
		return events, nil
	}
	changed := make(chan struct{})
	r.feed.freed.Store(&changed)
	if events = r.roomBeyond(inFlight); events > 0 { // room freed before the store does not close changed
		return events, nil
	}
	return 0, changed
}

// roomBeyond returns leastRoom minus the events in flight. inFlight is called first: an event
// distributed in between is counted twice, and the caller asks again, but it is never missed by
// both counts.
func (r *registry) roomBeyond(inFlight func() int) int {
	reserved := inFlight()
	return r.leastRoom() - reserved
}

// unbounded is the room if no handler blocks.
const unbounded = math.MaxInt32

// leastRoom returns the least room of the blocking handlers.
func (r *registry) leastRoom() int {
	least := unbounded
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	for _, listener := range r.notLossless {
		if listener.overflow == Block {
			least = min(least, listener.max-listener.behind())
		}
	}
	return least
}
