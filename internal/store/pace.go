// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"
	"time"

	"github.com/kinformer/cache/internal/table"
)

// indexPace knows whether the user's index functions of a store are so quick that an informer may
// run them in the goroutine that reads from the server. It goes by the last ones that ran:
//
//	unknown ──▶ quick ◀──▶ slow
//
// Unless they are quick, what the watch sends goes through the queue. If the first objects of an
// initial state show that they are slow, the queue's consumer files the others. So reading goes on
// whatever the functions do, but for the calls that show that they are slow, 32 at most.
//
// A store that gets another function of the user's gets another indexPace.
type indexPace struct {
	state atomic.Uint32
}

const (
	paceUnknown uint32 = iota // none of the functions has run yet
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

// allows reports whether the goroutine that reads from the server may store so many objects.
func (p *indexPace) allows(objects int) bool {
	return p.is(paceQuick) && objects <= table.BlockLen
}

func (p *indexPace) is(state uint32) bool { return p.state.Load() == state }

// note notes that the functions have run for so many objects, and how long that took. That much
// more is not held against them.
func (p *indexPace) note(objects int, took, more time.Duration) {
	if objects == 0 {
		return
	}
	state := paceQuick
	if took > time.Duration(objects)*slowIndexing+more {
		state = paceSlow
	}
	if !p.is(state) {
		p.state.Store(state)
	}
}
