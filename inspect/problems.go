// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
)

func statusOf(i *door.Informer) Status {
	if i.Parts != nil {
		return statusOfAll(i, nil)
	}
	return statusOfOne(i)
}

// setKept sets what the objects of an informer have.
func (d *Decoding) setKept(i *door.Informer) {
	if i.Keep == nil {
		return
	}
	paths, whole := i.Keep.Says()
	if d.Keep = append([]string{}, paths...); whole == nil {
		return
	}
	d.Whole = whole.String()
	if i.Table == nil { // of a source: the objects are the informer's
		return
	}
	for _, obj := range i.Table.All() {
		if i.Keep.IsWhole(obj) {
			d.WholeObjects++
		}
	}
}

// statusOfOne is statusOf without the sources of an informer that has several.
func statusOfOne(i *door.Informer) Status {
	status := i.Report.Status()
	s := statusFrom(&status)
	of := i.Report.Target()
	s.Resource, s.Namespace, s.Server, s.LabelSelector, s.FieldSelector = of.Resource, of.Namespace, of.Server, of.LabelSelector, of.FieldSelector
	s.ResourceVersion, s.Synced = i.LastSyncResourceVersion(), i.HasSynced()
	if i.Len != nil {
		s.Objects = i.Len()
	}
	s.setUndecodable(i)
	s.Decoding.setKept(i)
	s.Problems = append(problemsOf(&status), problemsOfContents(i)...)
	if s.Undecodable > 0 {
		s.Problems = append(s.Problems, Problem{"undecodable", s.describeUndecodable()})
	}
	return s
}

// problemsOfContents returns the problems of the objects and their indices.
func problemsOfContents(i *door.Informer) (problems []Problem) {
	if i.Table != nil {
		lacking := i.Table.Lacking()
		for _, name := range slices.Sorted(maps.Keys(lacking)) {
			problems = append(problems, Problem{"index", fmt.Sprintf(
				"index %q lacks the objects for which its function failed: %d", name, lacking[name])})
		}
	}
	if audits, ok := i.Observed.Audits.Load().(interface{ Differing() (int, bool) }); ok {
		switch n, ahead := audits.Differing(); {
		case ahead:
			problems = append(problems, Problem{"audit", "an audit has found the cache ahead of the server, which does not know its resourceVersion"})
		case n > 0:
			problems = append(problems, Problem{"audit", "an audit has found " + beside.Counted(int64(n), "object") + " that differed from the server"})
		}
	}
	if n, _, _ := i.Transform.Counts(); n > 0 {
		problems = append(problems, Problem{"transform",
			fmt.Sprintf("%d objects are not as on the server: the transform function refused them", n)})
	}
	return problems
}

// statusFrom returns the fields that come from the reflector.
func statusFrom(r *reflector.Status) Status {
	s := Status{
		At: time.Now(), Phase: string(r.Phase), PhaseSince: r.Since, Mode: string(r.Mode),
		LastError: r.Err, LastErrorReason: reflector.Reason(r.Err), LastErrorAt: r.ErrAt, Attempts: r.Failures,
		Reconnects: r.Reconnects, LastOutageAt: r.Outage.Began, LastOutage: r.Outage.Length,
		LastEvent: r.HeardAt,
		Lists:     r.Lists, Watches: r.Watches, Dropped: r.Left, Confirmed: r.Confirmed,
	}
	d := &r.Decoding
	s.Decoding = Decoding{
		On: d.On, Encoding: d.Encoding, Why: d.Why, Reason: d.Reason, Transport: r.Transport, Direct: d.Decoded, Reused: d.Reused, GivenUp: d.GivenUp,
		Verified: Verification{d.Verified, d.Differences},
		Texts:    Table{Count: d.Texts.Count, Bytes: d.Texts.Bytes, Limit: d.Texts.Limit},
		Shared:   Sharing{d.Shares && d.Unshared == "", d.Unshared, Table(d.Parts), d.Checked, d.WrittenTo, d.Written},
	}
	return s
}

