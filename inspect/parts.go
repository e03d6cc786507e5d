// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
)

// statusOfAll returns the status of an informer of several sources: the sums over the sources, and
// their problems. Resource and server are those that all sources of its life have in common, and it has no
// namespace and no selector, so that labels do not change when sources come and go. The phase is that of a
// source that does not watch, if there is one, else of the source that has watched for the longest time.
// The last error is the latest. read is called with the sources, and may be nil; see door.Informer.
func statusOfAll(i *door.Informer, read func(parts map[string]*door.Informer, sources []Source)) (s Status) {
	s = statusOfOne(i)
	s.Namespace, s.LabelSelector, s.FieldSelector = "", "", ""
	i.Together(func(parts map[string]*door.Informer) {
		var sources []Source
		for _, name := range slices.Sorted(maps.Keys(parts)) {
			sources = append(sources, Source{name, statusOfOne(parts[name])})
		}
		own := i.Report.Status()
		s.sum(&own, sources)
		s.setUndecodable(slices.Collect(maps.Values(parts))...)
		if len(sources) == 0 && s.Phase == string(reflector.Unstarted) && i.Observed.Number.Load() != 0 {
			s.Phase = "without sources"
		}
		if read != nil {
			read(parts, sources)
		}
	})
	return s
}

// sum sets the fields that are sums over the sources. own is the reflector status of the informer, with the
// counts of former sources.
func (s *Status) sum(own *reflector.Status, sources []Source) {
	former, kept := statusFrom(own), s.Decoding
	s.Lists, s.Watches, s.Dropped, s.Reconnects, s.Decoding = former.Lists, former.Watches, former.Dropped, former.Reconnects, former.Decoding
	s.Confirmed = former.Confirmed
	s.Decoding.Keep, s.Decoding.Whole, s.Decoding.WholeObjects = kept.Keep, kept.Whole, kept.WholeObjects
	runs := own.Unfit == nil && own.Phase != reflector.Stopped
	for n := range sources {
		part := &sources[n].Status
		if s.add(part); !runs {
			continue
		}
		if n == 0 || isLessFar(part, s) {
			s.Phase, s.PhaseSince, s.Mode = part.Phase, part.PhaseSince, cmp.Or(part.Mode, s.Mode)
		}
		s.Mode = cmp.Or(s.Mode, part.Mode)
	}
	if runs {
		s.Problems = append(s.Problems, problemsOfSources(sources)...)
	}
}

// mostNamed is the number of sources that a problem names.
const mostNamed = 8

// problemsOfSources returns a problem for each cause: that of the first source that has it, and the names of
// the others, eight at most.
func problemsOfSources(sources []Source) (problems []Problem) {
	at, others := map[string]int{}, map[string][]string{}
	for _, source := range sources {
		for _, problem := range source.Status.Problems {
			if _, known := at[problem.Cause]; known {
				others[problem.Cause] = append(others[problem.Cause], strconv.Quote(source.Name))
				continue
			}
			at[problem.Cause] = len(problems)
			problems = append(problems, Problem{problem.Cause, fmt.Sprintf("source %q: %s", source.Name, problem.Text)})
		}
	}
	for cause, names := range others {
		more := ""
		if len(names) > mostNamed-1 {
			more = fmt.Sprintf(" and %d more", len(names)-(mostNamed-1))
			names = names[:mostNamed-1]
		}
		problems[at[cause]].Text += fmt.Sprintf(" (the same in %s%s)", strings.Join(names, ", "), more)
	}
	return problems
}

// worstOf returns the reflector status of an informer, or of the worst of its sources: the one that
// has failed for the longest time, else one whose server throttles; before the informer has synced,
// only sources that have not are considered.
func worstOf(i *door.Informer, synced bool) reflector.Status {
	worst := i.Report.Status()
	if i.Parts == nil || worst.Unfit != nil || worst.Phase == reflector.Stopped {
		return worst
	}
	for _, part := range i.Parts() {
		one := part.Report.Status()
		throttled := isThrottled(&one)
		if throttled {
			one.FailingFor = 0 // others may have an outage
		}
		ends := one.Unfit != nil || one.Phase == reflector.Stopped
		if synced && ends || !synced && part.HasSynced() {
			continue
		}
		switch {
		case one.FailingFor > worst.FailingFor,
			one.FailingFor == worst.FailingFor && (throttled || !synced && !isThrottled(&worst)):
			worst = one
		}
	}
	return worst
}

