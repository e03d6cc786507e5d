// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"time"

	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/event"
)

// anewPause is the least time between two lists for a server that begins its watches anew.
const anewPause = time.Minute

// anew finds a server that begins its watches anew: whatever version a watch is to follow, it first sends
// the present objects, as one without a history does. What was deleted between two watches is never
// reported by it, so that a list has to find that. Two watches in a row show it, since one may be an odd
// answer, or one of a fake.
type anew struct {
	reached  string    // the greatest version since the last list
	watches  int       // the number of watches that have begun since
	from     string    // reached when the open watch began; "" if that may begin with the present objects
	now      bool      // whether that watch has sent an object that is as old as from
	last     bool      // whether the last watch that has sent events did
	owed     bool      // whether a list is due once anewPause is over
	listedAt time.Time // when the last list for it was due; zero if none was
}

// listed begins with a list.
func (a *anew) listed(version string) { a.reached, a.watches, a.owed = version, 0, false }

// begins begins a watch, whose events come in the order of their versions or not.
func (a *anew) begins(ordered bool) {
	a.watches++
	if a.from, a.now = "", false; ordered {
		a.from = a.reached
	}
}

// sees looks at an event of the watch. found reports that the server is found to begin its watches anew, and
// lists that a list is due. The first watch after a list needs none: hardly anything is deleted between the two.
func (a *anew) sees(kind watch.EventType, version string, at time.Time) (found, lists bool) {
	if !a.now && a.from != "" && kind == watch.Added && isReached(version, a.from) {
		a.now = true
		found = a.last
		a.owed = a.owed || found && a.watches > 1
	}
	a.reached = event.LaterVersion(a.reached, version)
	if !a.owed || !a.listedAt.IsZero() && at.Sub(a.listedAt) < anewPause {
		return found, false
	}
	a.owed, a.listedAt = false, at
	return found, true
}

// ends ends a watch that has sent events, and reports whether it has not begun anew.
func (a *anew) ends() (heals bool) {
	if a.from == "" {
		return false
	}
	a.last = a.now
	a.owed = a.owed && a.now
	return !a.last
}

// isReached reports whether a watch that is at version has passed the version of an object. It is false if
// the versions cannot be compared.
func isReached(object, version string) bool {
	return object != "" && (object == version || event.LaterVersion(version, object) == version)
}
