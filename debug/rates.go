// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"sync"
	"time"

	"github.com/kinformer/cache"
)

// rates says how many events a second informers have, from one time that they are looked at to the
// next. It keeps numbers only.
type rates struct {
	mu struct {
		sync.Mutex
		known map[uint64]rate // by the informer's number
	}
}

type rate struct {
	events    int64
	at        time.Time
	perSecond float64
}

// rateSpan is the time that a rate is about at least, however many look.
const rateSpan = time.Second

// of returns the rate of an informer, 0 before it was looked at twice.
func (r *rates) of(id uint64, events int64, now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, known := r.mu.known[id]
	span := now.Sub(last.at)
	switch {
	case !known:
		if r.mu.known == nil {
			r.mu.known = map[uint64]rate{}
		}
		r.mu.known[id] = rate{events: events, at: now}
	case span >= rateSpan:
		last = rate{events, now, max(0, float64(events-last.events)/span.Seconds())}
		r.mu.known[id] = last
	}
	return last.perSecond
}

// forget forgets who does not run any more.
func (r *rates) forget(running []cache.Controller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.known) <= 2*len(running)+16 { // it is worth it
		return
	}
	clear(r.mu.known)
}
