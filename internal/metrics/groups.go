// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/kinformer/cache/inspect"
)

// groups are what the first names have, as long as the informer runs, and Other for all others.
type groups[G any] struct {
	most   int
	byName map[string]*G
	others *G
	order  []*G
}

// of returns the group of a name; made makes one, with the labels of a value.
func (g *groups[G]) of(name string, made func(value string) *G) *G {
	name = labelText(name)
	if known := g.byName[name]; known != nil {
		return known
	}
	if name == Other || len(g.byName) >= g.most {
		if g.others == nil {
			g.others = made(Other)
			g.order = append(g.order, g.others)
		}
		return g.others
	}
	if g.byName == nil {
		g.byName = map[string]*G{}
	}
	known := made(name)
	g.byName[name] = known
	g.order = append(g.order, known)
	return known
}

// total is a sum of counters, some of which may be gone the next time. It does not go down.
type total struct{ last, gone uint64 }

// at returns the total when the counters that are left have this sum.
func (t *total) at(now uint64) uint64 {
	if now < t.last {
		t.gone += t.last - now
	}
	t.last = now
	return t.gone + now
}

// handlerGroup is the handlers of one label value.
type handlerGroup struct {
	name   string
	labels *Series
	now    handlerSum

	calls, coalesced, busy total
	buckets                []total
}

// handlerSum sums up handlers.
type handlerSum struct {
	handlers, pending     int
	oldest, calling, busy time.Duration // the longest of the first two
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

// handlers hands out what is known of the handlers.
func (v visit) handlers(i *inspect.Inspection, known *informer) {
	v.put(handlers, known.labels, float64(len(i.Handlers)))
	v.put(disconnected, known.labels, float64(i.Disconnected))
	for h := range i.Handlers {
		known.handlers.of(i.Handlers[h].Name, func(value string) *handlerGroup {
			return &handlerGroup{name: value, labels: known.series(pending, value)}
		}).now.add(&i.Handlers[h])
	}
	for _, g := range known.handlers.order {
		times := g.times()
		if g.now.handlers > 0 {
			v.handlerGroup(g, known, times)
		}
		g.now = handlerSum{}
	}
}

// times brings the totals up to date, also those without a handler now.
func (g *handlerGroup) times() Times {
	s := &g.now
	if g.buckets == nil {
		g.buckets = make([]total, len(s.buckets))
	}
	t := Times{Seconds: time.Duration(g.busy.at(uint64(s.busy))).Seconds(), Buckets: make([]uint64, len(s.buckets))}
	for i, n := range s.buckets {
		t.Buckets[i] = g.buckets[i].at(n)
		t.Count += t.Buckets[i]
	}
	s.calls, s.coalesced = g.calls.at(s.calls), g.coalesced.at(s.coalesced)
	return t
}

func (v visit) handlerGroup(g *handlerGroup, known *informer, t Times) {
	s := &g.now
	v.put(pending, g.labels, float64(s.pending))
	v.put(oldest, g.labels, s.oldest.Seconds())
	v.put(calling, g.labels, s.calling.Seconds())
	v.put(calls, g.labels, float64(s.calls))
	v.put(coalesced, g.labels, float64(s.coalesced))
	v.times(callTime, g.labels, t)
	for _, of := range slices.Sorted(maps.Keys(s.states)) {
		v.put(state, known.series(state, g.name, of), float64(s.states[of]))
	}
}

// indexGroup is the indices of one label value.
type indexGroup struct {
	labels *Series
	now    inspect.IndexStats
	some   bool
}

// indices hands out what is known of the indices.
func (v visit) indices(i *inspect.Inspection, known *informer) {
	for _, ix := range i.Indices {
		g := known.indices.of(ix.Name, func(value string) *indexGroup {
			return &indexGroup{labels: known.series(indexMembers, value)}
		})
		g.some = true
		g.now.Values, g.now.Members = g.now.Values+ix.Values, g.now.Members+ix.Members
		g.now.Lacking, g.now.Failures = g.now.Lacking+ix.Lacking, g.now.Failures+ix.Failures
		g.now.Bytes += ix.Bytes
	}
	for _, g := range known.indices.order {
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
