// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import "math"

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
