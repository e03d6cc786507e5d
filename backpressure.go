// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"math"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// room returns how many more events of the watch the handlers with Block would like to have on their way to them. Of what
// they take, inFlight events were read and are not distributed yet. If that is 0, freed is closed when it is worth asking
// again. One goroutine calls it.
func (p *sharedProcessor) room(inFlight func() int) (events int, freed <-chan struct{}) {
	if p.blockers.Load() == 0 {
		return unbounded, nil
	}
	if events = p.roomBeyond(inFlight); events > 0 {
		return events, nil
	}
	changed := make(chan struct{})
	p.freed.Store(&changed)
	if events = p.roomBeyond(inFlight); events > 0 { // what changed before that was not told
		return events, nil
	}
	return 0, changed
}

// roomBeyond is leastRoom less what is in flight. That comes first: what is distributed in between is counted twice, and
// whoever distributes it has the caller ask again, but it is never counted by neither.
func (p *sharedProcessor) roomBeyond(inFlight func() int) int {
	reserved := inFlight()
	return p.leastRoom() - reserved
}

// unbounded is the room that handlers without Block have.
const unbounded = math.MaxInt32

// leastRoom is how many notifications the handler with Block takes that has room for the fewest.
func (p *sharedProcessor) leastRoom() int {
	least := unbounded
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, listener := range p.mu.tended {
		if listener.overflow == block {
			least = min(least, listener.max-listener.behind())
		}
	}
	return least
}

// madeRoom has whoever waits for room ask again. It takes no lock.
func (p *sharedProcessor) madeRoom() {
	if p.freed.Load() == nil { // nearly always
		return
	}
	if changed := p.freed.Swap(nil); changed != nil {
		close(*changed)
	}
}

// disconnectLocked removes a listener that is too far behind.
func (p *sharedProcessor) disconnectLocked(listener *processorListener, behind int) {
	listener.fault.Store(true)
	p.removeLocked(listener)
	err := fmt.Errorf("%w: %s: %d notifications are waiting, the most are %d",
		errDisconnected, listener.name, behind, listener.max)
	p.running.Go(func() {
		defer utilruntime.HandleCrashWithLogger(listener.logger)
		listener.logger.Info("Warning: event handler removed", "err", err)
		if listener.dropped != nil {
			listener.dropped(err)
		}
	})
}
