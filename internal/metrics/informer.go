// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"strings"
	"time"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/switched"
)

// informer is the state that a Reader keeps for an informer.
type informer struct {
	identity identity
	ordinal  int
	labels   *Series
	derived  map[derivation]*Series

	handlers groups[handlerGroup]
	indices  groups[indexGroup]

	audits, findings totals // those of removed sources disappear
}

func newInformer(o Options, id identity, ordinal int) *informer {
	return &informer{
		identity: id, ordinal: ordinal, labels: id.series(ordinal), derived: map[derivation]*Series{},
		handlers: groups[handlerGroup]{most: o.MaxHandlers}, indices: groups[indexGroup]{most: o.MaxIndices},
		audits: totals{}, findings: totals{},
	}
}

// derivation identifies labels in addition to those of the informer.
type derivation struct {
	first  string // the name of the first label, which implies those of as many others
	n      int
	values [4]string
}

// series returns the informer's labels with those of m.
func (inf *informer) series(m *Metric, values ...string) *Series {
	key := derivation{first: m.Labels[0], n: len(values)}
	copy(key.values[:], values)
	s := inf.derived[key]
	if s == nil {
		var pairs []string
		for i, value := range values {
			pairs = append(pairs, m.Labels[i], value)
		}
		s = inf.labels.with(pairs...)
		inf.derived[key] = s
	}
	return s
}

// visit passes samples to yield.
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

// by yields counts by word.
func (v visit) by(m *Metric, inf *informer, counts map[string]int64) {
	for word, n := range counts {
		v.put(m, inf.series(m, word), float64(n))
	}
}