// isLessFar reports whether a does not watch while b does, or has been in the same phase for
// longer.
func isLessFar(a, b *Status) bool {
	if watching := a.Phase == PhaseWatching; watching != (b.Phase == PhaseWatching) {
		return !watching
	}
	return a.PhaseSince.Before(b.PhaseSince)
}

// add adds the counts of a source.
func (s *Status) add(part *Status) {
	s.Lists, s.Watches, s.Dropped = s.Lists+part.Lists, s.Watches+part.Watches, s.Dropped+part.Dropped
	s.Reconnects, s.Attempts = s.Reconnects+part.Reconnects, s.Attempts+part.Attempts
	s.Confirmed += part.Confirmed
	if part.LastErrorAt.After(s.LastErrorAt) {
		s.LastError, s.LastErrorReason, s.LastErrorAt = part.LastError, part.LastErrorReason, part.LastErrorAt
	}
	if part.LastOutageAt.After(s.LastOutageAt) {
		s.LastOutage, s.LastOutageAt = part.LastOutage, part.LastOutageAt
	}
	if part.LastEvent.After(s.LastEvent) {
		s.LastEvent = part.LastEvent
	}
	s.Decoding.add(&part.Decoding)
}

// add adds the decoding of a source. For fields that are not numbers, the first non-empty value is
// kept.
func (d *Decoding) add(part *Decoding) {
	if !d.On {
		d.On, d.Encoding = part.On, part.Encoding
		d.Why, d.Reason = cmp.Or(d.Why, part.Why), cmp.Or(d.Reason, part.Reason)
	}
	d.Transport = d.Transport || part.Transport
	d.Direct, d.Reused = d.Direct+part.Direct, d.Reused+part.Reused
	d.GivenUp = sums(d.GivenUp, part.GivenUp)
	d.Verified.Objects, d.Verified.Differences = d.Verified.Objects+part.Verified.Objects, d.Verified.Differences+part.Verified.Differences
	d.Texts = cmp.Or(d.Texts, part.Texts)
	of, all := &part.Shared, &d.Shared
	all.On, all.Why, all.Parts = all.On || of.On, cmp.Or(all.Why, of.Why), cmp.Or(all.Parts, of.Parts)
	all.Checked, all.Mutations, all.Mutation = all.Checked+of.Checked, all.Mutations+of.Mutations, cmp.Or(all.Mutation, of.Mutation)
}

// add adds the audits of a source.
func (s *AuditStats) add(part *AuditStats) {
	s.Ended, s.Confirmed = sums(s.Ended, part.Ended), sums(s.Confirmed, part.Confirmed)
	s.Passing, s.Relists, s.Differing = s.Passing+part.Passing, s.Relists+part.Relists, s.Differing+part.Differing
	if part.Last.At.After(s.Last.At) {
		s.Last = part.Last
	}
}

// sums adds the numbers of part to those of all, which may be nil.
func sums(all, part map[string]int64) map[string]int64 {
	for name, n := range part {
		if all == nil {
			all = map[string]int64{}
		}
		all[name] += n
	}
	return all
}

// addParts adds what an informer's sources have counted.
func (all *Inspection) addParts(parts map[string]*door.Informer, h *reflector.History) {
	for _, part := range parts {
		done, audits := part.Report.History(), auditsOf(part)
		h.Add(&done)
		all.Audits.add(&audits)
		all.Queue.add(part)
	}
}

// add adds what the transform function has refused of a source.
func (q *Queue) add(part *door.Informer) {
	behind, failed, last := part.Transform.Counts()
	q.Untransformed, q.TransformErrors = q.Untransformed+behind, q.TransformErrors+failed
	q.LastTransformError = cmp.Or(last, q.LastTransformError)
}
