// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/schedules"
)

// TestSchedules runs all configurations: with two preemptions beside one reader, and one or two
// beside two readers. In a run of everything it is three beside one, and two beside two.
func TestSchedules(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, ok := any(&new(Table).functions).(*interleave.Mutex); !ok {
		t.Fatal("the package has no points: see make interleave")
	}
	var cases []schedules.Case
	for _, c := range configs {
		s := c.scripts()
		few := 3 - len(c.readers)
		cases = append(cases, schedules.Case{Name: c.name, Preemptions: few + c.more, Deep: few + 1,
			Start: func(answers *int) interleave.Program { return c.start(s, answers) }})
	}
	schedules.Run(t, cases)
}

// configs are the configurations, those of one matter together. Under the build tag leaves have up
// to 4 members, chunks 2 records, and groups of the hash tables 2 entries. Keys and values that
// differ in their case have one hash.
var configs = []config{
	// One record.
	{name: "update", setup: "a=v", writes: "a=v; a=v",
		readers: [][]call{{ask(get("a"), get("a"))}}},
	{name: "update of a second candidate", setup: "a=v A=v", writes: "a=v A=v; A=v",
		readers: [][]call{{ask(get("A"), get("a"))}}},
	{name: "draft of an object", setup: "a=v", writes: "a=w a=v",
		readers: [][]call{{ask(get("a"))}, {ask(byIndex("v"), count("w"))}}, more: 1},
	{name: "first object", writes: "a=v", readers: [][]call{{ask(get("a"), list())}}},
	{name: "key that is gone and comes again", setup: "a=v", writes: "-a; a=v",
		readers: [][]call{{ask(get("a"), get("a"))}}},
	{name: "record and slot for another key", setup: "a=v b=w", writes: "-a; A=v",
		readers: [][]call{{ask(get("a"))}, {ask(get("A"))}}, more: 1},
	{name: "record and slot for another key, listed", setup: "a=v b=w", writes: "-a; A=v",
		readers: [][]call{{ask(listKeys(), list())}}},

	// Hash tables.
	{name: "keys that grow", setup: "a=v", writes: "b=v; c=v; d=v",
		readers: [][]call{{ask(get("a"), get("c"))}}},
	{name: "group that overflows", setup: "a=v A=v", writes: "B=v b=v; -a; c=v",
		readers: [][]call{{ask(get("A"))}, {ask(get("b"))}}},
	{name: "values that grow", setup: "a=v", writes: "b=V; c=w; d=x",
		readers: [][]call{{ask(byIndex("v"), count("w"))}}},

	// Postings.
	{name: "first leaf grows", setup: "a=v", writes: "b=v; c=v; d=v",
		readers: [][]call{{ask(byIndex("v"))}, {ask(count("v"))}}},
	{name: "first leaf shrinks", setup: "a=v b=v c=v", writes: "-c; -b",
		readers: [][]call{{ask(indexKeys("v"))}, {ask(byIndex("v"))}}, more: 1},
	{name: "last member moves within a leaf", setup: "a=v b=v c=v", writes: "-a; d=v",
		readers: [][]call{{ask(byIndex("v"), count("v"))}}},
	{name: "last member moves to the first leaf", setup: "a=v b=v c=v d=v e=v", writes: "-a",
		readers: [][]call{{ask(byIndex("v"), indexKeys("v"))}}},
	{name: "last member moves and comes again", setup: "a=v b=v c=v d=v e=v", writes: "-a; a=v",
		readers: [][]call{{ask(byIndex("v"))}, {ask(count("v"))}}, more: 1},
	{name: "second leaf comes and goes", setup: "a=v b=v c=v d=v", writes: "e=v; -e",
		readers: [][]call{{ask(byIndex("v"), count("v"))}}},
	{name: "third leaf", setup: "a=v b=v c=v d=v e=v f=v g=v h=v", writes: "A=v; -a",
		readers: [][]call{{ask(byIndex("v"))}}},
	{name: "leaf with many notes", setup: "a=v b=v c=v d=v", writes: "-a -b -c; a=v b=v",
		readers: [][]call{{ask(byIndex("v"))}, {snapshot(byIndex("v"), count("v"))}}},
	{name: "posting is dropped", setup: "a=v b=w", writes: "-a; c=v",
		readers: [][]call{{ask(byIndex("v"), values())}}},
	{name: "posting for another value", setup: "a=v b=w", writes: "a=V; a=x",
		readers: [][]call{{ask(byIndex("v"), byIndex("V"))}, {ask(byIndex("x"), values())}}},
	{name: "object moves between postings", setup: "a=v b=w", writes: "a=w; a=v",
		readers: [][]call{{snapshot(byIndex("v"), byIndex("w"))}, {ask(byIndex("w"))}}},
	{name: "object with several values", setup: "a=vw b=v", writes: "a=wx; a=v",
		readers: [][]call{{snapshot(byIndex("v"), byIndex("w"), byIndex("x"))}}},

	// Bodies.
	{name: "replace", setup: "a=v b=v", writes: "replace a=v c=w",
		readers: [][]call{{ask(get("a"), list())}, {ask(byIndex("v"))}}, more: 1},
	{name: "replace with a snapshot", setup: "a=v b=v",
		writes: "a=w; replace b=v; b=w", hold: []int{1},
		readers: [][]call{{snapshot(list(), byIndex("v"))}, {askFirst(byIndex("v"), get("b"))}}},
	{name: "install", setup: "a=v b=v", writes: "install a=v b=w c=v; a=w",
		readers: [][]call{{snapshot(get("a"), byIndex("v"))}}},
	{name: "body that shrinks", setup: "a=v b=v c=v d=v e=v f=v g=v h=v A=v; -a -b -c -d -e -f",
		writes:  "-g; A=w",
		readers: [][]call{{ask(byIndex("v"), get("A"))}, {snapshot(list(), length())}}},
	{name: "body that shrinks, held", hold: []int{1, 2},
		setup:   "a=v b=v c=v d=v e=v f=v g=v h=v A=v; -a -b -c -d -e -f",
		writes:  "-g; A=w",
		readers: [][]call{{askFirst(list()), closeHeld(0)}, {closeHeld(1)}}},
	{name: "index that is added", setup: "a=v b=w", writes: "late; b=v",
		readers: [][]call{{ask(byIndexOf("late", "v"), byIndexOf("late", "v"))},
			{snapshot(byIndexOf("late", "v"), byIndexOf("late", "w"), byIndex("v"))}}},

	{name: "index that a snapshot has or has not", setup: "a=v", writes: "late",
		readers: [][]call{{snapshot(byIndexOf("late", "v"), byIndexOf("late", "v"))}}},

	// Index functions that fail, and writes that are given up.
	{name: "index function fails", setup: "a=v b=w", writes: "b=v a=!; a=v b=?",
		readers: [][]call{{ask(byIndex("v"), get("a"))}, {snapshot(byIndex("v"), list(), count("w"))}}},
	{name: "index function fails for a member", setup: "a=v b=v c=v", writes: "a=! d=v; a=v",
		readers: [][]call{{ask(byIndex("v"), indexKeys("v"))}}},
	{name: "index function fails in a replace", setup: "a=v b=v", hold: []int{1},
		writes:  "replace a=? c=v; a=v c=!",
		readers: [][]call{{ask(byIndex("v"), list())}, {askFirst(byIndex("v")), closeHeld(0)}}},
	{name: "index function fails in a draft", setup: "a=v b=!", writes: "install a=! b=v; a=v",
		readers: [][]call{{snapshot(byIndex("v"), get("a"))}}},
	{name: "index that is added fails", setup: "a=v b=? c=! d=w", writes: "late; b=v",
		readers: [][]call{{ask(byIndexOf("late", "v"), byIndexOf("late", "v"))},
			{snapshot(byIndexOf("late", "v"), byIndex("v"))}}},
	{name: "replace that is given up", setup: "a=v b=w", writes: "stop b=v c=v; -a",
		readers: [][]call{{snapshot(list(), byIndex("v"), version())}}},
	{name: "replace that is given up, with snapshots", setup: "a=v; a=w", hold: []int{1},
		writes:  "stop a=! c=v d=v; replace a=w",
		readers: [][]call{{askFirst(get("a")), closeHeld(0)}, {ask(list(), byIndex("w"))}}},

	// Pins.
	{name: "snapshot comes and goes", setup: "a=v", writes: "a=w; a=v",
		readers: [][]call{{snapshot(get("a"), byIndex("v"), version())}}},
	{name: "two snapshots", setup: "a=v", writes: "a=w; -a",
		readers: [][]call{{snapshot(get("a"))}, {snapshot(byIndex("v"))}}},
	{name: "more pins than are spared", setup: "a=v; a=v", writes: "a=v; a=v", hold: []int{1},
		readers: [][]call{{snapshot(get("a")), snapshot(get("a"))}, {ask(list())}}},
	{name: "snapshot stays open", setup: "a=v; a=w", writes: "a=v; -a", hold: []int{1},
		readers: [][]call{{keep(get("a")), closeHeld(0)}}},
	{name: "two snapshots, one stays open", setup: "a=v", writes: "a=w; a=v",
		readers: [][]call{{keep(get("a"))}, {snapshot(get("a"))}}},
	{name: "two snapshots and a free pin", setup: "a=v", pins: 1, writes: "a=w; a=v",
		readers: [][]call{{keep(get("a"))}, {snapshot(get("a"))}}},
	{name: "free pin that is taken off the list", setup: "a=v", pins: 2, writes: "a=w; a=v",
		readers: [][]call{{keep(get("a")), keep(get("a")), closeHeld(0)}}},
	{name: "pin that comes before one that is counted", setup: "a=v", hold: []int{1},
		writes:  "a=w; a=v",
		readers: [][]call{{keep(get("a"))}}},
	{name: "oldest snapshot behind free pins", setup: "a=v", pins: 3, writes: "a=w",
		readers: [][]call{{keep(get("a")), keep(get("a")), oldest}}},
	{name: "pin that arrives while the janitor tidies up", setup: "a=v", hold: []int{1}, writes: "a=w",
		readers: [][]call{{snapshot(get("a"))}, {closeHeld(0)}}},
	{name: "oldest snapshot", setup: "a=v", pins: 2, writes: "a=w; a=v",
		readers: [][]call{{oldest, oldest}}},
	{name: "held snapshots are closed", setup: "a=v; a=w; b=v", hold: []int{1, 2, 3},
		writes:  "a=v; -b",
		readers: [][]call{{closeHeld(0), closeHeld(2)}, {askFirst(get("a")), closeHeld(1)}}},
	{name: "held snapshots are closed, newest first", setup: "a=v; a=w; a=v", hold: []int{1, 2, 3},
		writes:  "-a",
		readers: [][]call{{closeHeld(2), closeHeld(0)}, {closeHeld(1)}}},
	{name: "held snapshots are closed at once", setup: "a=v; a=w; b=v", hold: []int{1, 2},
		readers: [][]call{{closeHeld(0)}, {closeHeld(1)}}, more: 1},
	{name: "snapshots are closed while the janitor discounts", setup: "a=v; a=v; a=v; a=v; a=v",
		hold:    []int{1, 2, 3, 4},
		readers: [][]call{{closeHeld(0), closeHeld(1)}, {closeHeld(2), closeHeld(3)}}},
	{name: "many snapshots without writes", setup: "a=v", crowd: true,
		readers: [][]call{{keep(), keep(), keep(), snapshot()}, {keep(), keep(), closeHeld(0)}}},
	{name: "snapshot is closed while it is read", setup: "a=v b=v", hold: []int{1}, writes: "-a",
		readers: [][]call{{askFirst(get("a"), list())}, {closeHeld(0)}}},
	{name: "pins without writes", setup: "a=v; a=w", hold: []int{1},
		readers: [][]call{{snapshot(get("a"))}, {closeHeld(0)}}, writes: "b=v"},
	{name: "loop", setup: "a=v b=v", writes: "-a; c=v",
		readers: [][]call{{loop("", always)}, {loop("v", always)}}},
	{name: "loop that is left", setup: "a=v b=v", writes: "a=w; -b",
		readers: [][]call{{loop("", byBreak), ask(get("a"))}, {loop("v", byPanic)}}},
	{name: "reader that exits in a loop", setup: "a=v", writes: "a=w; a=v",
		readers: [][]call{{loop("v", byExit)}, {loop("", byExit)}}},

	// Versions.
	{name: "ring of numbers", setup: "a=v", writes: "b=v; c=v; d=v; e=v",
		readers: [][]call{{ask(length(), version())}}},
	{name: "ring of versions", setup: "a=v", writes: "b=v; -b; b=v; -b",
		readers: [][]call{{ask(version()), snapshot(length(), version())}}},
	{name: "version of a snapshot", setup: "a=v", writes: "b=v; -b",
		readers: [][]call{{snapshot(version(), length(), list())}, {ask(version(), get("b"))}}},

	// Drafts and other calls.
	{name: "draft beside a writer", setup: "a=v b=v", writes: "a=w; -b",
		readers: [][]call{{draftOf("a", "b")}}},
	{name: "other calls", setup: "a=v b=w", writes: "-a; A=v; b=v",
		readers: [][]call{{union("v", "w"), spelled("a"), spelled("A")}}},
	{name: "value goes", setup: "a=v b=w", writes: "-a",
		readers: [][]call{{ask(values())}}},

	// Other writers.
	{name: "janitor is in the way", setup: "a=v; a=v", hold: []int{1},
		writes:  "try a=v; try -a",
		readers: [][]call{{closeHeld(0)}, {ask(get("a"))}}},
}

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
