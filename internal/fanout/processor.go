// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
)

// Processor fans changes out to the listeners of one informer. It writes each change once, to
// the log of its feed, whatever their number; each listener reads the log by the cursors of its
// consumers.
//
//	             distribute
//	                 │ 1. wakes the parked consumers that want a change     2. appends all changes, once
//	                 ▼
//	log:   ··· ─▶ segment ─▶ segment ─▶ tail
//	                 ▲            ▲
//	            consumer     consumer, consumer      parked: consumer, consumer (no cursor, no objects)
//
// A consumer that has read all is parked, after a moment. So distributing is one append, a place in
// the log for each parked consumer, and one worker to start (pool.go); what lags behind or has
// nothing to do costs it nothing.
type Processor struct {
	feed     feed
	pool     pool
	clock    clock.PassiveClock
	blockers atomic.Int64 // listeners that block

	guarded struct { // by the feed's lock
		stopped     bool              // stop was called
		listeners   []*Listener       // in no order, but each at its place
		notLossless []*Listener       // those of listeners
		round       event.ResyncRound // the last look at who is due for a resync
		consumers   uint64            // how many there were so far
		looked      int64             // when it was looked for stuck handlers last
	}
}

// NewProcessor makes a processor for what comes from upstream, which says whether its first
// list was distributed.
func NewProcessor(upstream clientgo.DoneChecker, c clock.PassiveClock) *Processor {
	p := &Processor{clock: c}
	p.feed.init(upstream)
	p.pool.init(&p.feed)
	return p
}

// NewListener makes a listener that is not registered yet.
func (p *Processor) NewListener(handler clientgo.ResourceEventHandler, o Options) *Listener {
	return newListener(&p.feed, p.clock.Now(), handler, o)
}

// StopPatience is how long the end of an informer may wait for its user's functions until the log
// says for which.
const StopPatience = 5 * time.Second

// Stop drops what the listeners had still to deliver and returns when their running calls have. It
// logs for which of them it waits for long.
func (p *Processor) Stop() {
	p.feed.mu.Lock()
	for len(p.guarded.listeners) > 0 {
		p.removeLocked(p.guarded.listeners[0])
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

// nameLeaving logs which handlers have not returned from their last call.
func (p *Processor) nameLeaving() {
	p.feed.mu.Lock()
	leaving, now := slices.Collect(maps.Keys(p.pool.leaving)), p.feed.now()
	p.feed.mu.Unlock()
	longest := map[*target]time.Duration{}
	for _, c := range leaving {
		lasts, _ := c.call(now)
		longest[c.target] = max(longest[c.target], lasts)
	}
	for t, call := range longest {
		t.logger.Info("Warning: the informer has stopped, and Run waits until a call of an event handler returns",
			"handler", t.name, "call", call)
	}
	if len(leaving) == 0 {
		klog.Background().Info("Warning: the informer has stopped, and Run waits until an OnDisconnect function returns")
	}
}

// Add registers a listener whose handler first hears of the objects in known, as its initial list.
// The caller keeps distribute from running meanwhile.
func (p *Processor) Add(listener *Listener, known *event.Snapshot) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	if p.guarded.stopped {
		known.Release()
		listener.refuse()
		return
	}
	listener.place = len(p.guarded.listeners)
	p.guarded.listeners = append(p.guarded.listeners, listener)
	known.Keyed = listener.needsKeys()
	if listener.overflow != Lossless {
		p.guarded.notLossless = append(p.guarded.notLossless, listener)
	}
	if listener.overflow == Block {
		p.blockers.Add(1)
	}
	listener.joinedAt = p.feed.end.Load()
	for _, c := range listener.consumers {
		p.guarded.consumers++
		c.share.id = p.guarded.consumers
		if known.Len() == 0 {
			p.pool.parkLocked(c)
		} else {
			c.enter(&event.Change{Kind: event.ChangeAdd, Many: known, Initial: true, At: p.feed.now()})
			p.pool.push(c)
		}
		c.checkSynced()
	}
	if p.pool.addWorkerLocked() {
		go p.pool.workFunc()
	}
}

// Remove drops what the listener had still to deliver. It does nothing for a listener that is not
// registered.
func (p *Processor) Remove(listener *Listener) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.removeLocked(listener)
}

