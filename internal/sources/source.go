// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/owners"
)

// Source is one of the sources of a Group. To observers it is an informer that cannot be run: its
// current session. It lasts until it is removed; a replacement starts another session of it.
type Source struct {
	door.Holder[door.Look]
	group    *Group
	name     string
	part     *owners.Source
	observed door.Observed

	current atomic.Pointer[Session] // changed under the Group's lock

	// The following fields are guarded by the Group's lock.
	synced   chan struct{} // closed when the current session has synced; a replacement of that one makes another
	awaited  bool          // whether the Group's HasSynced waits for it
	hopeless bool          // whether the Group counts it as one that will never sync
}

func newSource(name string, g *Group) *Source {
	s := &Source{group: g, name: name, part: &owners.Source{Name: name}, synced: make(chan struct{})}
	s.Holder = door.NewHolder(door.Look(s.Look))
	return s
}

// Look returns the current session of the source as an informer for observers.
func (s *Source) Look() *door.Informer {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return s.lookLocked()
}

func (s *Source) lookLocked() *door.Informer {
	now := s.Current().lookLocked()
	now.Controller = s
	return now
}

// Current returns the current session.
func (s *Source) Current() *Session { return s.current.Load() }

// Run does nothing: the Group runs the source.
func (*Source) Run(<-chan struct{}) {}

// RunWithContext does nothing.
func (*Source) RunWithContext(context.Context) {}

// HasSynced reports whether the first state of the current session is in the store.
func (s *Source) HasSynced() bool { return s.Current().HasSynced() }

// HasSyncedChecker returns a checker that is done when the current session, or one that has replaced it
// before it had synced, has synced.
func (s *Source) HasSyncedChecker() clientgo.DoneChecker {
	s.group.mu.Lock()
	defer s.group.mu.Unlock()
	return checker{"Source ", s.Current().report, s.synced}
}

// LastSyncResourceVersion returns the version of the current session that the store has reached.
func (s *Source) LastSyncResourceVersion() string { return s.Current().LastSyncResourceVersion() }
