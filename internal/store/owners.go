// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// owners knows which of several sources have an object. It belongs to the applier, which applies
// records in the order in which they were put, so that no lock is needed.
//
// Each source has the set of its keys. What each source says of an object is kept only for keys that
// more than one has.
type owners struct {
	applier *Applier
	sources map[*Source]struct{} // that have a state in the store
	likely  *Source              // to have the next key, too: lists are in the order of namespaces; never nil
	shared  map[string][]claim   // by key; none: one source has it, in the version of the store
	touched map[*Source]struct{} // by the transaction in hand
	stored  []func()             // to be called when the handlers have the batch
}

// claim is which version of an object a source has. Without a source it is that of the store, of a
// source that has lost the object, and newer than those of the others. So what is in the store does
// not go back while they come to that version.
type claim struct {
	by      *Source
	version string
}

// Share makes a the applier of several sources: each record is of a Session. It is called before the
// first batch.
func (a *Applier) Share() {
	a.sharing = &owners{
		applier: a, sources: map[*Source]struct{}{}, likely: &Source{}, shared: map[string][]claim{}, touched: map[*Source]struct{}{},
	}
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

// gain notes that s has a version of an object, and reports whether it is for the store: no other
// source has a newer one. listed says that it is from a whole state, which may be older than the
// store: a server that was restored counts anew.
func (o *owners) gain(s *Source, key, version string, listed bool) (stores bool) {
	claims := o.claimsWith(s, key)
	if s.keys[key] = struct{}{}; claims == nil {
		return true
	}
	claims, newest := rest(claims, func(c claim) bool {
		return c.by == s || c.by == nil && (listed || order(version, c.version) >= 0)
	})
	if o.shared[key] = append(claims, claim{s, version}); len(claims) == 0 {
		delete(o.shared, key)
	}
	inStore, _ := o.inStore(key)
	return order(version, newest) >= 0 && (listed || order(version, inStore) != 0)
}

// rest returns the claims that are not over, and the newest version of these.
func rest(claims []claim, over func(claim) bool) (left []claim, newest string) {
	left = slices.DeleteFunc(claims, over)
	for _, c := range left {
		newest = later(newest, c.version)
	}
	return left, newest
}

// claimsWith returns the claims to a key to which s has one, or gets one; none if it is the only one.
func (o *owners) claimsWith(s *Source, key string) []claim {
	claims, shared := o.shared[key]
	o.enter(s, 0)
	if _, own := s.keys[key]; own || shared {
		return claims
	}
	version, is := o.inStore(key)
	if !is {
		return nil
	}
	if owner := o.ownerOf(key); owner != nil { // else s has lost it in the run in hand
		return []claim{{owner, version}}
	}
	return nil
}

// ownerOf returns the only source that has a key, nil if none has.
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

// inStore returns the version of a cached object as it was received, and whether there is one. What
// the run in hand is going to change does not count.
func (o *owners) inStore(key string) (version string, is bool) {
	obj, is := o.applier.contents.Table.Get(key)
	if !is {
		return "", false
	}
	return o.applier.Received.of(key, obj), true
}

// lose notes that s does not have an object, and reports whether it was the last source that had it.
func (o *owners) lose(s *Source, key string) (last bool) {
	if _, had := s.keys[key]; !had {
		return false
	}
	delete(s.keys, key)
	claims, shared := o.shared[key]
	if !shared {
		return true
	}
	shown, _ := o.inStore(key)
	claims, newest := rest(claims, func(c claim) bool {
		if c.by != nil && c.by != s {
			return false
		}
		shown = later(shown, c.version)
		return true
	})
	switch {
	case len(claims) > 0 && later(shown, newest) != newest:
		o.shared[key] = append(claims, claim{nil, shown})
	case len(claims) > 1:
		o.shared[key] = claims
	default:
		delete(o.shared, key)
	}
	return len(claims) == 0
}

// length returns how many records at the front make one transaction. What a record means for an
// object that several sources have depends on what those before it have left in the store.
func (o *owners) length(run []event.Record) int {
	if len(o.shared) == 0 && isOfOne(run) {
		return len(run)
	}
	from := map[string]*Session{} // as large as the transaction, which may be short in a long run
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
	if rec.Type == clientgo.Deleted {
		return o.lose(s, rec.Key)
	}
	return o.gain(s, rec.Key, rec.Version, false)
}

// order returns 1 if version is newer than other, -1 if it is older, and 0 if it is the same. One
// that cannot be compared counts as newer, since it came later, and so does none.
func order(version, other string) int {
	if version == other && version != "" {
		return 0
	}
	if sign, err := resourceversion.CompareResourceVersion(version, other); err == nil {
		return sign
	}
	return 1
}

// later returns the newer version. "" stands for none.
func later(a, b string) string {
	if a != "" && order(a, b) > 0 {
		return a
	}
	return b
}
