// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	"context"
	"errors"

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
	g := s.source.group
	g.mu.Lock()
	defer g.mu.Unlock()
	if isClosed(s.synced) {
		return
	}
	close(s.synced)
	if s.source.Current() == s {
		close(s.source.synced)
		g.ignoreLocked(s.source)
	}
}

// lapsed asks for a list of the server's most recent state, because its versions began again, unless such
// a list is queued or under way.
func (s *Session) lapsed() {
	g := s.source.group
	g.mu.Lock()
	q := g.mu.queue
	g.mu.Unlock()
	q.PutState(owners.NewCheck(s.part, func() {
		if phase := s.report.Status().Phase; phase != reflector.Listing && phase != reflector.Streaming {
			s.relister.RelistNewest()
		}
	}))
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (s *Session) look() *door.Informer {
	s.source.group.mu.Lock()
	defer s.source.group.mu.Unlock()
	return s.lookLocked()
}

func (s *Session) lookLocked() *door.Informer {
	whole := s.source.group.whole
	return &door.Informer{
		Controller: s, Resource: s.report.Name(), Example: whole.Example,
		Applier: whole.Applier, Delivery: whole.Delivery, Part: s.part,
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
