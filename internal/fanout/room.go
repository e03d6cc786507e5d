// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"math"
)

// Room returns how many more events of the watch may be read, because the handlers that block have
// room for them. Of that room inFlight events, which were read and are not distributed yet, take
// theirs. If none may be read, freed is closed when it is worth asking again. One goroutine calls
// it.
func (p *Processor) Room(inFlight func() int) (events int, freed <-chan struct{}) {
	if p.blockers.Load() == 0 {
		return unbounded, nil
	}
	if events = p.roomBeyond(inFlight); events > 0 {
		return events, nil
	}
	changed := make(chan struct{})
	p.feed.freed.Store(&changed)
	if events = p.roomBeyond(inFlight); events > 0 { // freed does not tell of what changed before
		return events, nil
	}
	return 0, changed
}

// roomBeyond is leastRoom less what is in flight, which is looked at first: what is distributed in
// between is counted twice, and then the caller asks again, but it is not overlooked by both.
func (p *Processor) roomBeyond(inFlight func() int) int {
	reserved := inFlight()
	return p.leastRoom() - reserved
}

// unbounded is the room without handlers that block.
const unbounded = math.MaxInt32

// leastRoom is the room of the handler that blocks and has the least.
func (p *Processor) leastRoom() int {
	least := unbounded
	p.feed.mu.Lock()
	defer p.feed.mu.Unlock()
	for _, listener := range p.guarded.notLossless {
		if listener.overflow == Block {
			least = min(least, listener.max-listener.behind())
		}
	}
	return least
}

// MadeRoom makes the caller of room ask again.
func (p *Processor) MadeRoom() { p.feed.madeRoom() }
