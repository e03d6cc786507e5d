// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/owners"
	"github.com/kinformer/cache/internal/reflector"
)

var (
	errReplaced = errors.New("another Put has replaced this request of the source")
	errRemoved  = errors.New("the source was removed")
)

// common is what the sources of a Group share.
type common struct {
	whole  *door.Informer // the informer before it ran
	synced chan struct{}  // closed when HasSynced waits for no more source
	mu     struct {
		sync.Mutex
		put      func(event.Record) // puts a state into the queue; nil before Follow
		awaited  int                // the number of awaited sources, plus one until Follow knows all of them
		hopeless int                // the number of them that have ended
		never    chan struct{}      // closed while hopeless is positive
	}
}

// oneLessLocked makes HasSynced wait for one source less.
func (c *common) oneLessLocked() {
	if c.mu.awaited--; c.mu.awaited == 0 {
		close(c.synced)
	}
}

// ignoreLocked makes HasSynced stop waiting for a source.
func (c *common) ignoreLocked(s *Source) {
	if s.awaited {
		s.awaited = false
		c.oneLessLocked()
	}
	c.judgeLocked(s)
}

// judgeLocked updates whether an awaited source has ended.
func (c *common) judgeLocked(s *Source) {
	before := c.mu.hopeless
	if s.hopeless {
		c.mu.hopeless--
	}
	if s.hopeless = s.awaited && s.Current().report.HasEnded(); s.hopeless {
		c.mu.hopeless++
	}
	switch {
	case before == 0 && c.mu.hopeless > 0:
		close(c.mu.never)
	case before > 0 && c.mu.hopeless == 0:
		c.mu.never = make(chan struct{})
	}
}

// Source is one of the sources of a Group. To observers it is an informer that cannot be run: its
// current session. It lasts until it is removed; a replacement starts another session of it.
type Source struct {
	door.Holder[door.Look]
	common   *common
	name     string
	part     *owners.Source
	observed door.Observed

	current atomic.Pointer[Session] // changed under the Group's lock

	// The following fields are guarded by the Group's lock.
	synced   chan struct{} // closed when the current session has synced; a replacement of that one makes another
	awaited  bool          // whether the Group's HasSynced waits for it
	hopeless bool          // whether the Group counts it as one that will never sync
}

func newSource(name string, of *common) *Source {
	s := &Source{common: of, name: name, part: &owners.Source{Name: name}, synced: make(chan struct{})}
	s.Holder = door.NewHolder(door.Look(s.Look))
	return s
}

// Look returns the current session of the source as an informer for observers.
func (s *Source) Look() *door.Informer {
	s.common.mu.Lock()
	defer s.common.mu.Unlock()
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
	s.common.mu.Lock()
	defer s.common.mu.Unlock()
	return checker{"Source ", s.Current().report, s.synced}
}

// LastSyncResourceVersion returns the version of the current session that the store has reached.
func (s *Source) LastSyncResourceVersion() string { return s.Current().LastSyncResourceVersion() }

// Session is a ListerWatcher of a source, with the status of its reflector. To observers it is an informer
// that cannot be run. It ends when the source is replaced or removed.
type Session struct {
	door.Holder[door.Look]
	source        *Source
	part          *owners.Session
	listerWatcher clientgo.ListerWatcher
	report        *reflector.Journal
	relister      *reflector.Relister
	synced        chan struct{} // closed when the first state is in the store and the handlers have it

	// The following fields are guarded by the Group's lock, and nil before the session runs.
	transform *event.Transformer
	requests  func() reflector.Options
	stop      context.CancelFunc
}

// newSession returns the session with the next number. The caller makes it the current one.
func newSession(of *Source, lw clientgo.ListerWatcher, report *reflector.Journal) *Session {
	s := &Session{
		source: of, listerWatcher: lw, report: report, relister: &reflector.Relister{}, synced: make(chan struct{}),
		part: &owners.Session{Source: of.part, Number: 1},
	}
	if before := of.Current(); before != nil {
		s.part.Number = before.part.Number + 1
	}
	s.part.Stored, s.part.Lapsed, s.part.Relist = s.stored, s.lapsed, func() { s.relister.RelistNewest() }
	s.Holder = door.NewHolder(door.Look(s.look))
	return s
}

// stored records that the store and the handlers have a state of the session.
func (s *Session) stored() {
	of := s.source.common
	of.mu.Lock()
	defer of.mu.Unlock()
	if isClosed(s.synced) {
		return
	}
	close(s.synced)
	if s.source.Current() == s {
		close(s.source.synced)
		of.ignoreLocked(s.source)
	}
}

// lapsed asks for a list of the server's most recent state, because its versions began again, unless such
// a list is queued or under way.
func (s *Session) lapsed() {
	of := s.source.common
	of.mu.Lock()
	put := of.mu.put
	of.mu.Unlock()
	put(owners.NewCheck(s.part, func() {
		if phase := s.report.Status().Phase; phase != reflector.Listing && phase != reflector.Streaming {
			s.relister.RelistNewest()
		}
	}))
}

func isClosed(c <-chan struct{}) bool { return clientgo.IsDone(checker{done: c}) }

func (s *Session) look() *door.Informer {
	s.source.common.mu.Lock()
	defer s.source.common.mu.Unlock()
	return s.lookLocked()
}

func (s *Session) lookLocked() *door.Informer {
	whole := s.source.common.whole
	return &door.Informer{
		Controller: s, Resource: s.report.Name(), Example: whole.Example,
		Keep: whole.Keep, Applier: whole.Applier, Delivery: whole.Delivery, Part: s.part,
		Report: s.report, Relister: s.relister, Observed: &s.source.observed, Transform: s.transform, Requests: s.requests,
		Progress: &s.part.Progress, Applied: s.part.Version, Len: s.part.Len,
		ProcessErrors: func() (uint64, error) { return 0, nil },
	}
}

// Run does nothing: the Group runs the session.
func (*Session) Run(<-chan struct{}) {}

// RunWithContext does nothing.
func (*Session) RunWithContext(context.Context) {}

// HasSynced reports whether the first state of the session is in the store.
func (s *Session) HasSynced() bool { return isClosed(s.synced) }

// HasSyncedChecker returns a checker for HasSynced.
func (s *Session) HasSyncedChecker() clientgo.DoneChecker {
	return checker{"Source ", s.report, s.synced}
}

// LastSyncResourceVersion returns the version of the session that the store has reached.
func (s *Session) LastSyncResourceVersion() string { return s.part.Version() }

// checker is the DoneChecker of a source, a session or a group. It does not keep any of them alive.
type checker struct {
	of     string // the words before the name of the objects
	report *reflector.Journal
	done   <-chan struct{}
}

func (c checker) Name() string { return c.of + c.report.Name() }

func (c checker) Done() <-chan struct{} { return c.done }
