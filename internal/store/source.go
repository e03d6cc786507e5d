// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// Source is what one of several sources of a store has there. Its Progress is that of the source.
// The applier has the rest; anybody may call the methods that are exported.
type Source struct {
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
	// Stored is called once the first state of the session is in the store and was given to the
	// handlers, in the goroutine of the applier. It must not wait.
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

// owners knows which of several sources have an object. It belongs to the applier, which applies
// records in the order in which they were put, so that no lock is needed.
//
// Each source has the set of its keys. How many sources have a key is kept only for keys that more
// than one has; their newest version is that of the object in the store.
type owners struct {
	applier *Applier
	sources map[*Source]struct{} // that have a state in the store
	shared  map[string]int       // how many have a key, if that is more than one
	touched map[*Source]struct{} // by the transaction in hand
	stored  []func()             // to be called when the handlers have the batch
}

// Share makes a the applier of several sources: each record is of a Session. It is called before the
// first batch.
func (a *Applier) Share() {
	a.sharing = &owners{applier: a, sources: map[*Source]struct{}{}, shared: map[string]int{}, touched: map[*Source]struct{}{}}
}

// others returns how many sources beside s have the key. inStore says that the store has, without
// what a run in hand is going to change.
func (o *owners) others(s *Source, key string, inStore bool) int {
	_, own := s.keys[key]
	switch n := o.shared[key]; {
	case own:
		return max(n-1, 0)
	case n > 0 || !inStore:
		return n
	}
	for other := range o.sources {
		if _, has := other.keys[key]; has && other != s {
			return 1
		}
	}
	return 0
}

// enter notes that a source is going to have objects, about so many if it has none.
func (o *owners) enter(s *Source, size int) {
	if s.keys == nil {
		s.keys = make(map[string]struct{}, size)
		o.sources[s] = struct{}{}
	}
}

// leave forgets a source that has nothing.
func (o *owners) leave(s *Source) {
	if len(s.keys) == 0 {
		s.keys = nil
		delete(o.sources, s)
	}
}

// gain notes that s has the key, as that many others do.
func (o *owners) gain(s *Source, key string, others int) {
	o.enter(s, 0)
	if s.keys[key] = struct{}{}; others > 0 {
		o.shared[key] = others + 1
	}
}

// lose notes that s does not have the key, which that many others have. It reports whether s had it.
func (o *owners) lose(s *Source, key string, others int) (had bool) {
	if _, had = s.keys[key]; !had {
		return false
	}
	if delete(s.keys, key); others > 1 {
		o.shared[key] = others
	} else {
		delete(o.shared, key)
	}
	return true
}

// length returns how many records at the front make one transaction: of each object they are from
// one source. What a second source says of it depends on what the first has left in the store.
func (o *owners) length(run []event.Record) int {
	var from map[string]*Session
	for i := range run {
		session := sessionOf(&run[i])
		if from == nil && session == sessionOf(&run[0]) || !run[i].Keyed() {
			continue
		}
		if from == nil { // the first record of another session: remember those before it
			from = make(map[string]*Session, len(run))
			for k := range i {
				from[run[k].Key] = sessionOf(&run[k])
			}
		}
		if by, known := from[run[i].Key]; known && by != session {
			return i
		}
		from[run[i].Key] = session
	}
	return len(run)
}

// publish shows the versions of the sources of the transaction.
func (o *owners) publish() {
	for s := range o.touched {
		s.publish()
	}
	clear(o.touched)
}

// done tells those who wait for the states of the batch.
func (o *owners) done() {
	for _, stored := range o.stored {
		stored()
	}
	clear(o.stored)
	o.stored = o.stored[:0]
}

// admit is of sharing. It notes who has what after the records.
func (o *owners) admit(run []event.Record) (admitted []event.Record, of int) {
	of, n := o.length(run), 0
	for i := range run[:of] {
		rec := &run[i]
		session := sessionOf(rec)
		if !session.isCurrent() {
			continue
		}
		session.note(rec.Type, rec.Version)
		o.touched[session.Source] = struct{}{}
		if rec.Keyed() && o.changesStore(session.Source, rec) {
			run[n] = *rec
			n++
		}
	}
	return run[:n], of
}

// changesStore notes that s has the object of a record, or has lost it, and reports whether the
// store changes: another source may still have it, or have a newer version of it.
func (o *owners) changesStore(s *Source, rec *event.Record) bool {
	stored, inStore := o.applier.contents.Table.Get(rec.Key)
	others := o.others(s, rec.Key, inStore)
	if rec.Type == clientgo.Deleted {
		return o.lose(s, rec.Key, others) && others == 0
	}
	o.gain(s, rec.Key, others)
	return others == 0 || isNewer(rec.Version, o.applier.Received.of(rec.Key, stored))
}

// isNewer reports whether a version is newer than the one in the store. One that cannot be compared
// is, since it came later.
func isNewer(version, stored string) bool {
	order, err := resourceversion.CompareResourceVersion(version, stored)
	return err != nil || order > 0
}
