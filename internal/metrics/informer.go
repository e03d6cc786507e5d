// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"time"

	"github.com/kinformer/cache/inspect"
)

// informer is what a Reader keeps of one.
type informer struct {
	identity identity
	ordinal  int
	labels   *Series
	derived  map[[3]string]*Series // by the first label, and the values

	handlers groups[handlerGroup]
	indices  groups[indexGroup]
}

func newInformer(o Options, id identity, ordinal int) *informer {
	return &informer{
		identity: id, ordinal: ordinal, labels: id.series(ordinal), derived: map[[3]string]*Series{},
		handlers: groups[handlerGroup]{most: o.MaxHandlers}, indices: groups[indexGroup]{most: o.MaxIndices},
	}
}

// series returns the informer's labels and one or two of a metric.
func (known *informer) series(m *Metric, values ...string) *Series {
	key := [3]string{m.Labels[0]}
	copy(key[1:], values)
	s := known.derived[key]
	if s == nil {
		var pairs []string
		for i, value := range values {
			pairs = append(pairs, m.Labels[i], value)
		}
		s = known.labels.with(pairs...)
		known.derived[key] = s
	}
	return s
}

// visit hands out values.
type visit struct{ yield func(Sample) }

func (v visit) put(m *Metric, s *Series, value float64) {
	if m.Sparse && value == 0 {
		return
	}
	v.yield(Sample{Metric: m, Series: s, Value: value})
}

func (v visit) times(m *Metric, s *Series, t Times) {
	v.yield(Sample{Metric: m, Series: s, Times: &t})
}

// by hands out what is counted by a word.
func (v visit) by(m *Metric, known *informer, counts map[string]int64) {
	for word, n := range counts {
		v.put(m, known.series(m, word), float64(n))
	}
}

// process hands out what is known of all informers together.
func (v visit) process(s *Series, running []inspect.Inspection) {
	v.put(informers, s, float64(len(running)))
	tables := tablesOf(running)
	texts, parts := &tables.Texts, &tables.Shared.Parts
	v.put(sharedTexts, s, float64(texts.Count))
	v.put(sharedBytes, s, float64(texts.Bytes))
	v.put(sharedMaxBytes, s, float64(texts.Limit))
	v.put(sharedParts, s, float64(parts.Count))
	v.put(partsBytes, s, float64(parts.Bytes))
	v.put(partsMaxBytes, s, float64(parts.Limit))
	v.put(partsFound, s, float64(parts.Hits))
	v.put(partsMissed, s, float64(parts.Misses))
}

// tablesOf returns the tables of the process, as informers that use them tell.
func tablesOf(running []inspect.Inspection) (all inspect.Decoding) {
	for i := range running {
		d := &running[i].Status.Decoding
		if all.Texts.Limit == 0 {
			all.Texts = d.Texts
		}
		if all.Shared.Parts.Limit == 0 {
			all.Shared.Parts = d.Shared.Parts
		}
	}
	return all
}

// informer hands out what is known of one.
func (v visit) informer(i *inspect.Inspection, known *informer) {
	v.health(i, known)
	v.requests(i, known)
	v.received(i, known)
	v.contents(i, known)
	v.audits(i, known)
	v.indices(i, known)
	v.handlers(i, known)
}

// health says whether it is synced, and fresh.
func (v visit) health(i *inspect.Inspection, known *informer) {
	v.put(objects, known.labels, float64(i.Status.Objects))
	v.put(synced, known.labels, one(i.Status.Synced))
	v.put(sourceCount, known.labels, float64(i.Sources))
	v.put(unsynced, known.labels, float64(i.UnsyncedSources))
	v.put(phaseAge, known.series(phaseAge, i.Status.Phase), age(i, i.Status.PhaseSince))
	worded := map[string]bool{}
	for _, problem := range i.Status.Problems {
		if !worded[problem.Cause] {
			v.put(degraded, known.series(degraded, problem.Cause), 1)
		}
		worded[problem.Cause] = true
	}
	if !i.Status.LastEvent.IsZero() {
		v.put(eventAge, known.labels, age(i, i.Status.LastEvent))
	}
	failed := 0.0
	if !i.FailingSince.IsZero() {
		failed = max(0, time.Since(i.FailingSince).Seconds())
	}
	v.put(failing, known.labels, failed)
	v.put(outage, known.labels, lasting(i.Outages).Seconds())
	v.put(blind, known.labels, i.Status.LastOutage.Seconds())
	v.put(reconnect, known.labels, float64(i.Status.Reconnects))
}

