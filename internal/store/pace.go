// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"
	"time"

	"github.com/kinformer/cache/internal/table"
)

// indexPace knows whether the index functions of a store are so quick that an informer may run them
// in the goroutine that reads from the server. It goes by the last ones that ran:
//
//	none of the user's ──reset──▶ unknown ──ran──▶ quick ◀──ran──▶ slow
//	                                 ▲────reset──────┘───────────────┘
//
// Unless they are quick, what the watch sends goes through the queue. If the first objects of an
// initial state show that they are slow, the queue's consumer files the others. So reading goes on
// whatever the functions do, but for the calls that show that they are slow, 32 at most.
type indexPace struct {
	state atomic.Uint32
}

const (
	paceUsual   uint32 = iota // no index function is the user's
	paceUnknown               // none has run yet
	paceQuick
	paceSlow
)

const (
	// slowIndexing is what storing and filing an object may take on average, all index functions
	// together, until that is slow. With usual functions it takes one to two microseconds; decoding
	// an object from the server takes 10 to 100.
	slowIndexing = 20 * time.Microsecond

	// pauseOfOthers is what a few blocks of an initial state may take longer because other
	// goroutines have the processors.
	pauseOfOthers = 2 * time.Millisecond
)

// reset notes that the store has got a function of the user's.
func (p *indexPace) reset() { p.state.Store(paceUnknown) }

// AllowsReader reports whether the goroutine that reads from the server may store so many objects.
func (p *indexPace) AllowsReader(objects int) bool {
	state := p.state.Load()
	return state == paceUsual || state == paceQuick && objects <= table.BlockLen
}

func (p *indexPace) is(state uint32) bool { return p.state.Load() == state }

// start begins a measurement. The time is zero if there is nothing to measure.
func (p *indexPace) start() (began time.Time) {
	if !p.is(paceUsual) {
		began = time.Now()
	}
	return began
}

// end ends a measurement of so many objects, for which the functions have run.
func (p *indexPace) end(began time.Time, objects int) {
	if objects > 0 && !began.IsZero() {
		p.note(time.Since(began), time.Duration(objects)*slowIndexing)
	}
}

func (p *indexPace) note(took, limit time.Duration) {
	state := paceQuick
	if took > limit {
		state = paceSlow
	}
	if !p.is(state) {
		p.state.Store(state)
	}
}
