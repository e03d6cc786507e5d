// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// sharedProcessor fans changes out to the listeners of one informer. It writes each change once, to
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
type sharedProcessor struct {
	feed     feed
	pool     pool
	clock    clock.PassiveClock
	blockers atomic.Int64 // listeners that block

	guarded struct { // by the feed's lock
		stopped     bool // stop was called
		listeners   map[*processorListener]struct{}
		notLossless []*processorListener // those of listeners
		round       resyncRound          // the last look at who is due for a resync
		consumers   uint64               // how many there were so far
		looked      int64                // when it was looked for stuck handlers last
	}
}

// newSharedProcessor makes a processor for what comes from upstream, which says whether its first
// list was distributed.
func newSharedProcessor(upstream DoneChecker, c clock.PassiveClock) *sharedProcessor {
	p := &sharedProcessor{clock: c}
	p.feed.init(upstream)
	p.pool.init(&p.feed)
	p.guarded.listeners = map[*processorListener]struct{}{}
	return p
}

// newListener makes a listener that is not registered yet.
func (p *sharedProcessor) newListener(handler ResourceEventHandler, o listenerOptions) *processorListener {
	return newProcessorListener(&p.feed, p.clock.Now(), handler, o)
}

// stopPatience is how long the end of an informer may wait for its user's functions until the log
// says for which.
const stopPatience = 5 * time.Second

// stop drops what the listeners had still to deliver and returns when their running calls have. It
// logs for which of them it waits for long.
func (p *sharedProcessor) stop() {
	p.feed.mu.Lock()
	for listener := range p.guarded.listeners {
		p.removeLocked(listener)
	}
	p.guarded.stopped = true
	p.feed.mu.Unlock()
	said := make(chan struct{})
	late := time.AfterFunc(stopPatience, func() { p.nameLeaving(); close(said) })
	p.pool.running.Wait()
	if !late.Stop() {
		<-said
	}
}

// nameLeaving logs which handlers have not returned from their last call.
func (p *sharedProcessor) nameLeaving() {
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

// add registers a listener whose handler first hears of the objects in known, as its initial list.
// The caller keeps distribute from running meanwhile.
func (p *sharedProcessor) add(listener *processorListener, known *snapshot) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	if p.guarded.stopped {
		known.release()
		listener.refuse()
		return
	}
	p.guarded.listeners[listener] = struct{}{}
	known.keyed = listener.needsKeys()
	if listener.overflow != lossless {
		p.guarded.notLossless = append(p.guarded.notLossless, listener)
	}
	if listener.overflow == block {
		p.blockers.Add(1)
	}
	listener.joinedAt = p.feed.end.Load()
	for _, c := range listener.consumers {
		p.guarded.consumers++
		c.share.id = p.guarded.consumers
		if known.len() == 0 {
			p.pool.parkLocked(c)
		} else {
			c.enter(&change{kind: changeAdd, many: known, initial: true, at: p.feed.now()})
			p.pool.push(c)
		}
		c.checkSynced()
	}
	if p.pool.addWorkerLocked() {
		go p.pool.workFunc()
	}
}

// remove drops what the listener had still to deliver. It does nothing for a listener that is not
// registered.
func (p *sharedProcessor) remove(listener *processorListener) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.removeLocked(listener)
}

func (p *sharedProcessor) removeLocked(listener *processorListener) {
	if _, registered := p.guarded.listeners[listener]; !registered {
		return
	}
	delete(p.guarded.listeners, listener)
	p.guarded.notLossless = slices.DeleteFunc(p.guarded.notLossless, func(other *processorListener) bool { return other == listener })
	if listener.overflow == block {
		p.blockers.Add(-1)
		defer p.feed.madeRoom()
	}
	listener.closed.Store(true)
	close(listener.closing)
	for _, c := range listener.consumers {
		p.pool.removeLocked(c)
	}
	if listener.unsynced.Load() > 0 {
		listener.failSyncLocked(errRemovedUnsynced)
	}
}

func (p *sharedProcessor) count() int {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return len(p.guarded.listeners)
}

func (p *sharedProcessor) has(listener *processorListener) bool {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	_, registered := p.guarded.listeners[listener]
	return registered
}

