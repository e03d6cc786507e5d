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
	from     string    // the version that the open watch follows; "" if it may begin with the present objects
	now      bool      // whether that watch has sent an object that is as old as from
	last     bool      // whether the last watch that has sent events did
	listedAt time.Time // when the last list for it was due; zero if none was
}

// begins begins a watch.
func (a *anew) begins(from string) { a.from, a.now = from, false }

// sees looks at a change of the watch. is reports that the server is found to begin its watches anew, and
// lists that a list is due.
func (a *anew) sees(c watchChange, at time.Time) (is, lists bool) {
	if a.now || a.from == "" || c.kind != watch.Added || !isReached(c.meta.GetResourceVersion(), a.from) {
		return false, false
	}
	if a.now = true; !a.last {
		return false, false
	}
	if !a.listedAt.IsZero() && at.Sub(a.listedAt) < anewPause {
		return true, false
	}
	a.listedAt = at
	return true, true
}

// ends ends a watch that has sent events, and reports whether it has not begun anew.
func (a *anew) ends() (heals bool) {
	if a.from == "" {
		return false
	}
	a.last = a.now
	return !a.last
}

// isReached reports whether a watch that is at version has passed the version of an object. It is false if
// the versions cannot be compared.
func isReached(object, version string) bool {
	return object != "" && (object == version || event.LaterVersion(version, object) == version)
}
