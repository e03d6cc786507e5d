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
)

// kinds are all there are, in the order of reports.
var kinds = [...]Kind{Missing, Extra, Stale, Different}

// Finding is an object that differs.
type Finding struct {
	Key  string // as in the store: namespace/name
	Kind Kind
	// Cached and Listed are the resourceVersions, as the server gave them: "" where there is no
	// object.
	Cached, Listed string
	// Confirmed reports whether the object also differed in a second snapshot, in whatever way.
	Confirmed bool
}

// maxFindings bounds Report.Findings: 100 KB, and more than anybody reads.
const maxFindings = 1000

// Report is what an audit found.
type Report struct {
	Informer string // as logs call its objects
	Depth    Depth
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
	// repaired the others since.
	Confirmed map[Kind]int
	// Refused counts the objects that were not compared because the transform function refuses
	// them; Status.Degraded names them as well. Foreign counts the objects that the server lists
	// and the informer leaves out, because they are of another type or namespace.
	Refused, Foreign int
	// Relisted reports whether a relist was requested. TooSoon reports whether it was not, because
	// the last one was less than an hour ago.
	Relisted, TooSoon bool
	// Tries counts the snapshots that were taken for the first comparison.
	Tries int
	Took  time.Duration
}

// Equal reports whether the cache was what the server had, apart from findings that a second
// snapshot did not confirm.
func (r Report) Equal() bool { return len(r.Confirmed) == 0 }

// shownFindings are how many findings a text names.
const shownFindings = 5

// String returns the report in one line for a log, with the keys of five findings at most.
func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s at version %q, by %s", r.Informer, objects(r.Digest.Objects), r.Digest.ResourceVersion, r.Depth)
	switch {
	case len(r.Found) == 0:
		b.WriteString(": as on the server")
	case r.Equal():
		fmt.Fprintf(&b, ": %s, gone at a second look", counts(r.Found))
	default:
		fmt.Fprintf(&b, ": %s, confirmed %s", counts(r.Found), counts(r.Confirmed))
	}
	for i, f := range r.Findings[:min(len(r.Findings), shownFindings)] {
		if i == 0 {
			b.WriteString(" (")
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s %s", f.Kind, f.Key)
	}
	switch {
	case len(r.Findings) > shownFindings:
		b.WriteString(", ...)")
	case len(r.Findings) > 0:
		b.WriteString(")")
	}
	switch {
	case r.Relisted:
		b.WriteString("; asked for a relist")
	case r.TooSoon:
		b.WriteString("; the last relist was less than an hour ago")
	}
	return b.String()
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
