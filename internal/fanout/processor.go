// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
)

// Processor fans changes out to the listeners of one informer. It writes each change once, to the
// log of its feed, whatever their number; each listener reads the log by the cursors of its
// consumers. One that has read all is parked, after a moment: it has no cursor, and keeps no
// object. So distributing is a place in the log for each parked consumer that wants a change, one
// append, and one worker to start (pool.go); what lags behind or has nothing to do costs it
// nothing.
type Processor struct {
	feed    feed
	pool    pool
	guarded registry // by the feed's lock
	clock   clock.PassiveClock
	vigil   vigil
}

// NewProcessor returns a processor for what comes from upstream, which says whether its first list
// was distributed.
func NewProcessor(upstream clientgo.DoneChecker, c clock.PassiveClock) *Processor {
	p := &Processor{clock: c}
	p.feed.init(upstream)
	p.pool.init(&p.feed)
	p.guarded.feed, p.guarded.pool = &p.feed, &p.pool
	p.vigil.look = p.NameLagging
	return p
}

// NewListener returns a listener that is not registered yet.
func (p *Processor) NewListener(handler clientgo.ResourceEventHandler, o Options) *Listener {
	return newListener(&p.feed, p.clock.Now(), handler, o)
}

// Distribute publishes the changes to the listeners, in order. It never waits for a handler. It
// writes to the changes, and keeps a copy of them. One goroutine at a time calls it.
func (p *Processor) Distribute(changes []event.Change) {
	if len(changes) == 0 {
		p.NameLagging()
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
	p.appendLocked(changes)
	if len(p.guarded.notLossless) > 0 {
		p.guarded.checkOverflowLocked()
	}
	lagging := p.guarded.findLaggingLocked(now)
	start := p.pool.addWorkerLocked()
	p.feed.mu.Unlock()
	if start {
		go p.pool.workFunc()
	}
	sayAll(lagging)
}

// NameLagging logs, as Distribute does once in a while, which handlers are stuck or lag, unless
// that was said. Anybody may call it.
func (p *Processor) NameLagging() {
	p.feed.mu.Lock()
	lagging := p.guarded.findLaggingLocked(p.feed.now())
	p.feed.mu.Unlock()
	sayAll(lagging)
}

// stampLocked notes what the changes do not know themselves, and returns those that are for any
// consumer.
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

// appendLocked writes the changes to the log, and counts them.
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

// Room returns how many more events of the watch may be read, because the handlers that block have
// room for them. Of that room inFlight events, which were read and are not distributed yet, take
// theirs. If none may be read, freed is closed when it is worth asking again; until Room answers
// otherwise, a vigil is kept. One goroutine calls it.
func (p *Processor) Room(inFlight func() int) (events int, freed <-chan struct{}) {
	events = unbounded
	if p.guarded.blockers.Load() > 0 {
		events, freed = p.guarded.room(inFlight)
	}
	if held := freed != nil; held != p.vigil.held.Load() {
		p.vigil.note(held)
	}
	return events, freed
}

// MadeRoom makes the caller of Room ask again.
func (p *Processor) MadeRoom() { p.feed.madeRoom() }

// Add registers a listener whose handler first hears of the objects in known, as its initial list.
// The caller keeps Distribute from running meanwhile.
func (p *Processor) Add(listener *Listener, known *event.Snapshot) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	if p.guarded.stopped {
		known.Release()
		listener.refuse()
		return
	}
	p.guarded.addLocked(listener, known)
	if p.pool.addWorkerLocked() {
		go p.pool.workFunc()
	}
}

// Remove drops what the listener had still to deliver. It does nothing for a listener that is not
// registered.
func (p *Processor) Remove(listener *Listener) {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.guarded.removeLocked(listener)
}

// Count returns how many listeners are registered.
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

// UpstreamSynced notes that nothing more of the first list will come.
func (p *Processor) UpstreamSynced() {
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	p.feed.syncedAt.Store(p.feed.mu.lastInitial)
	for c := range p.guarded.consumersLocked() {
		c.checkSynced()
	}
}

// ResyncCheckPeriodChanged fits the listeners' periods to a new check period.
func (p *Processor) ResyncCheckPeriodChanged(check time.Duration) {
	for _, listener := range p.registered() {
		listener.resync.fit(listener.logger, check)
	}
}

// Figures returns what is known of each handler that is registered, in the order in which they were
// added. It waits for no call.
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

// Disconnected counts the handlers that were removed because they were too slow.
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

// StopPatience is how long the end of an informer may wait for its user's functions until the log
// says for which.
const StopPatience = 5 * time.Second

// Stop drops what the listeners had still to deliver and returns when their running calls have. It
// logs for which of them it waits for long.
func (p *Processor) Stop() {
	p.vigil.end()
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

// nameLeaving logs which handlers have not returned from their last call.
func (p *Processor) nameLeaving() {
	p.feed.mu.Lock()
	leaving, now := slices.Collect(maps.Keys(p.pool.leaving)), p.feed.now()
	p.feed.mu.Unlock()
	longest := map[*target]time.Duration{}
	for _, c := range leaving {
		longest[c.target] = max(longest[c.target], c.call(now))
	}
	for t, call := range longest {
		t.logger.Info("Warning: the informer has stopped, and Run waits until a call of an event handler returns",
			"handler", t.name, "call", call)
	}
	if len(leaving) == 0 {
		klog.Background().Info("Warning: the informer has stopped, and Run waits until an OnDisconnect function returns")
	}
}

// vigilStep is how often it is looked for stuck handlers while the watch is not read.
const vigilStep = 5 * time.Second

// vigil looks for stuck handlers while one of them holds up the watch: then nothing comes with
// which the processor would.
type vigil struct {
	look func()
	held atomic.Bool // written with the lock
	mu   struct {
		sync.Mutex
		timer *time.Timer // nil until the watch was held up
		over  bool
	}
}

// note is called by the reader of the watch when that is held up, or no more.
func (v *vigil) note(held bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch v.held.Store(held); {
	case v.mu.over:
	case v.mu.timer == nil:
		v.mu.timer = time.AfterFunc(vigilStep, v.ring)
	case held:
		v.mu.timer.Reset(vigilStep)
	default:
		v.mu.timer.Stop()
	}
}

// ring looks, and lets the timer ring again. It holds the lock meanwhile, so that nobody looks who
// has ended.
func (v *vigil) ring() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.held.Load() && !v.mu.over {
		v.look()
		v.mu.timer.Reset(vigilStep)
	}
}

// end returns when the timer rings no more.
func (v *vigil) end() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.over = true; v.mu.timer != nil {
		v.mu.timer.Stop()
	}
}
