// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"
)

// coverage matches what the server acknowledged with what a handler heard. What is in one only must
// have a reason: a list has skipped it, or the acknowledgement was lost on its way to the writer.
// Its methods may be called concurrently.
type coverage struct {
	mu struct {
		sync.Mutex
		unheard        map[uint64]struct{} // acknowledged and not heard
		unacknowledged map[uint64]struct{} // heard and not acknowledged, so far
		gaps           []gap
	}
}

// gap is what a list has skipped: the resourceVersions after from, up to and including to.
type gap struct{ from, to uint64 }

func newCoverage() *coverage {
	c := &coverage{}
	c.mu.unheard, c.mu.unacknowledged = map[uint64]struct{}{}, map[uint64]struct{}{}
	return c
}

func (c *coverage) acknowledged(rv uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	match(rv, c.mu.unacknowledged, c.mu.unheard)
}

func (c *coverage) heard(rv uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	match(rv, c.mu.unheard, c.mu.unacknowledged)
}

// match removes rv from the one set or adds it to the other.
func match(rv uint64, from, to map[uint64]struct{}) {
	if _, ok := from[rv]; ok {
		delete(from, rv)
	} else {
		to[rv] = struct{}{}
	}
}

// skipped notes that an informer that was at from has now the list at to. An empty or unreadable
// from is the beginning.
func (c *coverage) skipped(from, to string) {
	// An error leaves 0, the beginning.
	start, _ := strconv.ParseUint(from, 10, 64)
	end, _ := strconv.ParseUint(to, 10, 64)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.gaps = append(c.mu.gaps, gap{start, end})
}

// hearPatience is how long what was acknowledged may be on its way to a handler whose replica is as
// it should be: what was made and deleted at once does not show there.
const hearPatience = time.Minute

// settle returns the acknowledged resourceVersions that were not heard though nothing skipped them,
// and starts anew. It is called while nobody writes and the replica is complete, and waits for what
// is still to be heard.
func (c *coverage) settle(ctx context.Context) (unheard []uint64) {
	ctx, cancel := context.WithTimeout(ctx, hearPatience)
	defer cancel()
	for len(c.unheard()) > 0 && wait(ctx, 10*time.Millisecond) {
	}
	unheard = c.unheard()
	c.startAnew()
	return unheard
}

func (c *coverage) startAnew() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.mu.unheard)
	clear(c.mu.unacknowledged)
	c.mu.gaps = nil
}

// unheard returns the acknowledged resourceVersions that were not heard though nothing skipped
// them.
func (c *coverage) unheard() (unheard []uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for rv := range c.mu.unheard {
		if !slices.ContainsFunc(c.mu.gaps, func(g gap) bool { return g.from < rv && rv <= g.to }) {
			unheard = append(unheard, rv)
		}
	}
	slices.Sort(unheard)
	return unheard
}
