// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"fmt"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/beside"
)

// Kind is the way in which an object of the cache differs from the server's.
type Kind string

const (
	Missing   Kind = "missing"   // the server has the object, the cache has not
	Extra     Kind = "extra"     // the cache has the object, the server has not
	Stale     Kind = "stale"     // the resourceVersions, or the UIDs of two objects of that name, differ
	Different Kind = "different" // the contents differ under the same resourceVersion
	// Ahead means that the server does not know the version of the cache, in three lists that begin
	// half a minute apart, as after a backup of the server was restored. It is one finding for the
	// whole cache, without a key. No second snapshot follows.
	Ahead Kind = "ahead"
)

// kinds are all kinds in the order of reports.
var kinds = [...]Kind{Missing, Extra, Stale, Different, Ahead}

// Finding is a difference of one object.
type Finding struct {
	Key  string // the store's key, namespace/name; "" for Ahead
	Kind Kind
	// Source is the name of the source that differs, of an informer of several sources; otherwise "".
	Source string
	// Cached and Listed are the resourceVersions that the server gave; "" if there is no object.
	Cached, Listed string
	// Confirmed reports whether the object also differed, in any way, in a second snapshot.
	Confirmed bool
}

// maxFindings bounds Report.Findings: 100 KB, and more than a reader needs.
const maxFindings = 1000

// Report is the result of an audit. The zero value is that of an audit that could not compare. The
// report of an informer of several sources has the sums of their reports, in which an object counts
// once for each source that has it, and no ResourceVersion.
type Report struct {
	Informer string // the name of its objects in logs, and the server
	Content  bool   // whether the content was compared, too
	// Metadata reports whether the server was asked only for the metadata of objects.
	Metadata bool
	// Digest is the digest of the compared snapshot, with its ResourceVersion and number of
	// Objects.
	Digest Digest
	// Findings has the differences of the first snapshot, sorted by source and key, at most 1000.
	// Found counts all of them by kind, and is empty if there are none.
	Findings []Finding
	Found    map[Kind]int
	// Confirmed counts, by kind, the objects that also differed in a second snapshot. An event has
	// repaired the others since. It is nil if there was no second snapshot.
	Confirmed map[Kind]int
	// Refused is the number of objects that were not compared because the transform function
	// refuses them; Status.Problems reports them as well. Foreign is the number of listed objects
	// that the informer leaves out, because they are of another type or namespace.
	Refused, Foreign int
	// Relisted reports whether a relist was requested. TooSoon reports whether it was not, because
	// the last one was less than an hour ago.
	Relisted, TooSoon bool
	// Repaired reports whether the result of the relist was stored and a third snapshot had no
	// difference.
	Repaired bool
	// Tries is the number of snapshots for the first comparison. Took is the time of the whole audit.
	Tries int
	Took  time.Duration

	looks int   // the number of comparisons: 0, 1, or 2 after the second one succeeded
	parts parts // of an informer of several sources
}

// Equal reports whether the cache had the server's state, apart from findings that a second
// snapshot did not confirm. It is false for an audit that could not compare, or could not confirm
// its findings.
func (r Report) Equal() bool {
	return r.parts.failed == 0 && (r.looks > 0 && len(r.Found) == 0 || r.looks > 1 && len(r.Confirmed) == 0)
}

// shownFindings is the largest number of findings in a text.
const shownFindings = 5

// by describes the comparison.
func (r *Report) by() string {
	if r.Content {
		return "content"
	}
	return "versions"
}

// String returns the report in one line for a log, with the keys of at most five findings.
func (r Report) String() string {
	if r.looks == 0 {
		return fmt.Sprintf("%s, by %s: not compared", r.Informer, r.by())
	}
	return fmt.Sprintf("%s: %s %s, by %s: %s%s", r.Informer, beside.Counted(int64(r.Digest.Objects), "object"), r.of(), r.by(), r.result(), r.repair())
}

// of describes the compared state: its version, or its sources.
func (r *Report) of() string {
	switch {
	case !r.parts.several:
		return fmt.Sprintf("at version %q", r.Digest.ResourceVersion)
	case r.parts.failed > 0:
		return fmt.Sprintf("of %d of %s", r.parts.compared, beside.Counted(int64(r.parts.compared+r.parts.failed), "source"))
	default:
		return "of " + beside.Counted(int64(r.parts.compared), "source")
	}
}

// result describes the findings.
func (r *Report) result() string {
	switch {
	case len(r.Found) == 0:
		return "as on the server"
	case r.Found[Ahead] > 0 && !r.parts.several:
		return "ahead of the server, which does not know that version"
	case r.looks == 1 && len(r.Confirmed) == 0:
		return counts(r.Found) + ", not confirmed" + r.examples()
	case len(r.Confirmed) == 0:
		return counts(r.Found) + ", gone at a second look" + r.examples()
	default:
		return counts(r.Found) + ", confirmed " + counts(r.Confirmed) + r.examples()
	}
}

// examples describes the first findings.
func (r *Report) examples() string {
	var named []string
	for _, f := range r.Findings[:min(len(r.Findings), shownFindings)] {
		named = append(named, f.String())
	}
	if len(r.Findings) > shownFindings {
		named = append(named, "...")
	}
	return " (" + strings.Join(named, ", ") + ")"
}

// repair describes the repair.
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

// counts formats the number of findings of each kind.
func counts(of map[Kind]int) string {
	var parts []string
	for _, kind := range kinds {
		if n := of[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	return strings.Join(parts, ", ")
}

// String returns the finding in words.
func (f Finding) String() string {
	text := strings.TrimRight(fmt.Sprintf("%s %s", f.Kind, f.Key), " ")
	if f.Source != "" {
		text += fmt.Sprintf(" of source %s", f.Source)
	}
	return text
}
