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
// objects in it that were replaced or deleted in the store remain in memory, and after a relist all
// objects that the store had just before it, which inspect.Snapshots does not count. Close releases them.
// A snapshot that is dropped without Close is closed when the garbage collector finds it, and counted in
// inspect.Snapshots. After Close, reads find nothing, and those that return an error return ErrClosed;
// only Len and ResourceVersion answer as before. Only Of returns a usable Snapshot.
type Snapshot struct {
	of      *table.Snapshot
	own     map[string]string // the keys of a source's objects; nil if the Snapshot has all objects
	version string            // the version of the source, if own is not nil
}

// ErrClosed means that a snapshot was read after its Close.
var ErrClosed = table.ErrClosed

// Of returns a snapshot of the present state of a store, or of an informer's store, also behind
// wrappers: a typed indexer, a typed informer, an informer of controller-runtime's cache (see
// inspect.StatusOf). The caller must close it. The error is inspect.ErrForeign for a store or an
// informer of another package.
//
// Of a source of package sources the snapshot has the source's objects, as they are in the informer's
// store: the state may be that of another source that has the object too, if it is newer. Such a snapshot
// costs time and memory for a copy of the source's keys, and waits for a batch that is being stored;
// transforms and index functions, for which the batch waits, must not take it. The error of a source that
// does not exist is sources.ErrUnknown.
func Of(storeOrInformer any) (*Snapshot, error) {
	if of := beside.TableOf(storeOrInformer); of != nil {
		return &Snapshot{of: of.Snapshot()}, nil
	}
	source := door.Of(storeOrInformer)
	if source == nil || source.Part == nil {
		return nil, fmt.Errorf("snapshot of a %T: %w", storeOrInformer, door.ErrForeign)
	}
	of, own, version, err := beside.SourceOf(source)
	if err != nil {
		return nil, fmt.Errorf("snapshot of a source: %w", err)
	}
	return &Snapshot{of, own, version}, nil
}

// ResourceVersion returns the resourceVersion of the state. A later snapshot may have an older one,
// after the server was restored from a backup.
func (s *Snapshot) ResourceVersion() string {
	if s.own != nil {
		return s.version
	}
	return s.of.RV()
}

// Len returns the number of objects.
func (s *Snapshot) Len() int {
	if s.own != nil {
		return len(s.own)
	}
	return s.of.Len()
}

// Get returns the object under key.
func (s *Snapshot) Get(key string) (obj any, exists bool) {
	if !s.has(key) {
		return nil, false
	}
	return s.of.Get(key)
}

// All yields every key and object, in no particular order and without copying. The body of the loop may
// do anything but close the snapshot, which may end the loop early.
func (s *Snapshot) All() iter.Seq2[string, any] {
	if s.own == nil {
		return s.of.All()
	}
	return func(yield func(string, any) bool) {
		for key := range s.own {
			if obj, exists := s.of.Get(key); exists && !yield(key, obj) {
				return
			}
		}
	}
}

// ByIndex yields the key and object of each object whose values in the index contain value, as All does.
// The error is ErrClosed, or that of an index that the snapshot does not have.
func (s *Snapshot) ByIndex(index, value string) (iter.Seq2[string, any], error) {
	members, err := s.of.ByIndexSeq(index, value)
	if err != nil || s.own == nil {
		return members, err
	}
	return func(yield func(string, any) bool) {
		for key, obj := range members {
			if s.has(key) && !yield(key, obj) {
				return
			}
		}
	}, nil
}

// has reports whether the snapshot may have an object under key.
func (s *Snapshot) has(key string) bool {
	_, own := s.own[key]
	return own || s.own == nil
}

// count returns the number of objects whose values in the index contain value.
func (s *Snapshot) count(index, value string) (n int, err error) {
	if s.own == nil {
		return s.of.Count(index, value)
	}
	members, err := s.ByIndex(index, value)
	if err != nil {
		return 0, err
	}
	for range members {
		n++
	}
	return n, nil
}

// Close releases the state. Closing again does nothing.
func (s *Snapshot) Close() { s.of.Close() }
