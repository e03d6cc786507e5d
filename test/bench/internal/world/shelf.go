// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package world

import (
	"errors"
	"sort"
	"sync"
	"sync/atomic"
)

// FirstVersion is lower than all versions, so that all have ten digits.
const FirstVersion = 1_000_000_000

// logged is the default of Config.Log: more than four minutes of the leases of 10,000 nodes, and
// more of all other resources.
const logged = 1 << 18

// ErrGone is returned for a version that is too old for a watch.
var ErrGone = errors.New("world: the version is too old")

// Shelf has the objects of a resource, and a log of their last changes. Its methods may be called
// concurrently, except those that write: add, change and remove.
type Shelf struct {
	resource Resource
	latest   *atomic.Uint64 // the last version of the world
	limit    int            // the maximum length of the log

	mu struct {
		sync.Mutex
		slots     []Object // a slot with version 0 is free
		free      []int32
		objects   int
		log       []Change // a ring, once it has limit changes
		next      uint64   // the number of the next change
		compacted uint64   // versions below are too old for a watch
		changed   chan struct{}
	}
}

func newShelf(r Resource, limit int, latest *atomic.Uint64) *Shelf {
	s := &Shelf{resource: r, latest: latest, limit: limit}
	s.mu.changed = make(chan struct{})
	return s
}

// add adds a new object and returns its slot.
func (s *Shelf) add(o Object) int32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Version = s.latest.Add(1)
	s.mu.objects++
	s.logLocked(Change{Kind: Added, Object: o})
	if n := len(s.mu.free); n > 0 {
		slot := s.mu.free[n-1]
		s.mu.free = s.mu.free[:n-1]
		s.mu.slots[slot] = o
		return slot
	}
	s.mu.slots = append(s.mu.slots, o)
	return int32(len(s.mu.slots) - 1)
}

// change changes an object by a function.
func (s *Shelf) change(slot int32, due int64, by func(*Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.mu.slots[slot]
	by(o)
	o.Changes++
	o.Version, o.Due = s.latest.Add(1), due
	s.logLocked(Change{Modified, *o})
}

// remove deletes an object.
func (s *Shelf) remove(slot int32, due int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.mu.slots[slot]
	o.Version, o.Due = s.latest.Add(1), due
	s.logLocked(Change{Deleted, o})
	s.mu.slots[slot] = Object{}
	s.mu.free = append(s.mu.free, slot)
	s.mu.objects--
}

// at returns the object in a slot. Only the writing goroutine may call it.
func (s *Shelf) at(slot int32) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.slots[slot]
}

func (s *Shelf) logLocked(c Change) {
	if len(s.mu.log) < s.limit {
		s.mu.log = append(s.mu.log, c)
	} else {
		s.mu.log[s.mu.next%uint64(s.limit)] = c
	}
	s.mu.next++
}

// announce wakes the readers that wait for changes.
func (s *Shelf) announce() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.mu.changed)
	s.mu.changed = make(chan struct{})
}

// Snapshot is all objects of a resource at a version. Next is the number of the first change after
// it.
type Snapshot struct {
	Objects []Object
	Version uint64
	Next    uint64
}

// Snapshot returns the objects, in no order.
func (s *Shelf) Snapshot() Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Object, 0, s.mu.objects)
	for i := range s.mu.slots {
		if s.mu.slots[i].Version > 0 {
			all = append(all, s.mu.slots[i])
		}
	}
	return Snapshot{Objects: all, Version: s.latest.Load(), Next: s.mu.next}
}

// State returns a digest of the objects, and the number of changes so far.
func (s *Shelf) State() (state State, changes uint64) {
	snapshot := s.Snapshot()
	for _, o := range snapshot.Objects {
		state.Add(UID(s.resource, o.Serial), o.Version)
	}
	return state, snapshot.Next
}

// Since returns the number of the first change after a version, or ErrGone.
func (s *Shelf) Since(version uint64) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sinceLocked(version)
}

func (s *Shelf) sinceLocked(version uint64) (uint64, error) {
	oldest := s.oldestLocked()
	if version < s.mu.compacted || oldest > 0 && version < s.loggedLocked(oldest).Object.Version {
		return 0, ErrGone
	}
	n := sort.Search(int(s.mu.next-oldest), func(i int) bool {
		return s.loggedLocked(oldest+uint64(i)).Object.Version > version
	})
	return oldest + uint64(n), nil
}

func (s *Shelf) oldestLocked() uint64 { return s.mu.next - uint64(len(s.mu.log)) }

func (s *Shelf) loggedLocked(number uint64) *Change {
	return &s.mu.log[number%uint64(s.limit)]
}

// Read copies changes from a number on to to. It returns their number, a channel that is closed
// after later changes, and the last version, which a reader has reached if n is 0. It returns
// ErrGone if the log no longer has the change from.
func (s *Shelf) Read(from uint64, to []Change) (n int, changed <-chan struct{}, version uint64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if from < s.oldestLocked() {
		return 0, nil, 0, ErrGone
	}
	for n < len(to) && from+uint64(n) < s.mu.next {
		to[n] = *s.loggedLocked(from + uint64(n))
		n++
	}
	return n, s.mu.changed, s.latest.Load(), nil
}

// Compact makes all earlier versions too old for a watch.
func (s *Shelf) Compact() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.compacted = s.latest.Add(1)
}

// Compacted returns the version of the last Compact.
func (s *Shelf) Compacted() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.compacted
}

// Next returns the number of the next change.
func (s *Shelf) Next() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.next
}
