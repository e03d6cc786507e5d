// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view reads stores of package cache, and of informers, without copying:
//
//	for key, pod := range view.TypedAll[*corev1.Pod](informer.GetStore()) {
//		...
//	}
//
// A loop, and a Snapshot, sees the store as it was at one moment. Of a store of another package the
// functions read through its own methods, so that programs can take stores from their callers; only
// a Snapshot cannot be had of one.
package view

import (
	"fmt"
	"iter"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/table"
)

// Snapshot is a store as it was at one moment: every call answers from the same state, whatever is
// written meanwhile. It may be used by any number of goroutines. The objects are shared with the
// store: never change one.
//
// Taking one costs about a microsecond, whatever the size of the store. While it is open, the
// objects that it sees and the store has replaced or deleted since are kept in memory, and nothing
// more. Close lets go of them; one that is forgotten is closed when the garbage collector finds it,
// and counted in inspect.Snapshots. After Close, reads find nothing, and those that return an error
// return ErrClosed.
type Snapshot struct{ of *table.Snapshot }

var (
	// ErrClosed says that a snapshot was read after its Close.
	ErrClosed = table.ErrClosed
)

// Of returns the present state of a store, or of the store of an informer, however these are handed
// out: as a typed indexer, a typed informer, an informer of controller-runtime's cache (see
// inspect.StatusOf). The caller closes it. The error is inspect.ErrForeign for a store, or an informer, of
// another package.
func Of(storeOrInformer any) (*Snapshot, error) {
	own := door.TableOf(storeOrInformer)
	if own == nil {
		return nil, fmt.Errorf("snapshot of a %T: %w", storeOrInformer, door.ErrForeign)
	}
	return &Snapshot{own.Snapshot()}, nil
}

// ResourceVersion returns the resourceVersion of the state. A later snapshot may have an older one,
// with the state that a server has after a backup of it was put back.
func (s *Snapshot) ResourceVersion() string { return s.of.RV() }

// Len returns the number of objects.
func (s *Snapshot) Len() int { return s.of.Len() }

// Get returns the object under key.
func (s *Snapshot) Get(key string) (obj any, exists bool) { return s.of.Get(key) }

// List returns all objects in no particular order, in a slice of the caller's own.
func (s *Snapshot) List() []any { return s.of.List() }

// All yields every key and object, without copying. The body of the loop may do anything.
func (s *Snapshot) All() iter.Seq2[string, any] { return s.of.All() }

// ByIndex yields the key and object of each object whose values in the index contain value, without
// copying.
func (s *Snapshot) ByIndex(index, value string) (iter.Seq2[string, any], error) {
	return s.of.ByIndexSeq(index, value)
}

// Close lets go of the state. Closing again does nothing.
func (s *Snapshot) Close() { s.of.Close() }