// problemsOf returns the problems of a reflector.
func problemsOf(r *reflector.Status) (problems []Problem) {
	for _, one := range []struct {
		is                  bool
		cause, text, detail string
	}{
		{r.Unfit != nil, "unfit", "it cannot run", ""},
		{r.Stopped, "stopped", "stopped by its error policy", ""},
		{r.Outage.GoesOn(), "outage", "the server went out of reach ", beside.Shortly(r.Outage.Length).String() + " ago"},
		{r.Hangs != "", "hangs", "", beside.Hanging(r)},
		{!r.Throttled.IsZero(), "throttled", "the server asks to wait until ", r.Throttled.Format(time.RFC3339)},
		{r.Failures > 0, "errors", "", beside.Counted(int64(r.Failures), "error") + " since the last success"},
		{r.Refused, "refused", "the server does not know the last resourceVersion", ""},
		{r.LeftNow > 0, "dropped", "", beside.Counted(r.LeftNow, "object") + " of another type or namespace left out: " + r.LeftWhy},
		{!r.ListUntil.IsZero(), "fallback", "LIST instead of watch-list until ", r.ListUntil.Format(time.RFC3339)},
		{r.Unsharded, "unsharded", "the server does not shard: it sends the objects of all shards, and those of others are left out here", ""},
		{r.Anew, "anew", "the server begins each watch with all present objects: objects that were deleted between two watches are found by a list, at most once a minute", ""},
		{r.Silent, "silent", "the watch was silent and was opened anew", ""},
		{r.Decoding.IsSuspended(), "decoding-suspended", "direct decoding is ", r.Decoding.Why},
		{r.Decoding.IsTurnedOff(), "decoding-off", "direct decoding is ", r.Decoding.Why},
		{r.Decoding.Skips && !r.Decoding.On && r.Decoding.Why != "", "undecodable-off", "Errors.SkipUndecodable is off, because the client decodes: ", r.Decoding.Why},
		{r.Decoding.Unguarded != "", "unguarded", "objects have only the fields of Decoding.Keep, and nothing refuses to write them back: ", r.Decoding.Unguarded},
		{r.Decoding.WrittenTo > 0, "mutation", "a caller has modified cached objects: ", r.Decoding.Written},
	} {
		if one.is {
			problems = append(problems, Problem{one.cause, one.text + one.detail})
		}
	}
	return problems
}

// String returns the status in one line for a log, without objects.
func (s Status) String() string {
	var b strings.Builder
	b.WriteString(s.phase())
	if s.Mode != "" {
		fmt.Fprintf(&b, " (%s)", s.Mode)
	}
	if s.ResourceVersion != "" {
		fmt.Fprintf(&b, " at version %q", s.ResourceVersion)
	}
	fmt.Fprintf(&b, ", %s, %s, %s", beside.Counted(int64(s.Objects), "object"), beside.Counted(s.Lists, "list"), beside.Counted(s.Watches, "watch"))
	if s.Reconnects > 0 {
		fmt.Fprintf(&b, ", %s (last outage %v)", beside.Counted(s.Reconnects, "reconnect"), beside.Shortly(s.LastOutage))
	}
	if !s.LastEvent.IsZero() {
		fmt.Fprintf(&b, ", last event %v ago", beside.Shortly(s.At.Sub(s.LastEvent)))
	}
	for i, problem := range s.Problems {
		b.WriteString([]string{"; ", ", "}[min(i, 1)] + problem.Text)
	}
	if s.LastError != nil && (s.Attempts > 0 || s.Phase == string(reflector.Unstarted) || s.Phase == PhaseStopped) {
		fmt.Fprintf(&b, "; last error: %v", s.LastError)
	}
	return strings.ReplaceAll(b.String(), "\n", "; ")
}

// phase describes the phase and its duration.
func (s Status) phase() string {
	return beside.DescribePhase(s.Phase, s.PhaseSince, s.At.Sub(s.PhaseSince))
}
