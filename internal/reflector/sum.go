// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"slices"
	"time"
)

// Add adds the history of another reflector, which may still be running.
func (h *History) Add(other *History) {
	h.Lists.add(&other.Lists)
	h.Streams.add(&other.Streams)
	h.Watches.add(&other.Watches)
	h.Unopened += other.Unopened
	h.Events, h.ListBytes, h.WatchBytes = h.Events+other.Events, h.ListBytes+other.ListBytes, h.WatchBytes+other.WatchBytes
	addCounts(&h.Relists, other.Relists)
	addCounts(&h.WatchEnds, other.WatchEnds)
	addCounts(&h.Drops, other.Drops)
	h.FailingSince = earliest(h.FailingSince, other.FailingSince)
	h.Past = merged(h.Past, other.Past, func(p Past) time.Time { return p.Began.Add(p.Took) }, maxPast)
	h.Errors = merged(h.Errors, other.Errors, func(n Noted) time.Time { return n.Last }, maxErrors)
	h.Outages = merged(h.Outages, other.Outages, Outage.rank, maxOutages)
}

// rank orders outages by their ends. Those that go on are the last ones, and the longest of them the very last.
func (o Outage) rank() time.Time {
	end := o.Began.Add(o.Length)
	if !o.Over {
		return end.Add(o.Length)
	}
	return end
}

func (r *Requests) add(other *Requests) {
	r.Ended, r.Failed, r.Objects = r.Ended+other.Ended, r.Failed+other.Failed, r.Objects+other.Objects
	r.Total, r.Longest = r.Total+other.Total, max(r.Longest, other.Longest)
	r.Last = cmp.Or(other.Last, r.Last)
}

// merged returns the last n elements of a and b, ordered by time.
func merged[T any](a, b []T, at func(T) time.Time, n int) []T {
	all := slices.Concat(a, b)
	slices.SortStableFunc(all, func(a, b T) int { return at(a).Compare(at(b)) })
	return slices.Clone(all[max(0, len(all)-n):])
}

// Absorb adds the counts of the journal of a reflector that has ended.
func (j *Journal) Absorb(over *Journal) {
	counted, past := over.Status(), over.History()
	past.FailingSince = time.Time{}
	for i := range past.Outages {
		past.Outages[i].Over = true
	}
	j.decoding.Absorb(&over.decoding)
	past.ListBytes, past.WatchBytes = 0, 0 // counted by the ledger
	j.write(func(p *journalState) {
		p.History.Add(&past)
		p.Status.Lists, p.Status.Watches = p.Status.Lists+counted.Lists, p.Status.Watches+counted.Watches
		p.Left, p.Reconnects = p.Left+counted.Left, p.Reconnects+counted.Reconnects
	})
}
