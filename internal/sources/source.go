// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"sync"
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
)

// Source is one of the sources of a Group, and, for those who look at it, an informer that cannot be
// run. It lasts until it is removed; a replacement is another session of it.
type Source struct {
	door.Seat[door.Look]
	of     *kind
	name   string
	part   *store.Source
	synced chan struct{} // closed by sync

	once     sync.Once
	awaited  atomic.Bool // by the Group's HasSynced
	observed door.Observed

	mu      sync.Locker // of the Group
	session             // guarded by mu
}

// kind is what the sources of a Group have in common.
type kind struct {
	whole *door.Informer // before it ran

	synced   chan struct{} // closed when no source is awaited any more
	unsynced atomic.Int64  // sources that are, and one until Follow knows them all
}

// oneLess notes that one of the sources is not awaited any more.
func (k *kind) oneLess() {
	if k.unsynced.Add(-1) == 0 {
		close(k.synced)
	}
}

// session is one request of a source, and what is told of it.
type session struct {
	number        uint64
	listerWatcher clientgo.ListerWatcher
	report        *reflector.Journal
	relister      *reflector.Relister
	transform     *event.Transformer       // nil before it runs
	requests      func() reflector.Options // the same
	stop          context.CancelFunc       // never nil
}

// next returns the session that follows.
func (s session) next(lw clientgo.ListerWatcher) session {
	return session{
		number: s.number + 1, listerWatcher: lw,
		report: s.report.Successor(), relister: &reflector.Relister{}, stop: func() {},
	}
}

func newSource(name string, of *kind, mu sync.Locker) *Source {
	s := &Source{of: of, name: name, mu: mu, part: &store.Source{Name: name}, synced: make(chan struct{})}
	s.session = session{report: reflector.NewJournal(), relister: &reflector.Relister{}, stop: func() {}}
	s.Seat = door.Seated(door.Look(s.Look))
	return s
}

// sync notes that the first state is in the store and the handlers have it.
func (s *Source) sync() {
	s.once.Do(func() { close(s.synced) })
	s.ignore()
}

// await has the Group's HasSynced wait for the source.
func (s *Source) await() {
	s.of.unsynced.Add(1)
	s.awaited.Store(true)
}

// ignore has the Group's HasSynced not wait for the source any more.
func (s *Source) ignore() {
	if s.awaited.CompareAndSwap(true, false) {
		s.of.oneLess()
	}
}

// Look shows the source to those beside the root package.
func (s *Source) Look() *door.Informer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &door.Informer{
		Controller: s, Resource: s.label(), Example: s.of.whole.Example,
		Applier: s.of.whole.Applier, Delivery: s.of.whole.Delivery, Part: &store.Session{Source: s.part, Number: s.number},
		Report: s.report, Relister: s.relister, Observed: &s.observed, Transform: s.transform, Requests: s.requests,
		Progress: &s.part.Progress, Applied: s.part.Version, Len: s.part.Len,
		ProcessErrors: func() (uint64, error) { return 0, nil },
	}
}

// label is what logs and errors call the source.
func (s *Source) label() string { return s.of.whole.Resource + " of source " + s.name }

// Run does nothing: the Group runs the source.
func (*Source) Run(<-chan struct{}) {}

// RunWithContext does nothing.
func (*Source) RunWithContext(context.Context) {}

// HasSynced reports whether the first state of the source is in the store.
func (s *Source) HasSynced() bool { return clientgo.IsDone(s.HasSyncedChecker()) }

// HasSyncedChecker returns what HasSynced answers as a channel.
func (s *Source) HasSyncedChecker() clientgo.DoneChecker {
	return checker{"Source " + s.label(), s.synced}
}

// LastSyncResourceVersion returns the version to which the store has come for the source.
func (s *Source) LastSyncResourceVersion() string { return s.part.Version() }

// checker is the DoneChecker of a source or a group, which it does not keep alive.
type checker struct {
	name string
	done <-chan struct{}
}

func (c checker) Name() string { return c.name }

func (c checker) Done() <-chan struct{} { return c.done }
