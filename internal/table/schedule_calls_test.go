// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

import (
	"fmt"
	"iter"
	"runtime"
	"slices"

	"github.com/kinformer/cache/internal/interleave"
)

// queried is what tables and snapshots have in common.
type queried interface {
	Get(key string) (obj any, ok bool)
	List() []any
	ListKeys() []string
	ByIndex(index, value string) ([]any, error)
	IndexKeys(index, value string) ([]string, error)
	Count(index, value string) (int, error)
	IndexValues(index string) ([]string, error)
	Len() int
	RV() string
}

// query is one question.
type query func(of queried) (f fits, what note)

// note says what an answer was, if somebody asks.
type note func() string

func notef(format string, args ...any) note {
	return func() string { return fmt.Sprintf(format, args...) }
}

// allKeys and allValues are those that configurations use.
var (
	allKeys   = []string{"a", "A", "b", "B", "c", "d", "e", "f", "g", "h"}
	allValues = []string{"v", "V", "w", "x"}
)

func get(key string) query {
	return func(of queried) (fits, note) {
		obj, ok := of.Get(key)
		return func(s *state) bool {
			i, there := s.items[key]
			return ok == there && (!ok || obj == any(i))
		}, notef("Get(%s) = %v, %v", key, obj, ok)
	}
}

func byIndex(value string) query { return byIndexOf("value", value) }

func byIndexOf(index, value string) query {
	return func(of queried) (fits, note) {
		objs, err := of.ByIndex(index, value)
		got, once := itemsOf(objs)
		return func(s *state) bool {
			if index == "late" && !s.late {
				return err != nil
			}
			return err == nil && once && got == s.by[value]
		}, notef("ByIndex(%s, %s) = %v, %v", index, value, objs, err)
	}
}

func indexKeys(value string) query {
	return func(of queried) (fits, note) {
		keys, err := of.IndexKeys("value", value)
		return func(s *state) bool { return err == nil && slices.Equal(keys, s.keys(s.by[value])) },
			notef("IndexKeys(%s) = %v, %v", value, keys, err)
	}
}

func count(value string) query {
	return func(of queried) (fits, note) {
		n, err := of.Count("value", value)
		return func(s *state) bool { return err == nil && n == len(s.keys(s.by[value])) },
			notef("Count(%s) = %d, %v", value, n, err)
	}
}

func list() query {
	return func(of queried) (fits, note) {
		objs := of.List()
		got, once := itemsOf(objs)
		return func(s *state) bool { return once && got == s.all }, notef("List = %v", objs)
	}
}

func listKeys() query {
	return func(of queried) (fits, note) {
		keys := of.ListKeys()
		slices.Sort(keys)
		return func(s *state) bool { return slices.Equal(keys, s.keys(s.all)) }, notef("ListKeys = %v", keys)
	}
}

func values() query {
	return func(of queried) (fits, note) {
		got, err := of.IndexValues("value")
		slices.Sort(got)
		return func(s *state) bool { return err == nil && slices.Equal(got, s.valuesInUse()) },
			notef("IndexValues = %v, %v", got, err)
	}
}

func (s *state) valuesInUse() (values []string) {
	for value := range s.by {
		values = append(values, value)
	}
	slices.Sort(values)
	return values
}

func length() query {
	return func(of queried) (fits, note) {
		n := of.Len()
		return func(s *state) bool { return n == len(s.items) }, notef("Len = %d", n)
	}
}

func version() query {
	return func(of queried) (fits, note) {
		rv := of.RV()
		return func(s *state) bool { return rv == s.rv }, notef("RV = %s", rv)
	}
}

// ask has the table answer queries, one after the other.
func ask(queries ...query) call {
	return func(r *rig) {
		for _, q := range queries {
			from := r.begin()
			f, what := q(r.table)
			r.judge(from, f, what)
		}
	}
}

// snapshot has one snapshot answer queries: all from one state.
func snapshot(queries ...query) call {
	return func(r *rig) {
		from := r.begin()
		h := &holding{Snapshot: r.table.Snapshot()}
		r.opened(h, from)
		r.askHeld(h, queries)
		h.Close()
		r.closedAt(h)
	}
}

