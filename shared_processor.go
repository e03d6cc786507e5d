// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/eventlog"
)

// sharedProcessor fans changes out to the listeners of one informer. It writes each change once, to a log, whatever their
// number; each listener reads the log by the cursors of its couriers.
//
//	             distribute
//	                 │ 1. wakes the parked couriers that want a change     2. appends all changes, once
//	                 ▼
//	log:   ··· ─▶ segment ─▶ segment ─▶ tail
//	                 ▲            ▲
//	            courier at work  courier at work      parked: courier, courier, courier (no cursor, no objects)
//
// A courier that has read all is parked, after a moment. So the producer's work is one append, a place in the log for each parked
// courier, and one worker to start (workers.go); what lags behind or has nothing to do costs it nothing.
//
// Counted in calls of a handler, end is how far the log is written; each courier counts how far it has come.
type sharedProcessor struct {
	clock    clock.PassiveClock
	upstream DoneChecker    // of the informer; set before anybody asks
	epoch    time.Time      // of change.at and all other times in nanoseconds
	running  sync.WaitGroup // one for each worker, and for each other goroutine that may call the user

	end      atomic.Int64                  // calls that all changes so far stand for; written under mu
	bounded  atomic.Int64                  // how many of these are bounded; written under mu
	syncedAt atomic.Int64                  // the end of the initial list; unknownPosition before it is distributed
	blockers atomic.Int64                  // listeners that block
	freed    atomic.Pointer[chan struct{}] // closed by madeRoom; nil: nobody waits for room

	mu struct {
		sync.Mutex
		stopped     bool // stop was called
		log         eventlog.Log[change]
		parked      []*courier
		workers     workers
		listeners   map[*processorListener]struct{}
		leaving     map[*processorListener]struct{} // removed, with a call that has not returned
		tended      []*processorListener            // those of listeners that are not lossless
		round       resyncRound                     // the last look at who is due for a resync
		couriers    uint64                          // how many there were so far
		looked      int64                           // when it was looked for stuck handlers last
		lastInitial int64                           // the end when the last change of the initial list was written
	}

	workFunc func() // work, made once: a go statement with a method allocates
}

const unknownPosition = -1

// spareSegments are the segments that no log uses.
var spareSegments sync.Pool

func newSharedProcessor(c clock.PassiveClock) *sharedProcessor {
	p := &sharedProcessor{clock: c, epoch: time.Now()}
	p.syncedAt.Store(unknownPosition)
	p.mu.log.Spare = &spareSegments
	p.workFunc = p.work
	p.mu.listeners, p.mu.leaving = map[*processorListener]struct{}{}, map[*processorListener]struct{}{}
	return p
}

func (p *sharedProcessor) now() int64 { return int64(time.Since(p.epoch)) }

// stopPatience is how long the end of an informer may wait for its user's functions until the log says for which.
const stopPatience = 5 * time.Second

// stop drops what the listeners had still to deliver and returns when their running calls have. It says for which of them it
// waits for long.
func (p *sharedProcessor) stop() {
	p.mu.Lock()
	for listener := range p.mu.listeners {
		p.removeLocked(listener)
	}
	p.mu.stopped = true
	p.mu.Unlock()
	said := make(chan struct{})
	late := time.AfterFunc(stopPatience, func() { p.nameLeaving(); close(said) })
	p.running.Wait()
	if !late.Stop() {
		<-said
	}
}

// nameLeaving logs for which handlers, which are called no more, the end of the informer waits.
func (p *sharedProcessor) nameLeaving() {
	p.mu.Lock()
	leaving, now := slices.Collect(maps.Keys(p.mu.leaving)), p.now()
	p.mu.Unlock()
	for _, listener := range leaving {
		listener.logger.Info("Warning: the informer has stopped, and Run waits until a call of an event handler returns",
			"handler", listener.name, "call", listener.longestCall(now))
	}
	if len(leaving) == 0 {
		klog.Background().Info("Warning: the informer has stopped, and Run waits until an OnDisconnect function returns")
	}
}

// add registers a listener that first hears of the objects in known as its initial list. The caller keeps distribute from
// running meanwhile.
func (p *sharedProcessor) add(listener *processorListener, known *snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		known.release()
		listener.refuse()
		return
	}
	p.mu.listeners[listener] = struct{}{}
	known.keyed = listener.needsKeys()
	if listener.overflow != lossless {
		p.mu.tended = append(p.mu.tended, listener)
	}
	if listener.overflow == block {
		p.blockers.Add(1)
	}
	listener.joinedAt = p.end.Load()
	for _, l := range listener.couriers {
		p.mu.couriers++
		l.id = p.mu.couriers
		if known.len() == 0 {
			p.parkLocked(l)
		} else {
			l.enter(&change{kind: changeAdd, many: known, initial: true, at: p.now()})
			p.mu.workers.await(l)
		}
		l.checkSynced()
	}
	if p.callWorkerLocked() {
		go p.workFunc()
	}
}

// remove drops what the listener had still to deliver. It does nothing for a listener that is not registered.
func (p *sharedProcessor) remove(listener *processorListener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.removeLocked(listener)
}

