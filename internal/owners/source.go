// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
)

// Source is one of several sources of a store, with its part of the content. Its Progress is that
// of the source. The exported fields and methods may be used by any goroutine, the others by the
// applier only.
type Source struct {
	Name     string // the name passed to handlers; does not change
	Progress store.Progress
	version  atomic.Pointer[string]
	size     atomic.Int64

	keys    map[string]struct{} // keys of the source's objects
	session uint64              // number of the session whose list was applied last; 0 if there was none

	newest          string // version to be published after the transaction
	newestIsVouched bool   // whether the server vouches for newest
}

// Version returns the version that the store has reached for this source, or "" before its first
// list.
func (s *Source) Version() string {
	if version := s.version.Load(); version != nil {
		return *version
	}
	return ""
}

// Len returns the number of objects of the source, including those that other sources have too.
func (s *Source) Len() int { return int(s.size.Load()) }

// Session is one request of a source for objects. When a source is replaced or removed it gets a
// session with a greater number, and records of an earlier session are dropped after the first list
// of a later one. Session is the State of each record about an object, and of each bookmark.
type Session struct {
	*Source
	Number uint64
	// Stored is called when a list of the session is in the store and was passed to the handlers,
	// in the applier's goroutine. It must not block. It may be nil.
	Stored func()
}

// sessionOf returns the session of a record that is not a full list.
func sessionOf(rec *event.Record) *Session {
	session, _ := rec.State.(*Session)
	return session
}

// isCurrent reports whether the session's list is in the store, so that its events may be applied.
func (s *Session) isCurrent() bool { return s != nil && s.Number == s.session }

// note records the version of a record, to be published with the transaction. Added events do not
// make the server vouch, because a watch may begin with Added events in any order.
func (s *Source) note(typ clientgo.DeltaType, version string) {
	switch s.newest = event.LaterVersion(s.newest, version); typ {
	case clientgo.ReplacedAll:
		s.newest = version
		fallthrough
	case clientgo.Bookmark, clientgo.Updated, clientgo.Deleted:
		s.newestIsVouched = store.IsVouched(version)
	}
}

// publish publishes the recorded version after the transaction. While the version changes from one
// that the server vouches for to another one, Reached may return false; the end of the change wakes
// its callers.
func (s *Source) publish() {
	if !s.newestIsVouched {
		s.Progress.Vouch(false)
	}
	version := s.newest
	s.version.Store(&version)
	s.size.Store(int64(len(s.keys)))
	s.Progress.Vouch(s.newestIsVouched)
	s.Progress.Wake()
}
