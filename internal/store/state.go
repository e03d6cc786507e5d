// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"iter"
	"maps"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
)

// State is what an informer, or one of its sources, has between two batches, and what the server said
// of it. It keeps objects alive until it is closed.
type State struct {
	snapshot *table.Snapshot
	received Received // nobody else has the map
	version  string
	// own has the keys of a source, nil: the state is of all that is stored. A version is that of the
	// object for this source, if others have the object, too; "": it is that of the store.
	own map[string]string
}

// State returns what is stored, or what the source of a session has of that; nil if the server does
// not vouch for a version of it, or the session is not the one in the store. It is for the applier's
// user, between two batches.
func (a *Applier) State(of *Session) *State {
	s := &State{version: a.contents.Table.RV()}
	switch {
	case of == nil && a.vouched && s.version != "" && s.version != "0":
	case of != nil && of.isCurrent() && of.vouched:
		s.version, s.own = of.Version(), a.sharing.(*owners).versionsOf(of.Source)
	default:
		return nil
	}
	s.snapshot, s.received = a.contents.Table.Snapshot(), maps.Clone(a.Received)
	return s
}

// versionsOf is State.own.
func (o *owners) versionsOf(s *Source) map[string]string {
	versions := make(map[string]string, len(s.keys))
	for key := range s.keys {
		versions[key] = ""
	}
	for key, claims := range o.shared {
		for _, c := range claims {
			if c.by == s {
				versions[key] = c.version
			}
		}
	}
	return versions
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

// Get returns the stored object under a key, and whether the state has one.
func (s *State) Get(key string) (obj any, ok bool) {
	if _, own := s.own[key]; s.own != nil && !own {
		return nil, false
	}
	return s.snapshot.Get(key)
}

// All yields every key and stored object, in no order.
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

// Origin returns what the server said of a stored object. Where another source has a newer version
// in the store, it is the version for this source, without the UID, and shown is false.
func (s *State) Origin(key string, obj any) (of event.Origin, shown bool) {
	of = s.received.Origin(key, obj)
	if version := s.own[key]; version != "" && version != of.Version {
		return event.Origin{Version: version}, false
	}
	return of, true
}

// Close lets go of the objects.
func (s *State) Close() { s.snapshot.Close() }