func (p *Processor) removeLocked(listener *Listener) {
	if !p.hasLocked(listener) {
		return
	}
	end := len(p.guarded.listeners) - 1
	last := p.guarded.listeners[end]
	p.guarded.listeners[listener.place], last.place = last, listener.place
	p.guarded.listeners = slices.Delete(p.guarded.listeners, end, end+1)
	p.guarded.notLossless = slices.DeleteFunc(p.guarded.notLossless, func(other *Listener) bool { return other == listener })
	if listener.overflow == Block {
		p.blockers.Add(-1)
		defer p.feed.madeRoom()
	}
	listener.closed.Store(true)
	close(listener.closing)
	for _, c := range listener.consumers {
		p.pool.removeLocked(c)
	}
	if listener.unsynced.Load() > 0 {
		listener.failSyncLocked(ErrRemovedUnsynced)
	}
}

func (p *Processor) Count() int {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return len(p.guarded.listeners)
}

func (p *Processor) Has(listener *Listener) bool {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return p.hasLocked(listener)
}

// hasLocked reports whether a listener, which may be that of another processor, is registered.
func (p *Processor) hasLocked(listener *Listener) bool {
	if listener.feed != &p.feed || listener.place >= len(p.guarded.listeners) {
		return false
	}
	return p.guarded.listeners[listener.place] == listener
}

// Distribute publishes the changes to the listeners, in order. It never waits for a handler. It
// writes to the changes, and keeps a copy of them. One goroutine at a time calls it.
func (p *Processor) Distribute(changes []event.Change) {
	if len(changes) == 0 {
		return
	}
	p.feed.mu.Lock()
	if p.guarded.stopped {
		p.feed.mu.Unlock()
		return
	}
	now := p.feed.now()
	changes = p.stampLocked(changes, now)
	p.pool.wakeLocked(changes)
	p.feed.appendLocked(changes)
	p.checkOverflowLocked()
	stuck := p.findStuckLocked(now)
	start := p.pool.addWorkerLocked()
	p.feed.mu.Unlock()
	if start {
		go p.pool.workFunc()
	}
	for _, found := range stuck {
		found.say()
	}
}

// stampLocked notes what the changes do not know themselves, and returns those that are for any
// consumer.
func (p *Processor) stampLocked(changes []event.Change, now int64) []event.Change {
	unwanted, missed := false, false
	for i := range changes {
		c := &changes[i]
		if c.At = now; c.Many != nil {
			c.Many.Keyed = p.keysNeededLocked()
		}
		switch {
		case !c.Resync:
		case c.Everything():
			p.handOutLocked(c)
			unwanted, missed = unwanted || c.Size() == 0, false
		default:
			if c.Round = p.guarded.round; !missed {
				p.missLocked()
			}
			missed = true
		}
	}
	if unwanted {
		changes = slices.DeleteFunc(changes, func(c event.Change) bool { return c.Size() == 0 })
	}
	return changes
}

// keysNeededLocked reports whether a listener needs to know which object each call of a bulk record
// is about.
func (p *Processor) keysNeededLocked() bool {
	for _, listener := range p.guarded.listeners {
		if listener.needsKeys() {
			return true
		}
	}
	return false
}

// checkOverflowLocked keeps handlers that are not lossless from letting everything pile up in the
// log.
func (p *Processor) checkOverflowLocked() {
	for i := len(p.guarded.notLossless) - 1; i >= 0; i-- {
		switch listener := p.guarded.notLossless[i]; listener.overflow {
		case Coalesce:
			p.foldLocked(listener)
		case Disconnect:
			if behind := listener.behind(); behind > listener.max {
				p.disconnectLocked(listener, behind)
			}
		}
	}
}

