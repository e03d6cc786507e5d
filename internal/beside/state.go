// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package beside

import (
	"iter"
	"maps"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
	"github.com/kinformer/cache/internal/table"
)

// State is the content of a store, or of one of its sources, between two batches, with the server's
// versions and UIDs. It keeps objects alive until it is closed.
type State struct {
	snapshot *table.Snapshot
	received store.Received // owned by the State
	version  string
	own      map[string]string // of store.Part.State; nil if the State is that of the whole store
}

// StateOf returns the content of the store of an applier, or of a part of it, which may be nil. It
// returns nil if the server does not vouch for a version of it. It must be called by the applier's
// user, between two batches.
func StateOf(a *store.Applier, of store.Part) *State {
	s := &State{version: a.Contents.Table.RV()}
	vouched := a.Progress.Vouches() && store.IsVouched(s.version)
	if of != nil {
		s.version, s.own, vouched = of.State(a.Sharing)
	}
	if !vouched {
		return nil
	}
	s.snapshot, s.received = a.Contents.Table.Snapshot(), maps.Clone(a.Received)
	return s
}

// SourceOf returns a snapshot of the store of a source, the keys of the source's objects in it, and the
// version that the store has reached for the source. It waits for a batch that is being stored. The error
// is why there is no store.
func SourceOf(source *door.Informer) (stored *table.Snapshot, own map[string]string, version string, err error) {
	if source.Applier == nil {
		return nil, nil, "", source.Report.Status().Unfit
	}
	source.Delivery.Lock()
	defer source.Delivery.Unlock()
	version, own, _ = source.Part.State(source.Applier.Sharing)
	return source.Applier.Contents.Table.Snapshot(), own, version, nil
}

// Version returns the version of the state.
func (s *State) Version() string { return s.version }

// Len returns the number of objects.
func (s *State) Len() int {
	if s.own != nil {
		return len(s.own)
	}
	return s.snapshot.Len()
}

// Get returns the stored object under a key, and reports whether the state has one.
func (s *State) Get(key string) (obj any, ok bool) {
	if _, own := s.own[key]; s.own != nil && !own {
		return nil, false
	}
	return s.snapshot.Get(key)
}

// All yields every key and stored object, in no particular order.
func (s *State) All() iter.Seq2[string, any] {
	if s.own == nil {
		return s.snapshot.All()
	}
	return func(yield func(string, any) bool) {
		for key := range s.own {
			if obj, ok := s.snapshot.Get(key); ok && !yield(key, obj) {
				return
			}
		}
	}
}

// Origin returns the version and UID of a stored object as received. If the store has a newer
// version of another source, Origin returns the version for this source, without a UID, and shown
// is false.
func (s *State) Origin(key string, obj any) (of event.Origin, shown bool) {
	of = s.received.Origin(key, obj)
	if version := s.own[key]; version != "" && version != of.Version {
		return event.Origin{Version: version}, false
	}
	return of, true
}

// Close releases the objects.
func (s *State) Close() { s.snapshot.Close() }
