// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Snapshot is the table as it was at one moment, for any number of goroutines.
// It costs the same whatever the size of the table. While it is open, the
// versions that it sees are kept in memory; Close lets go of them. One that is
// forgotten is closed after the garbage collector has found it, and counted.
//
// After Close, reads return nothing, or ErrClosed where they return an error.
type Snapshot struct {
	view view
	meta meta
	*hold
	cleanup runtime.Cleanup
}

// hold is the part of a snapshot that releases it: it outlives a forgotten one.
type hold struct {
	table *Table
	pin   *pin
	// users is the number of reads in progress, plus holdOpen until Close. The
	// pin is left when it falls to 0, so that Close cannot pull the versions
	// away from a read in another goroutine.
	users atomic.Int64
}

// leave is for the last user. It lets go of the pin, too: a snapshot that is
// closed and still held keeps no other pins in memory.
func (h *hold) leave() {
	h.table.opened.Add(-1)
	h.table.leave(h.pin)
	h.pin = nil
}

const holdOpen = 1 << 32

// Snapshot returns the newest state.
func (t *Table) Snapshot() *Snapshot {
	s := t.open()
	s.cleanup = runtime.AddCleanup(s, (*hold).forget, s.hold)
	return s
}

// open is Snapshot without the safety net, for callers that surely close it.
func (t *Table) open() *Snapshot {
	p, passed := t.pins.arrive(t.core.Load().published.Load())
	t.opened.Add(1)
	p.since.Store(time.Now().UnixNano())
	v, m := t.glanceMeta()
	p.settle(v.gen)
	if passed > manyPins {
		t.callJanitor() // who counts them
	}
	h := &hold{table: t, pin: p}
	h.users.Store(holdOpen)
	return &Snapshot{view: v, meta: m, hold: h}
}

// glanceMeta returns the newest view and its meta, for a pin that has arrived
// and not settled. It repeats when a batch is published between its two loads.
func (t *Table) glanceMeta() (view, meta) {
	for {
		v := t.glance()
		if m, ok := v.core.metas.at(v.gen, &v.core.published); ok {
			v.pinned = true
			return v, m
		}
	}
}

// Close lets go of the state. It waits for nobody: if reads are in progress
// in other goroutines, the last one lets go. Closing again does nothing.
func (s *Snapshot) Close() {
	if s.close() {
		s.cleanup.Stop()
	}
}

func (h *hold) close() (first bool) {
	for {
		n := h.users.Load()
		if n < holdOpen {
			return false
		}
		if h.users.CompareAndSwap(n, n-holdOpen) {
			if n == holdOpen {
				h.leave()
			}
			return true
		}
	}
}

// forget closes a snapshot that nobody can reach any longer.
func (h *hold) forget() {
	if h.close() {
		h.table.forgotten.Add(1)
	}
}

// use begins a read; false says that the snapshot is closed.
func (h *hold) use() bool {
	for {
		n := h.users.Load()
		if n < holdOpen {
			return false
		}
		if h.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

func (h *hold) unuse() {
	if h.users.Add(-1) == 0 {
		h.leave()
	}
}

// SnapshotStats tells how many snapshots are open.
type SnapshotStats struct {
	// Open counts snapshots and iterations in progress.
	Open int
	// Oldest is when the oldest of them was taken; zero if there is none.
	Oldest time.Time
	// Forgotten counts the snapshots that were closed by the garbage collector.
	Forgotten uint64
	// Kept is the number of superseded versions held back for them, and for
	// other reads in progress.
	Kept int
}

// Snapshots returns the figures of this moment. Any goroutine.
func (t *Table) Snapshots() SnapshotStats {
	s := SnapshotStats{Open: int(t.opened.Load()), Forgotten: t.forgotten.Load(), Kept: int(t.kept.Load())}
	if since := t.pins.oldest(); since != 0 {
		s.Oldest = time.Unix(0, since)
	}
	return s
}
