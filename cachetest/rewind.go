// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/semantic"
)

// Rewind restores the state of the source at rv, including the counter, as the restore of a backup
// does: later writes are lost, their resourceVersions are used again, and the open streams break. It
// panics if rv was compacted or is greater than the counter.
//
// A client that resumes from a version that was used again does not notice that it now belongs to
// another write: no watch reports it. Settle does, with the name of the handler.
func (s *Source) Rewind(rv uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.mu.log.replayable(rv) {
		panic(expired(rv, s.mu.log.compacted))
	}
	if rv > s.mu.rv {
		panic(TooLargeResourceVersion(rv, s.mu.rv))
	}
	then := s.mu.log.undo(rv)
	for _, e := range s.mu.log.rewind(rv) {
		s.undoLocked(e)
	}
	for key, obj := range then {
		s.storeLocked(key, obj)
	}
	s.mu.rv = rv
	s.breakLocked()
}

// undoLocked records e as a write that a Rewind undid: its version will be used again, and handlers
// have received it, or will.
func (s *Source) undoLocked(e entry) {
	if e.kind != change || e.event.Type == watch.Deleted {
		return
	}
	undone := stored{obj: e.event.Object, version: s.opts.Version(accessor(e.event.Object))}
	s.mu.undone[e.key] = append(s.mu.undone[e.key], undone)
	for _, t := range s.mu.tracked {
		if was, seen := t.seen[e.key]; seen && was.version == undone.version && was.undone == nil {
			t.seen[e.key] = sighting{version: undone.version, undone: undone.obj}
		}
	}
}

// undoneLocked returns the undone write that obj is a copy of, or nil. An object that a transform has
// changed equals neither an undone write nor the state, and counts as the state.
func (s *Source) undoneLocked(key, version string, obj any) runtime.Object {
	all := s.mu.undone[key]
	if len(all) == 0 {
		return nil
	}
	if now := s.mu.state[key]; now.version == version && semantic.Equal(now.obj, obj) {
		return nil
	}
	for _, undone := range all {
		if undone.version == version && semantic.Equal(undone.obj, obj) {
			return undone.obj
		}
	}
	return nil
}

// sighting is the last state of a key that a handler has received.
type sighting struct {
	version string
	// undone is the write if a Rewind undid it, else nil: then an equal version does not imply an equal
	// state.
	undone runtime.Object
}

// shows reports whether the sighting is the current state.
func (v sighting) shows(now stored) bool {
	return v.version == now.version && (v.undone == nil || semantic.Equal(v.undone, now.obj))
}
