// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package owners

import (
	"slices"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/store"
)

// A server that is restored from a backup begins its versions again at an older one. What a source has
// had from it before is then newer than everything that follows, by number, and the object may no longer
// exist. The first source whose list proves that ends the order: claims of the sources of the same server
// lose their versions, and each of these sources lists once more. What it sends before that list may be
// from either time, and is dropped.
//
// Sources that have an object in common are of one server. That is known of two sources when they have
// one, which may be later; see meet.

// restart records that a list of s has proved that the versions of its server began again.
func (o *owners) restart(s *Source) {
	o.restarts++
	s.restarted = o.restarts
	all := o.relatives(s)
	o.forget(all)
	delete(all, s)
	o.lapse(all, s.restarted)
}

// meet is called when s gets an object that other has. If the versions began again for one of them after
// the last list of the other, that list is of the time before.
func (o *owners) meet(s, other *Source) {
	newer, late := s, other
	if other.restarted > s.listed {
		newer, late = other, s
	}
	if newer.restarted <= late.listed || late.lapsed && newer.restarted <= late.restarted {
		return // it has listed since, or will; without the latter each further key would cost a pass over all
	}
	all := o.relatives(late)
	delete(all, newer)
	o.forget(all)
	o.lapse(all, newer.restarted)
}

// meetAll is meet for a key that several sources may have.
func (o *owners) meetAll(s *Source, key string) {
	for _, c := range slices.Clone(o.shared[key]) {
		if c.by != nil {
			o.meet(s, c.by)
		}
	}
}

// forget removes the versions from the claims of sources, and what the store has of sources that have
// lost an object of theirs.
func (o *owners) forget(of map[*Source]struct{}) {
	for key, claims := range o.shared {
		if !isOf(of, claims) {
			continue
		}
		claims = slices.DeleteFunc(claims, func(c claim) bool { return c.by == nil })
		for i := range claims {
			if _, is := of[claims[i].by]; is {
				claims[i].version = ""
			}
		}
		if o.shared[key] = claims; len(claims) == 1 {
			delete(o.shared, key)
		}
	}
}

// lapse makes sources list again, because the versions of their server began again at a restart. Until then
// nothing of them counts. A source that has not listed since an earlier restart may have a list of that time
// under way, so it is asked for another one in any case.
func (o *owners) lapse(all map[*Source]struct{}, restart uint64) {
	for s := range all {
		session, before := s.applied, s.restarted
		s.restarted = max(before, restart)
		if s.lapsed {
			if before < restart {
				o.call(session.Relist)
			}
			continue
		}
		s.lapsed = true
		session.former, session.newest, session.newestIsVouched = session.newest, "", false
		session.publish()
		o.call(session.Lapsed)
	}
}

// call calls a function of a session, which may be nil, when the handlers have received the batch.
func (o *owners) call(told func()) {
	if told != nil {
		o.stored = append(o.stored, told)
	}
}

// relatives returns s and the sources that have objects in common with it, or with each other.
func (o *owners) relatives(s *Source) map[*Source]struct{} {
	members := map[*Source]struct{}{s: {}}
	for before := 0; before < len(members); {
		before = len(members)
		for _, claims := range o.shared {
			if !isOf(members, claims) {
				continue
			}
			for _, c := range claims {
				if c.by != nil {
					members[c.by] = struct{}{}
				}
			}
		}
	}
	return members
}

// isOf reports whether one of the claims is of a member.
func isOf(members map[*Source]struct{}, claims []claim) bool {
	return slices.ContainsFunc(claims, func(c claim) bool {
		_, is := members[c.by]
		return is
	})
}

// NewCheck returns a record that calls relist if the source of a session has lapsed, and has not listed
// in one of the records before.
func NewCheck(session *Session, relist func()) event.Record {
	return event.Record{Type: clientgo.ReplacedAll, State: check{session, relist}}
}

type check struct {
	session *Session
	relist  func()
}

func (c check) ReplaceIn(a *store.Applier, changes []event.Change, _ string, _ bool) []event.Change {
	if o := a.Sharing.(*owners); c.session.lapsed && c.session == c.session.applied {
		o.stored = append(o.stored, c.relist)
	}
	return changes
}
