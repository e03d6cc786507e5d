// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"sync/atomic"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
)

// Source is one of several sources of a store, with its part of the content. The exported fields and
// methods may be used by any goroutine, the others by the applier only.
type Source struct {
	Name string // the name passed to handlers; does not change
	size atomic.Int64

	keys    map[string]struct{} // keys of the source's objects
	applied *Session            // the session whose list was applied last; nil if there was none

	// The following fields order the lists of sources whose server begins its versions again. The
	// values are those of owners.restarts.
	listed    uint64 // when a list was applied last
	restarted uint64 // when a list proved that the versions began again; 0 if none has
	lapsed    bool   // whether nothing of the source counts before its next list
}

// Len returns the number of objects of the source, including those that other sources have too.
func (s *Source) Len() int { return int(s.size.Load()) }

// Session is one request of a source for objects. When a source is replaced or removed it gets a
// session with a greater number, and records of an earlier session are dropped after the first list
// of a later one. Session is the State of each record about an object, and of each bookmark. Its
// exported fields do not change, and it must not be copied.
type Session struct {
	*Source
	Number uint64
	// Stored is called when a list of the session is in the store and was passed to the handlers. Lapsed is
	// called when the source needs a list of the server's most recent state, because the versions of its
	// server began again; one that is under way is such a list. Relist is called when it needs another one
	// in any case. All are called in the applier's goroutine, must not block, and may be nil.
	Stored, Lapsed, Relist func()

	Progress store.Progress // of the session: a server vouches for nothing before its first list
	version  atomic.Pointer[string]

	newest          string // version to be published after the transaction
	former          string // newest when the source lapsed
	newestIsVouched bool   // whether the server vouches for newest
}

// Version returns the version that the store has reached for this session, or "" before its first
// list.
func (s *Session) Version() string {
	if version := s.version.Load(); version != nil {
		return *version
	}
	return ""
}

// sessionOf returns the session of a record that is not a full list.
func sessionOf(rec *event.Record) *Session {
	session, _ := rec.State.(*Session)
	return session
}

// isCurrent reports whether the session's list is in the store, so that its events may be applied.
func (s *Session) isCurrent() bool { return s != nil && s == s.applied && !s.lapsed }

// begin makes a list of the session the source's last one, after restarts restarts of versions.
func (s *Session) begin(restarts uint64) {
	if before := s.applied; before != nil && before != s {
		before.Progress.Vouch(false)
		before.Progress.Wake()
	}
	s.applied, s.lapsed, s.listed = s, false, restarts
}

// note records the version of a record, to be published with the transaction. Added events do not
// make the server vouch, because a watch may begin with Added events in any order.
func (s *Session) note(typ clientgo.DeltaType, version string) {
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
func (s *Session) publish() {
	if !s.newestIsVouched {
		s.Progress.Vouch(false)
	}
	version := s.newest
	s.version.Store(&version)
	s.size.Store(int64(len(s.keys)))
	s.Progress.Vouch(s.newestIsVouched)
	s.Progress.Wake()
}
