// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"maps"
	"sync"
)

// Kind is the kind of a notification.
type Kind uint8

const (
	ChangeAdd Kind = iota
	ChangeUpdate
	ChangeDelete
)

// Cause is the reason for a notification.
type Cause uint8

const (
	CauseWatch   Cause = iota
	CauseInitial       // the first list, or the objects in the store when a handler is added
	CauseRelist        // a later list
	CauseResync
	CauseGone // its source was removed
)

// Change is one notification, or many of the same kind, about changes that the store has applied.
type Change struct {
	Kind    Kind
	Initial bool // for an Add: part of the initial list
	Resync  bool // for an Update: a resync, for the handlers that are due
	Cause   Cause
	Key     string  // the key of the object in the store; "" for a bulk record
	Source  *string // the name of the source, if there are several; otherwise nil

	Old, New any // Old: for Update and Delete (where it may be a DeletedFinalStateUnknown); New: for Add and Update

	// Many makes this a bulk record: an Add of each of its objects, or an Update of each, from
	// Many.Formers or from itself. Old and New are nil.
	Many *Snapshot

	// Set when the change is distributed.
	Round ResyncRound // of a resync: the receivers to skip
	At    int64       // the time of distribution, in nanoseconds of the clock of internal/fanout
}

// ResyncRound is the set of receivers that were not due when the resync began. Changes of the
// resync are for all other receivers, including those added until the next resync. Before the first
// resync, changes are for all receivers, as in client-go. A ResyncRound is immutable, and keeps no
// receiver alive.
type ResyncRound map[uint64]struct{}

func (r ResyncRound) Excludes(receiver uint64) bool {
	_, excluded := r[receiver]
	return excluded
}

// Without returns a ResyncRound that also excludes the given receivers.
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

// Snapshot is an ordered set of objects at one time, with their keys in the store. It is immutable,
// and shared by any number of handlers. A snapshot of a store costs nothing until it is first read:
//
//	stored (a lister, open) ── first At ──▶ objects, keys (stored is closed)
type Snapshot struct {
	N       int
	keys    []string // nil until read, or if no handler needs keys
	objects []any    // nil until read
	Formers []any    // of an Update: the objects that are replaced; nil: the objects themselves
	stored  lister   // nil once read, and for a snapshot of given objects
	Keyed   bool     // read the keys of stored, too; set before the first read
	read    sync.Once
}

// KeyedSnapshot returns a snapshot of the objects with the given keys.
func KeyedSnapshot(keys []string, objects []any) *Snapshot {
	return &Snapshot{N: len(objects), keys: keys, objects: objects}
}

// lister is the contents of a store at one time. It must be closed after use.
type lister interface {
	Len() int
	List() []any
	ListKeys() []string // in the order of List
	Close()
}

// StoredSnapshot returns a snapshot of a store. It does not copy the objects, so callers may hold
// locks.
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

// key returns the key of object i, or "" if there are no keys. The snapshot must have been read.
func (s *Snapshot) key(i int) string {
	if s.keys == nil {
		return ""
	}
	return s.keys[i]
}

// Release closes a snapshot that will not be read. The garbage collector closes one that is not
// released.
func (s *Snapshot) Release() {
	s.read.Do(func() {
		if s.stored != nil {
			s.stored.Close()
			s.stored = nil
		}
	})
}

// Size returns the number of calls of a handler that the change stands for.
func (c *Change) Size() int {
	if c.Many != nil {
		return c.Many.Len()
	}
	return 1
}

// Everything reports whether the change is a resync of the whole store.
func (c *Change) Everything() bool { return c.Resync && c.Many != nil && c.Many.Formers == nil }

// Single returns change i of a bulk record.
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