func (p *sharedProcessor) removeLocked(listener *processorListener) {
	if _, registered := p.mu.listeners[listener]; !registered {
		return
	}
	delete(p.mu.listeners, listener)
	p.mu.tended = slices.DeleteFunc(p.mu.tended, func(other *processorListener) bool { return other == listener })
	if listener.overflow == block {
		p.blockers.Add(-1)
		defer p.madeRoom()
	}
	listener.closed.Store(true)
	close(listener.closing)
	for _, l := range listener.couriers {
		if !l.abandon() {
			p.unparkLocked(l)
			listener.courierEnded()
		}
	}
	if listener.unsynced.Load() > 0 {
		listener.failSyncLocked(errRemovedUnsynced)
	}
	if listener.live > 0 {
		p.mu.leaving[listener] = struct{}{}
	}
}

func (p *sharedProcessor) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.mu.listeners)
}

func (p *sharedProcessor) has(listener *processorListener) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, registered := p.mu.listeners[listener]
	return registered
}

// distribute brings the changes to the listeners, in order. It never waits for a handler. It writes to the changes, and
// keeps a copy of them. One goroutine at a time calls it.
func (p *sharedProcessor) distribute(changes []change) {
	if len(changes) == 0 {
		return
	}
	p.mu.Lock()
	if p.mu.stopped {
		p.mu.Unlock()
		return
	}
	now := p.now()
	changes = p.stampLocked(changes, now)
	p.wakeLocked(changes)
	p.mu.log.Append(changes)
	p.advanceLocked(changes)
	p.tendLocked()
	stuck := p.findStuckLocked(now)
	start := p.callWorkerLocked()
	p.mu.Unlock()
	if start {
		go p.workFunc()
	}
	for _, found := range stuck {
		found.say()
	}
}

// stampLocked notes what the changes do not know themselves, and returns those that are for anybody.
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
			if c.round = p.mu.round; !missed {
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

// keysNeededLocked reports whether a listener needs to know which object each call of a bulk record is about.
func (p *sharedProcessor) keysNeededLocked() bool {
	for listener := range p.mu.listeners {
		if listener.needsKeys() {
			return true
		}
	}
	return false
}

// wakeLocked makes the parked couriers ready that want any of the changes, and all that stand by.
func (p *sharedProcessor) wakeLocked(changes []change) {
	p.mu.workers.rouse()
	still := p.mu.parked[:0]
	for _, l := range p.mu.parked {
		if l.wantsAny(changes) {
			l.enter(nil)
			p.mu.workers.await(l)
		} else {
			l.parkedAt = len(still)
			still = append(still, l)
		}
	}
	clear(p.mu.parked[len(still):])
	p.mu.parked = still
}

// advanceLocked counts what was appended.
func (p *sharedProcessor) advanceLocked(changes []change) {
	end, bounded := p.end.Load(), p.bounded.Load()
	for i := range changes {
		end += int64(changes[i].size())
		if changes[i].bounded() {
			bounded++
		}
		if changes[i].initial {
			p.mu.lastInitial = end
		}
	}
	p.end.Store(end)
	p.bounded.Store(bounded)
}

// tendLocked looks after the listeners that must not let everything pile up in the log.
func (p *sharedProcessor) tendLocked() {
	for i := len(p.mu.tended) - 1; i >= 0; i-- {
		switch listener := p.mu.tended[i]; listener.overflow {
		case coalesce:
			listener.foldBehind()
		case disconnect:
			if behind := listener.behind(); behind > listener.max {
				p.disconnectLocked(listener, behind)
			}
		}
	}
}

// findStuckLocked looks, once in a while, for handlers that are worth a line in the log although their call, as it does not
// return, cannot write one.
func (p *sharedProcessor) findStuckLocked(now int64) (found []remark) {
	if now-p.mu.looked < int64(stuckCall) {
		return nil
	}
	p.mu.looked = now
	for listener := range p.mu.listeners {
		for _, l := range listener.couriers {
			if call, backlog := l.call(now); call >= stuckCall {
				found = append(found, remark{listener: listener, call: call, backlog: backlog})
			}
		}
	}
	return found
}

// parkLocked puts down a courier that has nothing to do.
func (p *sharedProcessor) parkLocked(l *courier) {
	l.parkedAt = len(p.mu.parked)
	p.mu.parked = append(p.mu.parked, l)
}

func (p *sharedProcessor) unparkLocked(l *courier) {
	last := len(p.mu.parked) - 1
	moved := p.mu.parked[last]
	p.mu.parked[l.parkedAt], moved.parkedAt = moved, l.parkedAt
	p.mu.parked[last] = nil
	p.mu.parked = p.mu.parked[:last]
}

// upstreamSynced tells the listeners that nothing more of the first list will come.
func (p *sharedProcessor) upstreamSynced() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.syncedAt.Store(p.mu.lastInitial)
	for listener := range p.mu.listeners {
		for _, l := range listener.couriers {
			l.checkSynced()
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
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]*processorListener, 0, len(p.mu.listeners))
	for listener := range p.mu.listeners {
		all = append(all, listener)
	}
	return all
}