// distribute publishes the changes to the listeners, in order. It never waits for a handler. It
// writes to the changes, and keeps a copy of them. One goroutine at a time calls it.
func (p *sharedProcessor) distribute(changes []change) {
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
func (p *sharedProcessor) stampLocked(changes []change, now int64) []change {
	unwanted, missed := false, false
	for i := range changes {
		c := &changes[i]
		if c.at = now; c.many != nil {
			c.many.keyed = p.keysNeededLocked()
		}
		switch {
		case !c.resync:
		case c.everything():
			p.handOutLocked(c)
			unwanted, missed = unwanted || c.size() == 0, false
		default:
			if c.round = p.guarded.round; !missed {
				p.missLocked()
			}
			missed = true
		}
	}
	if unwanted {
		changes = slices.DeleteFunc(changes, func(c change) bool { return c.size() == 0 })
	}
	return changes
}

// keysNeededLocked reports whether a listener needs to know which object each call of a bulk record
// is about.
func (p *sharedProcessor) keysNeededLocked() bool {
	for listener := range p.guarded.listeners {
		if listener.needsKeys() {
			return true
		}
	}
	return false
}

// checkOverflowLocked keeps handlers that are not lossless from letting everything pile up in the
// log.
func (p *sharedProcessor) checkOverflowLocked() {
	for i := len(p.guarded.notLossless) - 1; i >= 0; i-- {
		switch listener := p.guarded.notLossless[i]; listener.overflow {
		case coalesce:
			p.foldLocked(listener)
		case disconnect:
			if behind := listener.behind(); behind > listener.max {
				p.disconnectLocked(listener, behind)
			}
		}
	}
}

// foldLocked merges what waits for a handler that coalesces, if that is much.
func (p *sharedProcessor) foldLocked(listener *processorListener) {
	for _, c := range listener.consumers {
		if c.startFold() {
			p.pool.running.Go(c.fold)
		}
	}
}

// disconnectLocked removes a listener that is too far behind.
func (p *sharedProcessor) disconnectLocked(listener *processorListener, behind int) {
	listener.dropped.Store(true)
	p.removeLocked(listener)
	err := fmt.Errorf("%w: %s: %d notifications are waiting, the most are %d", errDisconnected, listener.name, behind, listener.max)
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
func (p *sharedProcessor) findStuckLocked(now int64) (found []remark) {
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

// upstreamSynced notes that nothing more of the first list will come.
func (p *sharedProcessor) upstreamSynced() {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.feed.syncedAt.Store(p.feed.mu.lastInitial)
	for c := range p.consumersLocked() {
		c.checkSynced()
	}
}

func (p *sharedProcessor) consumersLocked() iter.Seq[*consumer] {
	return func(yield func(*consumer) bool) {
		for listener := range p.guarded.listeners {
			for _, c := range listener.consumers {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// resyncCheckPeriodChanged fits the listeners' periods to a new check period.
func (p *sharedProcessor) resyncCheckPeriodChanged(check time.Duration) {
	for _, listener := range p.registered() {
		listener.resync.fit(listener.logger, check)
	}
}

func (p *sharedProcessor) registered() []*processorListener {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	return slices.Collect(maps.Keys(p.guarded.listeners))
}

// shouldResync decides which listeners take part in the resync that is due now, and reports whether
// there are any.
func (p *sharedProcessor) shouldResync() (any bool) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	now := p.clock.Now()
	round := make(resyncRound)
	for listener := range p.guarded.listeners {
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
func (p *sharedProcessor) handOutLocked(c *change) {
	all, wanted := c.many, false
	var provided []uint64
	for consumer := range p.consumersLocked() {
		switch {
		case p.guarded.round.excludes(consumer.share.id):
		case consumer.oweResync(all):
			wanted = true
		default:
			provided = append(provided, consumer.share.id)
		}
	}
	c.many, c.round = &snapshot{}, p.guarded.round.without(provided)
	if wanted {
		c.many.n = all.len()
	} else {
		all.release()
	}
}

// missLocked notes that an update that counts as a resync passes by those that do not take part.
func (p *sharedProcessor) missLocked() {
	if len(p.guarded.round) == 0 {
		return
	}
	for c := range p.consumersLocked() {
		if p.guarded.round.excludes(c.share.id) {
			c.missResync()
		}
	}
}
