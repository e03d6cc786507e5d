// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// sharedProcessor fans changes out to the listeners of one informer.
type sharedProcessor struct {
	clock   clock.PassiveClock
	running sync.WaitGroup // one for each listener at work

	mu struct {
		sync.RWMutex
		started   bool // start was called
		stopped   bool // stop was called
		synced    bool // the informer's first list is distributed
		listeners map[*processorListener]struct{}
	}
}

func newSharedProcessor(c clock.PassiveClock) *sharedProcessor {
	p := &sharedProcessor{clock: c}
	p.mu.listeners = map[*processorListener]struct{}{}
	return p
}

// start lets the listeners begin to work on what is distributed.
func (p *sharedProcessor) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.started = true
	for listener := range p.mu.listeners {
		listener.start(&p.running)
	}
}

// stop drops what the listeners had still to deliver and returns when their running calls have.
func (p *sharedProcessor) stop() {
	p.mu.Lock()
	for listener := range p.mu.listeners {
		listener.close()
	}
	clear(p.mu.listeners)
	p.mu.stopped = true
	p.mu.Unlock()
	p.running.Wait()
}

// add registers a listener that first hears of the objects in known as its initial list. The caller keeps distribute from
// running meanwhile.
func (p *sharedProcessor) add(listener *processorListener, known []any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.stopped {
		listener.close()
		return
	}
	p.mu.listeners[listener] = struct{}{}
	if p.mu.started {
		listener.start(&p.running)
	}
	initial := make([]change, len(known))
	for i, obj := range known {
		initial[i] = change{kind: changeAdd, new: obj, initial: true}
	}
	listener.enqueue(initial)
	if p.mu.synced {
		listener.upstreamSynced()
	}
}

// remove drops what the listener had still to deliver. It does nothing for a listener that is not registered.
func (p *sharedProcessor) remove(listener *processorListener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, registered := p.mu.listeners[listener]; registered {
		delete(p.mu.listeners, listener)
		listener.close()
	}
}

func (p *sharedProcessor) count() int {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return len(p.mu.listeners)
}

func (p *sharedProcessor) has(listener *processorListener) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	_, registered := p.mu.listeners[listener]
	return registered
}

// distribute queues the changes for each listener, in order. It never waits for a handler. Listeners copy what they keep.
func (p *sharedProcessor) distribute(changes []change) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for listener := range p.mu.listeners {
		listener.enqueue(changes)
	}
}

// upstreamSynced tells the listeners that nothing more of the first list will come.
func (p *sharedProcessor) upstreamSynced() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.synced = true
	for listener := range p.mu.listeners {
		listener.upstreamSynced()
	}
}

// shouldResync decides which listeners take part in the resync that is due now, and tells whether there are any.
func (p *sharedProcessor) shouldResync() bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	now := p.clock.Now()
	needed := false
	for listener := range p.mu.listeners {
		needed = listener.decideResync(now) || needed
	}
	return needed
}

// resyncCheckPeriodChanged fits the listeners' periods to a new check period.
func (p *sharedProcessor) resyncCheckPeriodChanged(check time.Duration) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for listener := range p.mu.listeners {
		listener.fitResyncPeriod(check)
	}
}
