// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime"
	"sync/atomic"
	"time"
)

// Snapshot is the state of a table at one moment. It is safe for concurrent use. Taking one costs
// the same whatever the size of the table. While it is open, the versions that it sees are kept in
// memory; Close releases them. A snapshot that becomes unreachable without Close is closed by the
// garbage collector, and counted as forgotten.
//
// After Close, reads return nothing, or ErrClosed if they return an error.
type Snapshot struct {
	view view
	meta meta
	*hold
	cleanup runtime.Cleanup
}

// hold is the part of a snapshot that releases it. It outlives a forgotten snapshot.
type hold struct {
	table *Table
	pin   *pin
	// users is the number of reads in progress, plus holdOpen until Close. The pin is released when
	// users falls to 0, so that Close does not drop versions while another goroutine reads them.
	users atomic.Int64
}

// leave is called by the last user. It also clears the pin: a closed snapshot that is still
// referenced must not keep other pins in memory.
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

// open is Snapshot without the cleanup, for callers that always close it.
func (t *Table) open() *Snapshot {
	p, passed := t.pins.arrive(t.core.Load().published.Load())
	t.opened.Add(1)
	p.since.Store(time.Now().UnixNano())
	v, m := t.glanceMeta()
	p.settle(v.gen)
	if passed > manyPins {
		t.callJanitor() // it counts the pins
	}
	h := &hold{table: t, pin: p}
	h.users.Store(holdOpen)
	return &Snapshot{view: v, meta: m, hold: h}
}

// glanceMeta returns the newest view and its meta, for a pin that is arriving. It retries if a
// batch is published between its two loads.
func (t *Table) glanceMeta() (view, meta) {
	for {
		v := t.glance()
		if m, ok := v.core.metas.at(v.gen, &v.core.published); ok {
			v.pinned = true
			return v, m
		}
	}
}

// Close releases the state. It does not block: if other goroutines are reading, the last of them
// releases it. Closing again does nothing.
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

// forget closes a snapshot that has become unreachable.
func (h *hold) forget() {
	if h.close() {
		h.table.forgotten.Add(1)
	}
}

// use begins a read. It reports false if the snapshot is closed.
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

// SnapshotStats describes the open snapshots of a table.
type SnapshotStats struct {
	// Open is the number of open snapshots and of iterations in progress.
	Open int
	// Oldest is the time at which the oldest of them was taken; zero if there is none.
	Oldest time.Time
	// Forgotten is the number of snapshots closed by the garbage collector.
	Forgotten uint64
	// Kept is the number of superseded versions kept for them and for other reads in progress.
	Kept int
}

// Snapshots returns the current statistics. It is safe for any goroutine.
func (t *Table) Snapshots() SnapshotStats {
	s := SnapshotStats{Open: int(t.opened.Load()), Forgotten: t.forgotten.Load(), Kept: int(t.kept.Load())}
	if since := t.pins.oldest(); since != 0 {
		s.Oldest = time.Unix(0, since)
	}
	return s
}
