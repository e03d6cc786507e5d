// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// Source is what one of several sources of a store has there. Its Progress is that of the source.
// The applier has the rest; anybody may call the methods that are exported.
type Source struct {
	Name     string // what handlers are told; does not change
	Progress Progress
	version  atomic.Pointer[string]
	size     atomic.Int64

	keys    map[string]struct{} // of the objects that the source has
	session uint64              // whose state was applied last; 0: none yet

	newest          string // version to be published after the transaction
	newestIsVouched bool   // by the server
	vouched         bool   // what Progress says
}

// Version returns the version to which the store has come for this source; "" before its first
// state.
func (s *Source) Version() string {
	if version := s.version.Load(); version != nil {
		return *version
	}
	return ""
}

// Len returns how many objects the source has, those included that other sources have, too.
func (s *Source) Len() int { return int(s.size.Load()) }

// Session is one request of a source for objects. A source that is replaced or removed gets a
// session with a greater number; what an earlier one brings after the first state of a later one is
// dropped. It is the State of each record about an object, and of each bookmark.
type Session struct {
	*Source
	Number uint64
	// Stored is called when a state of the session is in the store and was given to the handlers, in
	// the goroutine of the applier. It must not wait. nil: nothing is.
	Stored func()
}

// sessionOf returns the session of a record that is no whole state.
func sessionOf(rec *event.Record) *Session {
	session, _ := rec.State.(*Session)
	return session
}

// isCurrent reports whether the session's state is in the store, so that events may follow it.
func (s *Session) isCurrent() bool { return s != nil && s.Number == s.session }

// note notes the version of a record, to be published with the transaction. Added events may come in
// any order at the beginning of a watch, and so do not make the server vouch.
func (s *Source) note(typ clientgo.DeltaType, version string) {
	switch s.newest = event.LaterVersion(s.newest, version); typ {
	case clientgo.ReplacedAll:
		s.newest = version
		fallthrough
	case clientgo.Bookmark, clientgo.Updated, clientgo.Deleted:
		s.newestIsVouched = version != "" && version != "0"
	}
}

// publish shows what was noted to those who wait for a version, after the transaction. While the
// version changes from one that the server vouches for to another one, Reached may say no: the end
// of the change wakes its caller.
func (s *Source) publish() {
	if s.vouched && !s.newestIsVouched {
		s.turn()
	}
	version := s.newest
	s.version.Store(&version)
	s.size.Store(int64(len(s.keys)))
	if !s.vouched && s.newestIsVouched {
		s.turn()
	}
	if s.Progress.waiting.Load() > 0 {
		s.Progress.wake()
	}
}

func (s *Source) turn() {
	s.vouched = !s.vouched
	s.Progress.era.Add(1)
}
