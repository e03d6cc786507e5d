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

// registry is who is registered, and what seldom happens to them: it adds and removes listeners,
// keeps those that are not lossless from piling up changes, and hands out resyncs. The feed's lock
// guards it.
type registry struct {
	feed *feed
	pool *pool

	stopped     bool              // Stop was called
	listeners   []*Listener       // in no order, but each at its place
	notLossless []*Listener       // those of listeners
	blockers    atomic.Int64      // those that block; also read without the lock
	round       event.ResyncRound // the last look at who is due for a resync
	consumers   uint64            // how many there were so far
	looked      int64             // when it was looked for handlers that lag last

	disconnected int // listeners that were removed for being too slow, so far
}

// addLocked registers a listener, whose consumers first hear of the objects in known.
func (r *registry) addLocked(listener *Listener, known *event.Snapshot) {
	listener.name = r.freeNameLocked(listener.name)
	listener.place = len(r.listeners)
	r.listeners = append(r.listeners, listener)
	known.Keyed = listener.needsKeys()
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
		if known.Len() == 0 {
			r.pool.parkLocked(c)
		} else {
			c.enter(&event.Change{Kind: event.ChangeAdd, Many: known, Initial: true, Cause: event.CauseInitial, At: r.feed.now()})
			r.pool.push(c)
		}
		c.checkSynced()
	}
}

// freeNameLocked returns the name, with the first number from #2 on that is free if a listener has it.
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

// removeLocked drops what a listener had still to deliver. It does nothing for one that is not
// registered.
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
		listener.failSyncLocked(ErrRemovedUnsynced)
	}
}

// hasLocked reports whether a listener, which may be that of another processor, is registered.
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

// keysNeededLocked reports whether a listener needs to know which object each call of a bulk record
// is about.
func (r *registry) keysNeededLocked() bool {
	return slices.ContainsFunc(r.listeners, func(listener *Listener) bool { return listener.needsKeys() })
}

// checkOverflowLocked keeps handlers that are not lossless from letting everything pile up in the
// log.
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

// foldLocked merges what waits for a handler that coalesces, if that is much.
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
	err := fmt.Errorf("%w: %s: %d notifications are waiting, and at most %d may", ErrDisconnected, listener.name, behind, listener.max)
	r.pool.running.Go(func() {
		defer utilruntime.HandleCrashWithLogger(listener.logger)
		listener.logger.Info("Warning: event handler removed", "err", err)
		if listener.onDisconnect != nil {
			listener.onDisconnect(err)
		}
	})
}

// findLaggingLocked looks, once in a while, for handlers that are worth a line in the log although
// none of their calls, as these are quick or do not return, writes one.
func (r *registry) findLaggingLocked(now int64) (found []remark) {
	if now-r.looked < int64(stuckCall) {
		return nil
	}
	r.looked = now
	for c := range r.consumersLocked() {
		if l, worth := c.lag(now); worth {
			if found = append(found, remark{target: c.target, lag: l}); len(found) == mostLags {
				break
			}
		}
	}
	return found
}

// handOutLocked gives a resync of all objects to the consumers that take part and have none to
// deliver yet, and leaves a record of it for the log: of size 0 if it is for none.
func (r *registry) handOutLocked(c *event.Change) {
	all, wanted := c.Many, false
	var provided []uint64
	for consumer := range r.consumersLocked() {
		switch {
		case r.round.Excludes(consumer.share.id):
		case consumer.oweResync(all):
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

// missLocked notes that an update that counts as a resync passes by those that do not take part.
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

// room is Processor.Room where listeners block.
func (r *registry) room(inFlight func() int) (events int, freed <-chan struct{}) {
	if events = r.roomBeyond(inFlight); events > 0 {
		return events, nil
	}
	changed := make(chan struct{})
	r.feed.freed.Store(&changed)
	if events = r.roomBeyond(inFlight); events > 0 { // freed does not show what changed before
		return events, nil
	}
	return 0, changed
}

// roomBeyond is leastRoom less what is in flight, which is looked at first: what is distributed in
// between is counted twice, and then the caller asks again, but it is not overlooked by both.
func (r *registry) roomBeyond(inFlight func() int) int {
	reserved := inFlight()
	return r.leastRoom() - reserved
}

// unbounded is the room without handlers that block.
const unbounded = math.MaxInt32

// leastRoom is the room of the handler that blocks and has the least.
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
