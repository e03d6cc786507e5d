// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package view reads stores of package cache, and of informers, without copying:
//
//	for key, pod := range view.TypedAll[*corev1.Pod](informer.GetStore()) {
//		...
//	}
//
// A loop or a Snapshot sees the store as of one moment. For a store of another package the
// functions use the store's own methods, so that programs can accept stores from their callers;
// only a Snapshot is not available.
package view

import (
	"fmt"
	"iter"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/table"
)

// Snapshot is the state of a store at one moment: every call answers from that state, whatever is
// written meanwhile. It may be used by any number of goroutines. The objects are shared with the
// store and must not be modified.
//
// Taking a snapshot costs about a microsecond, whatever the size of the store. While it is open,
// objects in it that were replaced or deleted in the store remain in memory, and nothing else.
// Close releases them. A snapshot that is dropped without Close is closed when the garbage
// collector finds it, and counted in inspect.Snapshots. After Close, reads find nothing, and those
// that return an error return ErrClosed. Only Of returns a usable Snapshot.
type Snapshot struct{ of *table.Snapshot }

var (
	// ErrClosed means that a snapshot was read after its Close.
	ErrClosed = table.ErrClosed
)

// Of returns a snapshot of the present state of a store, or of an informer's store, also behind
// wrappers: a typed indexer, a typed informer, an informer of controller-runtime's cache (see
// inspect.StatusOf). The caller must close it. The error is inspect.ErrForeign for a store or an
// informer of another package.
func Of(storeOrInformer any) (*Snapshot, error) {
	own := beside.TableOf(storeOrInformer)
	if own == nil {
		return nil, fmt.Errorf("snapshot of a %T: %w", storeOrInformer, door.ErrForeign)
	}
	return &Snapshot{own.Snapshot()}, nil
}

// ResourceVersion returns the resourceVersion of the state. A later snapshot may have an older one,
// after the server was restored from a backup.
func (s *Snapshot) ResourceVersion() string { return s.of.RV() }

// Len returns the number of objects.
func (s *Snapshot) Len() int { return s.of.Len() }

// Get returns the object under key.
func (s *Snapshot) Get(key string) (obj any, exists bool) { return s.of.Get(key) }

// List returns all objects in no particular order, in a new slice.
func (s *Snapshot) List() []any { return s.of.List() }

// All yields every key and object, without copying. The body of the loop may do anything.
func (s *Snapshot) All() iter.Seq2[string, any] { return s.of.All() }

// ByIndex yields the key and object of each object whose values in the index contain value, without
// copying.
func (s *Snapshot) ByIndex(index, value string) (iter.Seq2[string, any], error) {
	return s.of.ByIndexSeq(index, value)
}

// Close releases the state. Closing again does nothing.
func (s *Snapshot) Close() { s.of.Close() }
