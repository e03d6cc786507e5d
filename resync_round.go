// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "slices"

// idsOf returns the numbers by which rounds know couriers.
func idsOf(couriers []*courier) []uint64 {
	ids := make([]uint64, len(couriers))
	for i, l := range couriers {
		ids[i] = l.id
	}
	return ids
}

// unreadResyncs are the resyncs of all objects that a courier has not come to. The log only has a record of each without
// the objects, so that it keeps them for nobody but whom they are for.
//
// One is enough: an object that has not changed since is in it, and what has changed is told by the log after it. So nobody
// who has it to hear, however late, is given another one.
type unreadResyncs struct {
	unread   []*snapshot // for each record in the log ahead that is for the courier, in order
	complete bool        // the last of them and the log after it tell the courier of all that the store has
}

// shouldResync decides which listeners take part in the resync that is due now, and reports whether there are any.
func (p *sharedProcessor) shouldResync() (any bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	round := make(resyncRound)
	for listener := range p.mu.listeners {
		if listener.resync.decide(now) {
			any = true
			continue
		}
		for _, l := range listener.couriers {
			round[l.id] = struct{}{}
		}
	}
	p.mu.round = round
	return any
}

// handOutLocked gives a resync of all objects to the couriers that take part and have none to hear yet, and leaves a record of
// it for the log: of size 0 if it is for nobody.
func (p *sharedProcessor) handOutLocked(c *change) {
	all, wanted := c.many, false
	var provided []*courier
	for listener := range p.mu.listeners {
		for _, l := range listener.couriers {
			switch {
			case p.mu.round.excludes(l.id):
			case l.oweResync(all):
				wanted = true
			default:
				provided = append(provided, l)
			}
		}
	}
	c.many, c.round = &snapshot{}, p.mu.round.without(idsOf(provided))
	if wanted {
		c.many.n = all.len()
	} else {
		all.release()
	}
}

// missLocked notes that an update that counts as a resync passes by those that do not take part.
func (p *sharedProcessor) missLocked() {
	if len(p.mu.round) == 0 {
		return
	}
	for listener := range p.mu.listeners {
		for _, l := range listener.couriers {
			if p.mu.round.excludes(l.id) {
				l.missResync()
			}
		}
	}
}

// oweResync gives the courier a resync to deliver, or reports that it would say nothing that will not be said.
func (l *courier) oweResync(all *snapshot) (needed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.resyncs == nil {
		l.mu.resyncs = &unreadResyncs{}
	}
	resyncs := l.mu.resyncs
	if resyncs.complete {
		return false
	}
	resyncs.unread, resyncs.complete = append(resyncs.unread, all), true
	return true
}

func (l *courier) missResync() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.resyncs != nil {
		l.mu.resyncs.complete = false
	}
}

// takeBulkLocked returns a bulk record of the log that is for the courier, with its objects. It is called once for each.
func (l *courier) takeBulkLocked(c *change) *change {
	bulk := *c
	if bulk.everything() {
		resyncs := l.mu.resyncs
		bulk.many = resyncs.unread[0]
		if resyncs.unread = slices.Delete(resyncs.unread, 0, 1); len(resyncs.unread) == 0 {
			l.mu.resyncs = nil
		}
	}
	return &bulk
}
