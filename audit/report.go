// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"
	"time"
)

// Kind is how an object of the cache differs from the server's.
type Kind string

const (
	Missing   Kind = "missing"   // the server has it, the cache has not
	Extra     Kind = "extra"     // the cache has it, the server has not
	Stale     Kind = "stale"     // it has another resourceVersion, or is another object of that name, by its UID
	Different Kind = "different" // it has another content under the same resourceVersion
	// Ahead is the finding that the server does not know the version of the cache, in three lists
	// that begin half a minute apart, as after a backup of the server was put back. It is one
	// finding, of the whole cache, without a key. No second snapshot follows.
	Ahead Kind = "ahead"
)

// kinds are all there are, in the order of reports.
var kinds = [...]Kind{Missing, Extra, Stale, Different, Ahead}

// Finding is an object that differs.
type Finding struct {
	Key  string // as in the store: namespace/name; "" for Ahead
	Kind Kind
	// Cached and Listed are the resourceVersions, as the server gave them: "" where there is no
	// object.
	Cached, Listed string
	// Confirmed reports whether the object also differed in a second snapshot, in whatever way.
	Confirmed bool
}

// maxFindings bounds Report.Findings: 100 KB, and more than anybody reads.
const maxFindings = 1000

// Report is what an audit found. The zero value is that of an audit that could not compare.
type Report struct {
	Informer string // as logs call its objects, and the server
	Content  bool   // was compared, too
	// Metadata reports whether the server was asked only for the metadata of objects.
	Metadata bool
	// Digest is the digest of what was compared, with its ResourceVersion and its number of
	// Objects.
	Digest Digest
	// Findings are what differs in the first snapshot, by key, 1000 at most; Found counts all of
	// them by kind, and is empty if nothing differs.
	Findings []Finding
	Found    map[Kind]int
	// Confirmed counts, by kind, the objects that also differed in a second snapshot. An event has
	// repaired the others since. It is nil if there was no second snapshot.
	Confirmed map[Kind]int
	// Refused counts the objects that were not compared because the transform function refuses
	// them; Status.Problems names them as well. Foreign counts the objects that the server lists
	// and the informer leaves out, because they are of another type or namespace.
	Refused, Foreign int
	// Relisted reports whether a relist was requested. TooSoon reports whether it was not, because
	// the last one was less than an hour ago.
	Relisted, TooSoon bool
	// Repaired reports whether the answer to the relist was stored, and nothing differed in a third
	// snapshot.
	Repaired bool
	// Tries counts the snapshots that were taken for the first comparison.
	Tries int
	Took  time.Duration

	looks int // comparisons that were made: 0, 1, or 2 if the second one has confirmed what it could
}

// Equal reports whether the cache was what the server had, apart from findings that a second
// snapshot did not confirm. It is false for an audit that could not compare, or could not confirm
// what it found.
func (r Report) Equal() bool {
	return r.looks > 0 && len(r.Found) == 0 || r.looks > 1 && len(r.Confirmed) == 0
}

// shownFindings are how many findings a text names.
const shownFindings = 5

// by says what was compared.
func (r *Report) by() string {
	if r.Content {
		return "content"
	}
	return "versions"
}

// String returns the report in one line for a log, with the keys of five findings at most.
func (r Report) String() string {
	if r.looks == 0 {
		return fmt.Sprintf("%s, by %s: not compared", r.Informer, r.by())
	}
	return fmt.Sprintf("%s: %s at version %q, by %s: %s%s", r.Informer, objects(r.Digest.Objects), r.Digest.ResourceVersion, r.by(),
		r.result(), r.repair())
}

// result says what was found.
func (r *Report) result() string {
	switch {
	case len(r.Found) == 0:
		return "as on the server"
	case r.Found[Ahead] > 0:
		return "ahead of the server, which does not know that version"
	case r.looks == 1:
		return counts(r.Found) + ", not confirmed" + r.examples()
	case r.Equal():
		return counts(r.Found) + ", gone at a second look" + r.examples()
	default:
		return counts(r.Found) + ", confirmed " + counts(r.Confirmed) + r.examples()
	}
}

// examples names the first findings.
func (r *Report) examples() string {
	var named []string
	for _, f := range r.Findings[:min(len(r.Findings), shownFindings)] {
		named = append(named, fmt.Sprintf("%s %s", f.Kind, f.Key))
	}
	if len(r.Findings) > shownFindings {
		named = append(named, "...")
	}
	return " (" + strings.Join(named, ", ") + ")"
}

// repair says what was done about it.
func (r *Report) repair() string {
	switch {
	case r.Repaired:
		return "; repaired by a relist"
	case r.Relisted:
		return "; asked for a relist"
	case r.TooSoon:
		return "; the last relist was less than an hour ago"
	}
	return ""
}

// counts says how many there are of each kind.
func counts(of map[Kind]int) string {
	var parts []string
	for _, kind := range kinds {
		if n := of[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// objects says how many there are.
func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}
