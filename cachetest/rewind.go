// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest

import (
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// Rewind takes the source back to what it was at rv, counter included, as the
// restore of a backup does: what was written since is gone, resourceVersions
// are given again, and the open streams break. It panics if rv was compacted
// or is yet to come.
//
// A client that comes back with a version that was given again by then does not
// notice that it means another write: no watch tells it. Settle does, by name.
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

// undoLocked remembers the write e as one that a Rewind undid: its version will
// be given to another one, and handlers have heard of it, or will.
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

// undoneLocked returns the write that a Rewind undid and that obj comes from, nil
// when it comes from none. What a transform has changed equals neither such a
// write nor the state, and counts as the state.
func (s *Source) undoneLocked(key, version string, obj any) runtime.Object {
	all := s.mu.undone[key]
	if len(all) == 0 {
		return nil
	}
	if now := s.mu.state[key]; now.version == version && equality.Semantic.DeepEqual(now.obj, obj) {
		return nil
	}
	for _, undone := range all {
		if undone.version == version && equality.Semantic.DeepEqual(undone.obj, obj) {
			return undone.obj
		}
	}
	return nil
}

// sighting is what a handler was told last of a key.
type sighting struct {
	version string
	// undone is the write that a Rewind undid, if it was one, else nil: then the
	// version alone does not tell whether the state is the same.
	undone runtime.Object
}

// shows reports whether who was told this knows the state now.
func (v sighting) shows(now stored) bool {
	return v.version == now.version && (v.undone == nil || equality.Semantic.DeepEqual(v.undone, now.obj))
}
