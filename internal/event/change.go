// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"maps"
	"sync"
)

// Kind is what a change means to a handler.
type Kind uint8

const (
	ChangeAdd Kind = iota
	ChangeUpdate
	ChangeDelete
)

// Cause is why a change came.
type Cause uint8

const (
	CauseWatch   Cause = iota
	CauseInitial       // the first list, or what is there when a handler is added
	CauseRelist        // a later list
	CauseResync
	CauseGone // its source was removed
)

// Change is one notification, or many alike: what the store has already applied and the handlers
// have still to hear.
type Change struct {
	Kind    Kind
	Initial bool // Adds that belong to the initial list
	Resync  bool // Updates that say nothing new: for handlers whose resync is due
	Cause   Cause
	Key     string  // of the object in the store; "" for a bulk record
	Source  *string // the name of the source that it came from, of several; nil: of none of these

	Old, New any // old: Update and Delete (then perhaps a DeletedFinalStateUnknown); new: Add and Update

	// Many makes this a bulk record: an Add of each of these objects, or an Update, to itself or as
	// many says. old and new are nil.
	Many *Snapshot

	// Filled in when it is distributed.
	Round ResyncRound // for a resync: whom it is not for
	At    int64       // when it was distributed, in nanoseconds on the processor's clock
}

// ResyncRound is the outcome of one look at who is due for a resync: the numbers of the receivers
// that were not due. Everything that counts as a resync is for all others, among them those that
// were not there yet, until the next look; before the first look it is for everybody, as in
// client-go. A round does not change, and keeps no receiver alive.
type ResyncRound map[uint64]struct{}

func (r ResyncRound) Excludes(receiver uint64) bool {
	_, excluded := r[receiver]
	return excluded
}

// Without returns the round without those receivers, too.
func (r ResyncRound) Without(receivers []uint64) ResyncRound {
	if len(receivers) == 0 {
		return r
	}
	smaller := make(ResyncRound, len(r)+len(receivers))
	maps.Copy(smaller, r)
	for _, receiver := range receivers {
		smaller[receiver] = struct{}{}
	}
	return smaller
}

// Snapshot is a set of objects at one time, in one order, with their keys in the store. It does not
// change, and any number of handlers share it. One of the store costs nothing until the first of
// them reads it.
type Snapshot struct {
	N       int
	keys    []string // once read, of each object; nil if no handler needs them
	objects []any    // once read
	Formers []any    // for updates: what the objects replace; nil: themselves
	stored  lister   // until read; nil for a snapshot of given objects
	Keyed   bool     // some handler needs the keys of stored; set before anybody reads
	read    sync.Once
}

// KeyedSnapshot is a snapshot of given objects, under these keys.
func KeyedSnapshot(keys []string, objects []any) *Snapshot {
	return &Snapshot{N: len(objects), keys: keys, objects: objects}
}

// lister is what a store holds at one time. It is closed when it is not needed any more.
type lister interface {
	Len() int
	List() []any
	ListKeys() []string // in the order of List
	Close()
}

// StoredSnapshot returns what a store holds. It is the cheaper way to a list of it for a caller
// that holds locks.
func StoredSnapshot(stored lister) *Snapshot {
	s := &Snapshot{N: stored.Len(), stored: stored}
	if s.N == 0 {
		s.Release()
	}
	return s
}

func (s *Snapshot) Len() int { return s.N }

func (s *Snapshot) At(i int) any {
	s.read.Do(func() {
		if s.stored == nil {
			return
		}
		if s.objects = s.stored.List(); s.Keyed {
			s.keys = s.stored.ListKeys() // in the same order
		}
		s.stored.Close()
		s.stored = nil
	})
	return s.objects[i]
}

// key returns the key of the i-th object, after it was read, and "" without keys.
func (s *Snapshot) key(i int) string {
	if s.keys == nil {
		return ""
	}
	return s.keys[i]
}

// Release lets go of a snapshot that will not be read. One that is not released is closed by the
// garbage collector.
func (s *Snapshot) Release() {
	s.read.Do(func() {
		if s.stored != nil {
			s.stored.Close()
			s.stored = nil
		}
	})
}

// Size is how many calls of a handler the change stands for.
func (c *Change) Size() int {
	if c.Many != nil {
		return c.Many.Len()
	}
	return 1
}

// Everything reports whether the change is a resync of all that the store has.
func (c *Change) Everything() bool { return c.Resync && c.Many != nil && c.Many.Formers == nil }

// Single returns the i-th of the changes that a bulk record stands for.
func (c *Change) Single(i int) Change {
	one := Change{Kind: c.Kind, Initial: c.Initial, Resync: c.Resync, Cause: c.Cause, Source: c.Source, New: c.Many.At(i), Round: c.Round, At: c.At}
	one.Key = c.Many.key(i)
	switch {
	case c.Many.Formers != nil:
		one.Old = c.Many.Formers[i]
	case c.Kind == ChangeUpdate:
		one.Old = one.New
	}
	return one
}