// opened notes of which states a snapshot may be that was opened just now.
func (r *rig) opened(h *holding, from int) {
	for i := from; i <= r.begun; i++ {
		h.may |= 1 << i
	}
}

func (r *rig) askHeld(h *holding, queries []query) {
	for _, q := range queries {
		f, what := q(h)
		r.narrow(h, f, what)
	}
}

// narrow takes away the states that an answer does not fit.
func (r *rig) narrow(h *holding, f fits, what note) {
	r.narrowAt(h, func(state int) bool { return f(r.states[state]) }, what)
}

// narrowAt is narrow by the numbers of the states.
func (r *rig) narrowAt(h *holding, fits func(state int) bool, what note) {
	*r.answers++
	for i := range r.states {
		if h.may&(1<<i) != 0 && !fits(i) {
			h.may &^= 1 << i
		}
	}
	if h.may == 0 {
		interleave.Fail(fmt.Errorf("a snapshot: %s: that is no state, or another one than before", what()))
	}
}

// closedAt has the next calls see nothing older than what the snapshot surely was.
func (r *rig) closedAt(h *holding) {
	for i := range r.states {
		if h.may&(1<<i) != 0 {
			r.seen = max(r.seen, i)
			return
		}
	}
}

// ends is how the body of a loop ends.
type ends int

const (
	always ends = iota
	byBreak
	byPanic
	byExit
)

// loop goes over all objects, or those with a value, to the end or through the first one.
func loop(value string, e ends) call {
	return func(r *rig) {
		defer func() {
			if p := recover(); p != nil && p != any(byPanic) {
				panic(p)
			}
		}()
		r.loop(value, e)
	}
}

func (r *rig) loop(value string, e ends) {
	from := r.begin()
	h := new(holding)
	var all set
	for key, obj := range r.sequence(value) {
		if all == 0 {
			r.opened(h, from)
		}
		i := obj.(*item)
		all |= 1 << i.number
		r.narrow(h, func(s *state) bool { return i.key == key && s.items[key] == i }, notef("%v in a loop", i))
		switch e {
		case byBreak:
			return
		case byPanic:
			panic(byPanic)
		case byExit:
			runtime.Goexit()
		}
	}
	if all == 0 {
		r.opened(h, from)
	}
	r.narrow(h, func(s *state) bool {
		return value == "" && all == s.all || value != "" && all == s.by[value]
	}, notef("%b in a loop", all))
	r.closedAt(h)
}

func (r *rig) sequence(value string) iter.Seq2[string, any] {
	if value == "" {
		return r.table.All()
	}
	seq, err := r.table.ByIndexSeq("value", value)
	if err != nil {
		interleave.Fail(err)
	}
	return seq
}

// askFirst has the first snapshot that is held answer queries. If somebody closes it meanwhile, it
// may have nothing.
func askFirst(queries ...query) call {
	return func(r *rig) {
		for _, q := range queries {
			interleave.Point()
			h := r.held[0]
			if f, what := q(h); !h.closed || !f(newState()) {
				r.narrow(h, f, what)
			}
		}
	}
}

// closeHeld closes a snapshot that is held.
func closeHeld(i int) call {
	return func(r *rig) {
		interleave.Point()
		r.held[i].closed = true
		r.held[i].Close()
	}
}

// keep has a snapshot answer queries and leaves it open.
func keep(queries ...query) call {
	return func(r *rig) {
		from := r.begin()
		h := &holding{Snapshot: r.table.Snapshot()}
		r.opened(h, from)
		r.held = append(r.held, h)
		r.narrow(h, func(s *state) bool { return s.rv == h.RV() }, notef("version %s", h.RV()))
		r.askHeld(h, queries)
	}
}

// oldest: while a snapshot is open, one is counted, and there is an oldest one. The others are
// closed before.
func oldest(r *rig) {
	interleave.Point()
	s := r.table.Snapshot()
	defer s.Close()
	for i := range r.held {
		closeHeld(i)(r)
	}
	*r.answers++
	if stats := r.table.Snapshots(); stats.Open < 1 || stats.Oldest.IsZero() {
		interleave.Fail(fmt.Errorf("%d snapshots are open, the oldest of %v", stats.Open, stats.Oldest))
	}
}
