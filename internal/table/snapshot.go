// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package table

import (
	"runtime"
	"slices"
	"time"
)

// Snapshot is the state of a table at one moment. It is safe for concurrent use. Taking one costs
// the same whatever the size of the table. While it is open, the versions that it sees are kept in
// memory; Close releases them. A snapshot that becomes unreachable without Close is closed by the
// garbage collector, and counted as forgotten.
//
// After Close, reads return nothing, or ErrClosed if they return an error.
type Snapshot struct {
	reads
	cleanup runtime.Cleanup
}

const holdOpen = 1 << 32

// leave is called by the last user. It also clears the pin, which another reader may use from now on, and
// the view, which has all objects of a former content.
func (h *hold) leave() {
	h.table.leave(h.pin)
	h.pin, h.view = nil, view{}
}

// Snapshot returns the newest state.
func (t *Table) Snapshot() *Snapshot {
	h := t.open()
	s := &Snapshot{reads: reads{t, h}}
	s.cleanup = runtime.AddCleanup(s, (*hold).forget, h)
	return s
}

// open returns the newest state. The caller must close it.
func (t *Table) open() *hold {
	v, m, p := t.take(time.Now().UnixNano())
	h := &hold{view: v, meta: m, table: t, pin: p}
	h.users.Store(holdOpen)
	return h
}

// Close releases the state. It does not block: if other goroutines are reading, the last of them
// releases it. Closing again does nothing.
func (s *Snapshot) Close() {
	if s.of.close() {
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

// Err returns ErrClosed after Close.
func (s *Snapshot) Err() error {
	if s.of.users.Load() < holdOpen {
		return ErrClosed
	}
	return nil
}

// Indexes returns the names of the snapshot's indexes, sorted.
func (s *Snapshot) Indexes() []string {
	if !s.of.use() {
		return nil
	}
	defer s.of.unuse()
	var names []string
	for _, ix := range *s.of.view.core.indexes.Load() {
		if ix.born <= s.of.view.gen {
			names = append(names, ix.name)
		}
	}
	slices.Sort(names)
	return names
}

// Test returns a function that reports whether an object has a value in an index. It calls the
// index function, in the caller's goroutine; an object for which that fails or panics has no value.
func (s *Snapshot) Test(index, value string) (func(obj any) bool, error) {
	if !s.of.use() {
		return nil, ErrClosed
	}
	defer s.of.unuse()
	ix, err := s.of.view.index(index)
	if err != nil {
		return nil, err
	}
	return func(obj any) bool { return ix.has(obj, value) }, nil
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
	open, since := t.pins.opened()
	s := SnapshotStats{Open: open, Forgotten: t.forgotten.Load(), Kept: int(t.kept.Load())}
	if since != 0 {
		s.Oldest = time.Unix(0, since)
	}
	return s
}
