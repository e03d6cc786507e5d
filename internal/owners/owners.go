// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"slices"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
)

// Share prepares an applier for several sources: each record must have a Session. It must be called
// before the first batch.
func Share(a *store.Applier) {
	a.Sharing = &owners{
		applier: a, sources: map[*Source]struct{}{}, likely: &Source{}, shared: map[string][]claim{}, touched: map[*Session]struct{}{},
	}
}

// enter adds a source. size is about the number of its objects.
func (o *owners) enter(s *Source, size int) {
	if s.keys == nil {
		s.keys = make(map[string]struct{}, size)
		o.sources[s] = struct{}{}
	}
}

// leave removes a source that has no objects.
func (o *owners) leave(s *Source) {
	if len(s.keys) == 0 {
		s.keys = nil
		delete(o.sources, s)
	}
}

// add records that s has a version of an object, and reports whether the version must be stored: no
// other source has a newer one. listed means that it is from a full list, which may be older than
// the store: a restored server restarts its versions. ends means that the store may go back to it from a
// version of a source that has lost the object.
func (o *owners) add(s *Source, key, version string, listed, ends bool) (stores bool) {
	claims := o.claimsWith(s, key)
	if s.lapsed {
		return false // its next list has the object, or has not
	}
	if s.keys[key] = struct{}{}; claims == nil {
		return true
	}
	claims, newest := rest(claims, func(c claim) bool {
		return c.by == s || c.by == nil && (ends || order(version, c.version) >= 0)
	})
	if o.shared[key] = append(claims, claim{s, version}); len(claims) == 0 {
		delete(o.shared, key)
	}
	inStore, _ := o.inStore(key)
	return order(version, newest) >= 0 && (listed || order(version, inStore) != 0)
}

// rest removes the claims for which over returns true, and returns the others and the newest
// version of these.
func rest(claims []claim, over func(claim) bool) (left []claim, newest string) {
	left = slices.DeleteFunc(claims, over)
	for _, c := range left {
		newest = later(newest, c.version)
	}
	return left, newest
}

// claimsWith returns the claims to a key that s has or gets. There are none if s is the only
// source.
func (o *owners) claimsWith(s *Source, key string) []claim {
	o.enter(s, 0)
	if _, own := s.keys[key]; own {
		return o.shared[key]
	}
	if o.meetAll(s, key); o.shared[key] != nil {
		return o.shared[key]
	}
	version, is := o.inStore(key)
	if !is {
		return nil
	}
	owner := o.ownerOf(key)
	if owner == nil { // s has lost it in the current run
		return nil
	}
	if o.meet(s, owner); owner.lapsed {
		version = ""
	}
	return []claim{{owner, version}}
}

// ownerOf returns the only source that has a key, or nil.
func (o *owners) ownerOf(key string) *Source {
	if _, has := o.likely.keys[key]; has {
		return o.likely
	}
	for s := range o.sources {
		if _, has := s.keys[key]; has {
			o.likely = s
			return s
		}
	}
	return nil
}

// inStore returns the received version of a cached object, and reports whether there is one.
// Changes of the current run are not included.
func (o *owners) inStore(key string) (version string, is bool) {
	obj, is := o.applier.Contents.Table.Get(key)
	if !is {
		return "", false
	}
	return o.applier.Received.Version(key, obj), true
}

// remove records that s does not have an object, and reports whether s was the last source that had
// it.
func (o *owners) remove(s *Source, key string) (last bool) {
	if _, had := s.keys[key]; !had {
		return false
	}
	delete(s.keys, key)
	claims, shared := o.shared[key]
	if !shared {
		return true
	}
	shown, _ := o.inStore(key)
	known := false // whether the version of s can be compared with those of the others
	claims, newest := rest(claims, func(c claim) bool {
		if c.by != nil && c.by != s {
			return false
		}
		shown, known = later(shown, c.version), known || c.version != ""
		return true
	})
	switch {
	case known && len(claims) > 0 && later(shown, newest) != newest:
		o.shared[key] = append(claims, claim{nil, shown})
	case len(claims) > 1:
		o.shared[key] = claims
	default:
		delete(o.shared, key)
	}
	return len(claims) == 0
}