// process yields the metrics of the process.
func (v visit) process(s *Series, running []inspect.Inspection) {
	v.put(informers, s, float64(len(running)))
	v.put(clientGos, s, float64(len(switched.Running())))
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

// tablesOf returns the tables of the process, from informers that use them.
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

// informer yields the metrics of an informer.
func (v visit) informer(i *inspect.Inspection, inf *informer) {
	v.health(i, inf)
	v.requests(i, inf)
	v.received(i, inf)
	v.contents(i, inf)
	v.audits(i, inf)
	v.indices(i, inf)
	v.handlers(i, inf)
}

func unsyncedOf(i *inspect.Inspection) (n int) {
	for _, source := range i.Sources {
		if !source.Status.Synced {
			n++
		}
	}
	return n
}

// health yields whether the informer is synced and up to date.
func (v visit) health(i *inspect.Inspection, inf *informer) {
	v.put(objects, inf.labels, float64(i.Status.Objects))
	v.put(synced, inf.labels, one(i.Status.Synced))
	v.put(sourceCount, inf.labels, float64(len(i.Sources)))
	v.put(unsynced, inf.labels, float64(unsyncedOf(i)))
	v.put(phaseAge, inf.series(phaseAge, i.Status.Phase), age(i, i.Status.PhaseSince))
	worded := map[string]bool{}
	for _, problem := range i.Status.Problems {
		if !worded[problem.Cause] {
			v.put(degraded, inf.series(degraded, problem.Cause), 1)
		}
		worded[problem.Cause] = true
	}
	if !i.Status.LastEvent.IsZero() {
		v.put(eventAge, inf.labels, age(i, i.Status.LastEvent))
	}
	failed, why := 0.0, ""
	if !i.FailingSince.IsZero() {
		failed, why = max(0, time.Since(i.FailingSince).Seconds()), i.Status.LastErrorReason
	}
	v.put(failing, inf.series(failing, why), failed)
	v.put(outage, inf.labels, lasting(i.Outages).Seconds())
	v.put(blind, inf.labels, i.Status.LastOutage.Seconds())
	v.put(reconnect, inf.labels, float64(i.Status.Reconnects))
}

// age returns the seconds from a time to the inspection, or 0 for the zero time.
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

// lasting returns the length of the current outage, or 0.
func lasting(outages []inspect.Outage) time.Duration {
	if n := len(outages); n > 0 && !outages[n-1].Over {
		return outages[n-1].Length
	}
	return 0
}

// requests yields the counts and durations of requests.
func (v visit) requests(i *inspect.Inspection, inf *informer) {
	v.listing(inf, "list", i.Lists)
	v.listing(inf, "watch_list", i.Streams)
	if i.Watches.Ended > 0 {
		v.times(watchTime, inf.labels, timesOf(i.Watches))
	}
	v.by(watchEnds, inf, i.WatchEnds)
	v.by(relists, inf, i.Relists)
	for reason, n := range map[string]int64{
		"list": i.Lists.Failed, "watch_list": i.Streams.Failed, "watch": i.Watches.Failed + i.Unopened,
		"transform": int64(i.Queue.TransformErrors), "process": int64(i.Queue.ProcessErrors),
	} {
		v.put(errorsTotal, inf.series(errorsTotal, reason), float64(n))
	}
}

func (v visit) listing(inf *informer, mode string, r inspect.RequestStats) {
	if r.Ended == 0 {
		return
	}
	v.put(lists, inf.series(lists, mode, "success"), float64(r.Ended-r.Failed))
	v.put(lists, inf.series(lists, mode, "error"), float64(r.Failed))
	v.times(listTime, inf.series(listTime, mode), timesOf(r))
	v.put(listedObjects, inf.series(listedObjects, mode), float64(r.Objects))
}

func timesOf(r inspect.RequestStats) Times {
	return Times{Count: uint64(r.Ended), Seconds: r.Total.Seconds()}
}

// received yields the counts of received events and bytes, and of decoded objects.
func (v visit) received(i *inspect.Inspection, inf *informer) {
	v.put(events, inf.labels, float64(i.Events))
	v.put(received, inf.series(received, "list"), float64(i.ListBytes))
	v.put(received, inf.series(received, "watch"), float64(i.WatchBytes))
	v.by(dropped, inf, i.Drops)
	d := &i.Status.Decoding
	left := int64(0)
	for _, n := range d.GivenUp {
		left += n
	}
	v.put(decoded, inf.series(decoded, "direct"), float64(d.Direct))
	v.put(decoded, inf.series(decoded, "reused"), float64(d.Reused))
	v.put(decoded, inf.series(decoded, "client"), float64(left))
	v.decodes(i, inf)
	if d := &i.Status.Decoding; d.Keep != nil {
		v.put(kept, inf.series(kept, labelText(strings.Join(d.Keep, ","))), float64(len(d.Keep)))
		v.put(wholeObjects, inf.labels, float64(d.WholeObjects))
	}
	v.put(verified, inf.labels, float64(d.Verified.Objects))
	v.put(differences, inf.labels, float64(d.Verified.Differences))
	v.put(partsChecked, inf.labels, float64(d.Shared.Checked))
	v.put(partsWritten, inf.labels, float64(d.Shared.Mutations))
}

// decodes yields who decodes, if anything was received.
func (v visit) decodes(i *inspect.Inspection, inf *informer) {
	d, way, reason, sharing := &i.Status.Decoding, "client", "", ""
	switch {
	case d.On:
		way = "direct"
	case d.Reason == "" || !i.Status.Synced && i.Status.ResourceVersion == "" && i.Events == 0:
		return
	default:
		reason = d.Reason
	}
	switch {
	case d.Shared.Why != "":
		sharing = "off"
	case d.Shared.On && d.On:
		sharing = "on"
	}
	v.put(decodes, inf.series(decodes, way, d.Encoding, reason, sharing), 1)
}

// contents yields the queue and the memory.
func (v visit) contents(i *inspect.Inspection, inf *informer) {
	q, m := &i.Queue, &i.Memory
	v.put(queueDepth, inf.labels, float64(q.Depth))
	v.put(queueLimit, inf.labels, float64(q.Limit))
	v.put(queuePauses, inf.labels, float64(q.Pauses))
	v.put(queuePaused, inf.labels, q.Paused.Seconds())
	v.put(untransformed, inf.labels, float64(q.Untransformed))
	v.put(undecodable, inf.labels, float64(i.Status.Undecodable))
	for _, part := range [...]struct {
		name  string
		bytes int64
	}{
		{"objects", m.Objects}, {"store", m.Store}, {"indices", m.Indices},
		{"snapshots", m.Snapshots}, {"queue", m.Queue}, {"handlers", m.Handlers},
	} {
		v.put(memory, inf.series(memory, part.name), float64(part.bytes))
	}
}

// audits yields the results of audits.
func (v visit) audits(i *inspect.Inspection, inf *informer) {
	a := &i.Audits
	v.by(audits, inf, inf.audits.at(a.Ended))
	v.by(auditFindings, inf, inf.findings.at(a.Confirmed))
	if !a.Last.At.IsZero() {
		v.put(auditDiffers, inf.labels, float64(a.Differing))
		v.put(auditAge, inf.labels, max(0, time.Since(a.Last.At).Seconds()))
	}
}
