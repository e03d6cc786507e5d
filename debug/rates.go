// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"sync"
	"time"

	"github.com/kinformer/cache"
)

// rates computes the events per second of informers, between two requests for them. It keeps only
// numbers.
type rates struct {
	mu struct {
		sync.Mutex
		byInformer map[uint64]rate // by the informer's number
	}
}

type rate struct {
	events    int64
	at        time.Time
	perSecond float64
}

// rateSpan is the shortest time that a rate covers, for any number of viewers.
const rateSpan = time.Second

// of returns the rate of an informer, or 0 at the first request.
func (r *rates) of(id uint64, events int64, now time.Time) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	last, ok := r.mu.byInformer[id]
	span := now.Sub(last.at)
	switch {
	case !ok:
		if r.mu.byInformer == nil {
			r.mu.byInformer = map[uint64]rate{}
		}
		r.mu.byInformer[id] = rate{events: events, at: now}
	case span >= rateSpan:
		last = rate{events, now, max(0, float64(events-last.events)/span.Seconds())}
		r.mu.byInformer[id] = last
	}
	return last.perSecond
}

// forget drops all rates when many of them are of informers that no longer run.
func (r *rates) forget(running []cache.Controller) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.mu.byInformer) <= 2*len(running)+16 { // few enough to keep
		return
	}
	clear(r.mu.byInformer)
}