// length returns the number of records at the front of a run that form one transaction. The effect
// of a record on an object of several sources depends on the store after the earlier records, so it
// may need a transaction of its own.
func (o *owners) length(run []event.Record) int {
	if len(o.shared) == 0 && isOfOne(run) {
		return len(run)
	}
	from := map[string]*Session{} // grows with the transaction, which may be short in a long run
	for i := range run {
		if !run[i].Keyed() {
			continue
		}
		key, session := run[i].Key, sessionOf(&run[i])
		if before, again := from[key]; again && (before != session || o.shared[key] != nil) {
			return i
		}
		from[key] = session
	}
	return len(run)
}

// isOfOne reports whether all records are of one session.
func isOfOne(run []event.Record) bool {
	for i := range run {
		if sessionOf(&run[i]) != sessionOf(&run[0]) {
			return false
		}
	}
	return true
}

// Publish publishes the versions of the sources of the transaction.
func (o *owners) Publish() {
	for s := range o.touched {
		s.publish()
	}
	clear(o.touched)
}

// Done calls the functions that wait for lists of the batch.
func (o *owners) Done() {
	for _, stored := range o.stored {
		stored()
	}
	clear(o.stored)
	o.stored = o.stored[:0]
}

// Admit implements store.Sharing. It records the sources' objects after the records.
func (o *owners) Admit(run []event.Record) (admitted []event.Record, of int) {
	of, n := o.length(run), 0
	for i := range run[:of] {
		rec := &run[i]
		session := sessionOf(rec)
		if !session.isCurrent() {
			o.remind(session)
			continue
		}
		session.note(rec.Type, rec.Version)
		o.touched[session] = struct{}{}
		if rec.Keyed() && o.changesStore(session.Source, rec) {
			run[n] = *rec
			n++
		}
	}
	return run[:n], of
}

// remind asks a lapsed session again for a list if it sends an event: a list that was under way has failed
// since, and the reflector watches instead.
func (o *owners) remind(session *Session) {
	if session != nil && session.lapsed && session == session.applied {
		o.call(session.Lapsed)
	}
}

// Name returns the name of the source of a record.
func (o *owners) Name(rec *event.Record) *string {
	if session := sessionOf(rec); session != nil {
		return &session.Source.Name
	}
	return nil
}

// changesStore records that s has the object of a record, or has lost it. It reports whether the
// store changes: another source may still have the object, or have a newer version. The record of a
// deletion that is older than the store becomes a tombstone of the stored object.
func (o *owners) changesStore(s *Source, rec *event.Record) bool {
	if rec.Type != clientgo.Deleted {
		return o.add(s, rec.Key, rec.Version, false, false)
	}
	stored, is := o.inStore(rec.Key)
	if !o.remove(s, rec.Key) {
		return false
	}
	if is && order(rec.Version, stored) < 0 {
		rec.Lose()
	}
	return true
}

// State implements store.Part.
func (s *Session) State(of store.Sharing) (version string, own map[string]string, vouched bool) {
	return s.Version(), of.(*owners).versionsOf(s.Source), s.isCurrent() && s.Progress.Vouches()
}

// versionsOf returns the keys of the source's objects. A value is the version of the object for
// this source if the store may have that of another source, otherwise "". No source vouches for a
// version that is in the store although its source has lost the object.
func (o *owners) versionsOf(s *Source) map[string]string {
	versions := make(map[string]string, len(s.keys))
	for key := range s.keys {
		versions[key] = versionFor(s, o.shared[key])
	}
	return versions
}

// versionFor is a value of versionsOf.
func versionFor(s *Source, claims []claim) (version string) {
	for _, c := range claims {
		switch c.by {
		case nil:
			return ""
		case s:
			version = c.version
		}
	}
	return version
}