// foldLocked merges what waits for a handler that coalesces, if that is much.
func (p *Processor) foldLocked(listener *Listener) {
	for _, c := range listener.consumers {
		if c.startFold() {
			p.pool.running.Go(c.fold)
		}
	}
}

// disconnectLocked removes a listener that is too far behind.
func (p *Processor) disconnectLocked(listener *Listener, behind int) {
	listener.dropped.Store(true)
	p.removeLocked(listener)
	err := fmt.Errorf("%w: %s: %d notifications are waiting, the most are %d", ErrDisconnected, listener.name, behind, listener.max)
	p.pool.running.Go(func() {
		defer utilruntime.HandleCrashWithLogger(listener.logger)
		listener.logger.Info("Warning: event handler removed", "err", err)
		if listener.onDisconnect != nil {
			listener.onDisconnect(err)
		}
	})
}

// findStuckLocked looks, once in a while, for handlers that are worth a line in the log although
// their call, as it does not return, cannot write one.
func (p *Processor) findStuckLocked(now int64) (found []remark) {
	if now-p.guarded.looked < int64(stuckCall) {
		return nil
	}
	p.guarded.looked = now
	for c := range p.consumersLocked() {
		if call, backlog := c.call(now); call >= stuckCall {
			found = append(found, remark{target: c.target, call: call, backlog: backlog})
		}
	}
	return found
}

// UpstreamSynced notes that nothing more of the first list will come.
func (p *Processor) UpstreamSynced() {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.feed.syncedAt.Store(p.feed.mu.lastInitial)
	for c := range p.consumersLocked() {
		c.checkSynced()
	}
}

func (p *Processor) consumersLocked() iter.Seq[*consumer] {
	return func(yield func(*consumer) bool) {
		for _, listener := range p.guarded.listeners {
			for _, c := range listener.consumers {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// ResyncCheckPeriodChanged fits the listeners' periods to a new check period.
func (p *Processor) ResyncCheckPeriodChanged(check time.Duration) {
	for _, listener := range p.registered() {
		listener.resync.fit(listener.logger, check)
	}
}

func (p *Processor) registered() []*Listener {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return slices.Clone(p.guarded.listeners)
}

// ShouldResync decides which listeners take part in the resync that is due now, and reports whether
// there are any.
func (p *Processor) ShouldResync() (any bool) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	now := p.clock.Now()
	round := make(event.ResyncRound)
	for _, listener := range p.guarded.listeners {
		if listener.resync.decide(now) {
			any = true
			continue
		}
		for _, c := range listener.consumers {
			round[c.share.id] = struct{}{}
		}
	}
	p.guarded.round = round
	return any
}

// handOutLocked gives a resync of all objects to the consumers that take part and have none to
// deliver yet, and leaves a record of it for the log: of size 0 if it is for none.
func (p *Processor) handOutLocked(c *event.Change) {
	all, wanted := c.Many, false
	var provided []uint64
	for consumer := range p.consumersLocked() {
		switch {
		case p.guarded.round.Excludes(consumer.share.id):
		case consumer.oweResync(all):
			wanted = true
		default:
			provided = append(provided, consumer.share.id)
		}
	}
	c.Many, c.Round = &event.Snapshot{}, p.guarded.round.Without(provided)
	if wanted {
		c.Many.N = all.Len()
	} else {
		all.Release()
	}
}

// missLocked notes that an update that counts as a resync passes by those that do not take part.
func (p *Processor) missLocked() {
	if len(p.guarded.round) == 0 {
		return
	}
	for c := range p.consumersLocked() {
		if p.guarded.round.Excludes(c.share.id) {
			c.missResync()
		}
	}
}
