// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/kinformer/cache/inspect"
)

// groups has a group for each of the first most names, for as long as the informer runs, and one
// for all others.
type groups[G any] struct {
	most   int
	byName map[string]*G
	others *G
	order  []*G
}

// of returns the group of a name. If it is new, create makes it, for a label value.
func (g *groups[G]) of(name string, create func(value string) *G) *G {
	name = labelText(name)
	if group := g.byName[name]; group != nil {
		return group
	}
	if name == Other || len(g.byName) >= g.most {
		if g.others == nil {
			g.others = create(Other)
			g.order = append(g.order, g.others)
		}
		return g.others
	}
	if g.byName == nil {
		g.byName = map[string]*G{}
	}
	group := create(name)
	g.byName[name] = group
	g.order = append(g.order, group)
	return group
}

// total is a sum of counters, of which some may have disappeared at the next read. It does not
// decrease. If others have grown by as much as those that disappeared had counted, that is lost.
type total struct{ last, gone uint64 }

// at returns the total, given the sum of the remaining counters.
func (t *total) at(now uint64) uint64 {
	if now < t.last {
		t.gone += t.last - now
	}
	t.last = now
	return t.gone + now
}

// totals are totals by word.
type totals map[string]*total

// at returns the totals, given the sums of the remaining counters.
func (t totals) at(now map[string]int64) map[string]int64 {
	for word := range now {
		if t[word] == nil {
			t[word] = new(total)
		}
	}
	sums := make(map[string]int64, len(t))
	for word, sum := range t {
		sums[word] = int64(sum.at(uint64(now[word])))
	}
	return sums
}

// handlerGroup is the handlers with one label value.
type handlerGroup struct {
	name   string
	labels *Series
	now    handlerSum

	calls, coalesced, busy total
	buckets                []total
}

// handlerSum is the sum over the handlers of a group.
type handlerSum struct {
	handlers, pending     int
	oldest, calling, busy time.Duration // oldest and calling are maxima
	calls, coalesced      uint64
	buckets               []uint64
	states                map[string]int
}

func (s *handlerSum) add(h *inspect.Handler) {
	s.handlers++
	s.pending += h.Pending
	s.oldest, s.calling = max(s.oldest, h.Oldest), max(s.calling, h.Calling)
	s.calls, s.coalesced, s.busy = s.calls+h.Delivered, s.coalesced+h.Coalesced, s.busy+h.Busy
	if s.states == nil {
		s.buckets, s.states = make([]uint64, len(h.Calls)), map[string]int{}
	}
	for i, bucket := range h.Calls {
		s.buckets[i] += bucket.Count
	}
	s.states[h.State]++
}

// handlers yields the metrics of the handlers.
func (v visit) handlers(i *inspect.Inspection, inf *informer) {
	v.put(handlers, inf.labels, float64(len(i.Handlers)))
	v.put(disconnected, inf.labels, float64(i.Disconnected))
	for h := range i.Handlers {
		inf.handlers.of(i.Handlers[h].Name, func(value string) *handlerGroup {
			return &handlerGroup{name: value, labels: inf.series(pending, value)}
		}).now.add(&i.Handlers[h])
	}
	for _, g := range inf.handlers.order {
		times := g.times()
		if g.now.handlers > 0 {
			v.handlerGroup(g, inf, times)
		}
		g.now = handlerSum{}
	}
}

// times updates the totals, including the totals of groups that have no handler now.
func (g *handlerGroup) times() Times {
	s := &g.now
	if g.buckets == nil {
		g.buckets = make([]total, len(s.buckets))
	} else if s.buckets == nil {
		s.buckets = make([]uint64, len(g.buckets))
	}
	t := Times{Seconds: time.Duration(g.busy.at(uint64(s.busy))).Seconds(), Buckets: make([]uint64, len(s.buckets))}
	for i, n := range s.buckets {
		t.Buckets[i] = g.buckets[i].at(n)
		t.Count += t.Buckets[i]
	}
	s.calls, s.coalesced = g.calls.at(s.calls), g.coalesced.at(s.coalesced)
	return t
}

func (v visit) handlerGroup(g *handlerGroup, inf *informer, t Times) {
	s := &g.now
	v.put(pending, g.labels, float64(s.pending))
	v.put(oldest, g.labels, s.oldest.Seconds())
	v.put(calling, g.labels, s.calling.Seconds())
	v.put(calls, g.labels, float64(s.calls))
	v.put(coalesced, g.labels, float64(s.coalesced))
	v.times(callTime, g.labels, t)
	for _, of := range slices.Sorted(maps.Keys(s.states)) {
		v.put(state, inf.series(state, g.name, of), float64(s.states[of]))
	}
}

// indexGroup is the indices with one label value.
type indexGroup struct {
	labels *Series
	now    inspect.IndexStats
	some   bool
}

// indices yields the metrics of the indices.
func (v visit) indices(i *inspect.Inspection, inf *informer) {
	for _, ix := range i.Indices {
		g := inf.indices.of(ix.Name, func(value string) *indexGroup {
			return &indexGroup{labels: inf.series(indexMembers, value)}
		})
		g.some = true
		g.now.Values, g.now.Members = g.now.Values+ix.Values, g.now.Members+ix.Members
		g.now.Lacking, g.now.Failures = g.now.Lacking+ix.Lacking, g.now.Failures+ix.Failures
		g.now.Bytes += ix.Bytes
	}
	for _, g := range inf.indices.order {
		if g.some {
			v.put(indexValues, g.labels, float64(g.now.Values))
			v.put(indexMembers, g.labels, float64(g.now.Members))
			v.put(indexBytes, g.labels, float64(g.now.Bytes))
			v.put(indexLacking, g.labels, float64(g.now.Lacking))
			v.put(indexFailures, g.labels, float64(g.now.Failures))
		}
		g.now, g.some = inspect.IndexStats{}, false
	}
}
