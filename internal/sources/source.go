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
	"github.com/kinformer/cache/internal/owners"
	"github.com/kinformer/cache/internal/reflector"
)

// Source is one of the sources of a Group. To observers it is an informer that cannot be run. It
// lasts until it is removed; a replacement starts another session of it.
type Source struct {
	door.Holder[door.Look]
	of     *kind
	name   string
	part   *owners.Source
	synced chan struct{} // closed by sync

	once     sync.Once
	awaited  atomic.Bool // whether the Group's HasSynced waits for it
	observed door.Observed

	mu      sync.Locker // the Group's
	session             // guarded by mu
}

// kind is the state that the sources of a Group share.
type kind struct {
	whole *door.Informer // the informer before it ran

	synced   chan struct{} // closed when HasSynced waits for no more source
	unsynced atomic.Int64  // the number of awaited sources, plus one until Follow knows all of them
}

// oneLess records that one source is no longer awaited.
func (k *kind) oneLess() {
	if k.unsynced.Add(-1) == 0 {
		close(k.synced)
	}
}

// session is a ListerWatcher of a source, with the status of its reflector.
type session struct {
	number        uint64
	listerWatcher clientgo.ListerWatcher
	report        *reflector.Journal
	relister      *reflector.Relister
	transform     *event.Transformer       // nil before it runs
	requests      func() reflector.Options // nil before it runs
	stop          context.CancelFunc       // never nil
}

// next returns the session that replaces s.
func (s session) next(lw clientgo.ListerWatcher) session {
	return session{
		number: s.number + 1, listerWatcher: lw,
		report: s.report.Successor(), relister: &reflector.Relister{}, stop: func() {},
	}
}

func newSource(name string, of *kind, mu sync.Locker) *Source {
	s := &Source{of: of, name: name, mu: mu, part: &owners.Source{Name: name}, synced: make(chan struct{})}
	s.session = session{report: of.whole.Report.OfSource(name), relister: &reflector.Relister{}, stop: func() {}}
	s.Holder = door.NewHolder(door.Look(s.Look))
	return s
}

// sync records that the store and the handlers have the first state.
func (s *Source) sync() {
	s.once.Do(func() { close(s.synced) })
	s.ignore()
}

// await makes the Group's HasSynced wait for the source.
func (s *Source) await() {
	s.of.unsynced.Add(1)
	s.awaited.Store(true)
}

// ignore makes the Group's HasSynced stop waiting for the source.
func (s *Source) ignore() {
	if s.awaited.CompareAndSwap(true, false) {
		s.of.oneLess()
	}
}

// Look returns the source as an informer for observers.
func (s *Source) Look() *door.Informer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookLocked()
}

func (s *Source) lookLocked() *door.Informer {
	return &door.Informer{
		Controller: s, Resource: s.report.Name(), Example: s.of.whole.Example,
		Applier: s.of.whole.Applier, Delivery: s.of.whole.Delivery, Part: &owners.Session{Source: s.part, Number: s.number},
		Report: s.report, Relister: s.relister, Observed: &s.observed, Transform: s.transform, Requests: s.requests,
		Progress: &s.part.Progress, Applied: s.part.Version, Len: s.part.Len,
		ProcessErrors: func() (uint64, error) { return 0, nil },
	}
}

// Run does nothing: the Group runs the source.
func (*Source) Run(<-chan struct{}) {}

// RunWithContext does nothing.
func (*Source) RunWithContext(context.Context) {}

// HasSynced reports whether the first state of the source is in the store.
func (s *Source) HasSynced() bool { return clientgo.IsDone(checker{done: s.synced}) }

// HasSyncedChecker returns a checker for HasSynced.
func (s *Source) HasSyncedChecker() clientgo.DoneChecker {
	s.mu.Lock()
	defer s.mu.Unlock()
	return checker{"Source ", s.report, s.synced}
}

// LastSyncResourceVersion returns the version of the source that the store has reached.
func (s *Source) LastSyncResourceVersion() string { return s.part.Version() }

// checker is the DoneChecker of a source or a group. It does not keep either alive.
type checker struct {
	of     string // the words before the name of the objects
	report *reflector.Journal
	done   <-chan struct{}
}

func (c checker) Name() string { return c.of + c.report.Name() }

func (c checker) Done() <-chan struct{} { return c.done }