// age is how many seconds before the inspection something was; 0 if it has not been.
func age(i *inspect.Inspection, at time.Time) float64 {
	if at.IsZero() {
		return 0
	}
	return i.Status.At.Sub(at).Seconds()
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// lasting is how long the outage has lasted that is not over.
func lasting(outages []inspect.Outage) time.Duration {
	if n := len(outages); n > 0 && !outages[n-1].Over {
		return outages[n-1].Length
	}
	return 0
}

// requests says what was asked of the server, and what became of that.
func (v visit) requests(i *inspect.Inspection, known *informer) {
	v.listing(known, "list", i.Lists)
	v.listing(known, "watch_list", i.Streams)
	if i.Watches.Ended > 0 {
		v.times(watchTime, known.labels, timesOf(i.Watches))
	}
	v.by(watchEnds, known, i.WatchEnds)
	v.by(relists, known, i.Relists)
	for reason, n := range map[string]int64{
		"list": i.Lists.Failed, "watch_list": i.Streams.Failed, "watch": i.Watches.Failed,
		"transform": int64(i.Queue.TransformErrors), "process": int64(i.Queue.ProcessErrors),
	} {
		v.put(errorsTotal, known.series(errorsTotal, reason), float64(n))
	}
}

func (v visit) listing(known *informer, mode string, r inspect.RequestStats) {
	if r.Ended == 0 {
		return
	}
	v.put(lists, known.series(lists, mode, "success"), float64(r.Ended-r.Failed))
	v.put(lists, known.series(lists, mode, "error"), float64(r.Failed))
	v.times(listTime, known.series(listTime, mode), timesOf(r))
	v.put(listedObjects, known.series(listedObjects, mode), float64(r.Objects))
}

func timesOf(r inspect.RequestStats) Times {
	return Times{Count: uint64(r.Ended), Seconds: r.Total.Seconds()}
}

// received says what has come, and what it was made of.
func (v visit) received(i *inspect.Inspection, known *informer) {
	v.put(events, known.labels, float64(i.Events))
	v.put(received, known.series(received, "list"), float64(i.ListBytes))
	v.put(received, known.series(received, "watch"), float64(i.WatchBytes))
	v.by(dropped, known, i.Drops)
	d := &i.Status.Decoding
	left := int64(0)
	for _, n := range d.GivenUp {
		left += n
	}
	v.put(decoded, known.series(decoded, "direct"), float64(d.Direct))
	v.put(decoded, known.series(decoded, "reused"), float64(d.Reused))
	v.put(decoded, known.series(decoded, "client"), float64(left))
	v.put(decodeOff, known.series(decodeOff, "direct"), one(d.Transport && !d.On && d.Why != ""))
	v.put(decodeOff, known.series(decodeOff, "shared"), one(d.Shared.Why != ""))
	v.put(verified, known.labels, float64(d.Verified.Objects))
	v.put(differences, known.labels, float64(d.Verified.Differences))
	v.put(partsChecked, known.labels, float64(d.Shared.Checked))
	v.put(partsWritten, known.labels, float64(d.Shared.Mutations))
}

// contents says what waits for the store, and what it all takes.
func (v visit) contents(i *inspect.Inspection, known *informer) {
	q, m := &i.Queue, &i.Memory
	v.put(queueDepth, known.labels, float64(q.Depth))
	v.put(queueLimit, known.labels, float64(q.Limit))
	v.put(queuePauses, known.labels, float64(q.Pauses))
	v.put(queuePaused, known.labels, q.Paused.Seconds())
	v.put(untransformed, known.labels, float64(q.Untransformed))
	for _, part := range [...]struct {
		name  string
		bytes int64
	}{
		{"objects", m.Objects}, {"store", m.Store}, {"indices", m.Indices},
		{"snapshots", m.Snapshots}, {"queue", m.Queue}, {"handlers", m.Handlers},
	} {
		v.put(memory, known.series(memory, part.name), float64(part.bytes))
	}
}

// audits says what audits have come to.
func (v visit) audits(i *inspect.Inspection, known *informer) {
	a := &i.Audits
	v.by(audits, known, a.Ended)
	v.by(auditFindings, known, a.Found)
	if !a.Last.At.IsZero() {
		v.put(auditDiffers, known.labels, float64(a.Differing))
		v.put(auditAge, known.labels, max(0, time.Since(a.Last.At).Seconds()))
	}
}
