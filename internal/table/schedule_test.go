// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/schedules"
)

// TestSchedules runs all configurations, with two preemptions beside one reader, and with one or
// two beside two readers. make interleave runs them with three beside one, and two beside two.
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

// configs are the configurations, grouped by subject. With the build tag, leaves have up to 4
// members, chunks 2 records, and groups of the hash tables 2 slots. Keys and values that differ
// only in case have the same hash.
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

	// Index functions that fail, and writes that are abandoned.
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

// queried has the methods that tables and snapshots share.
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

// query makes one call. It returns a function that reports whether the answer fits a state, and a
// description of the answer.
type query func(of queried) (f fits, what note)

// note describes an answer.
type note func() string

func notef(format string, args ...any) note {
	return func() string { return fmt.Sprintf(format, args...) }
}

// allKeys and allValues are the keys and values of the configurations.
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

// ask returns a call that queries the table, one query after the other.
func ask(queries ...query) call {
	return func(r *rig) {
		for _, q := range queries {
			from := r.begin()
			f, what := q(r.table)
			r.judge(from, f, what)
		}
	}
}

// snapshot returns a call that queries one snapshot. All answers must be from one state.
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

// opened records the states that a snapshot opened just now may be of.
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

// narrow removes the states that an answer does not fit.
func (r *rig) narrow(h *holding, f fits, what note) {
	r.narrowAt(h, func(state int) bool { return f(r.states[state]) }, what)
}

// narrowAt is narrow with a function of the number of a state.
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

// closedAt requires the next calls to see no state older than the oldest possible state of the
// snapshot.
func (r *rig) closedAt(h *holding) {
	for i := range r.states {
		if h.may&(1<<i) != 0 {
			r.seen = max(r.seen, i)
			return
		}
	}
}

// ends is the way in which the body of a loop ends.
type ends int

const (
	always ends = iota
	byBreak
	byPanic
	byExit
)

// loop returns a call that iterates over all objects, or those with a value, to the end or through
// the first one.
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

// askFirst returns a call that queries the first held snapshot. If it is closed meanwhile, it may
// be empty.
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

// closeHeld returns a call that closes held snapshot i.
func closeHeld(i int) call {
	return func(r *rig) {
		interleave.Point()
		r.held[i].closed = true
		r.held[i].Close()
	}
}

// keep returns a call that queries a snapshot and leaves it open.
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

// oldest checks that a snapshot is counted and an oldest one exists while one is open. It closes
// the others first.
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

// config is a configuration, to be run with all schedules.
type config struct {
	name string
	// setup is written first. The states with the numbers in hold are held by snapshots. The empty
	// table is state 0.
	setup string
	hold  []int
	// pins is the number of pins that are taken after setup and free.
	pins int
	// writes are the writer's writes.
	writes string
	// readers has the calls of each reader, in order.
	readers [][]call
	// crowd means that few pins must be in the list at the end.
	crowd bool
	// more is the number of preemptions in addition to TestSchedules'.
	more int
}

// call is one call of a reader, or several that belong together.
type call func(r *rig)

// fits reports whether an answer is that of a state.
type fits = func(s *state) bool

// rig is a table in one schedule, with the log of its states.
type rig struct {
	table  *Table
	states []*state
	// begun and done are the last states that the writer has begun and published. seen is the
	// oldest state that the next call may be about, given the answers so far.
	begun, done, seen int
	held              []*holding
	answers           *int
}

// holding is a snapshot, with the set of the states that it may be of.
type holding struct {
	*Snapshot
	may    uint64
	closed bool
}

// start returns the threads of a configuration, and the final check.
func (c *config) start(s *scripts, answers *int) interleave.Program {
	t := New(map[string]IndexFunc{"value": valuesOfItem}, Options{})
	t.w.Bar("reader") // reads do not take the writers' lock
	r := &rig{table: t, states: s.states, answers: answers}
	for i := range s.before {
		r.write(s.before[i : i+1])
		if slices.Contains(c.hold, r.done) {
			r.held = append(r.held, &holding{Snapshot: r.table.Snapshot(), may: 1 << r.done})
		}
	}
	r.freePins(c.pins)
	p := interleave.Program{Check: func() error {
		if n := r.inUse(); c.crowd && n > manyPins+len(c.readers) {
			return fmt.Errorf("arriving readers pass %d pins", n)
		}
		return r.check()
	}}
	p.Threads = append(p.Threads, interleave.Thread{Name: "writer", Body: func() { r.write(s.during) }})
	for _, calls := range c.readers {
		p.Threads = append(p.Threads, interleave.Thread{Name: "reader", Body: func() {
			for _, call := range calls {
				call(r)
			}
		}})
	}
	return p
}

// inUse returns the number of pins in the list that are not free. A reader that passes more than
// manyPins has them counted; concurrent readers that do not see each other's pins each pass one
// fewer.
func (r *rig) inUse() (n int) {
	for p := r.table.pins.head.Load(); p != nil; p = p.next.Load() {
		if p.state.Load() != 0 {
			n++
		}
	}
	return n
}

func (r *rig) freePins(n int) {
	taken := make([]*Snapshot, n)
	for i := range taken {
		taken[i] = r.table.Snapshot()
	}
	for _, s := range taken {
		s.Close()
	}
}

// scripts are the writes of a configuration, and all the states that they produce.
type scripts struct {
	before, during []write
	states         []*state
}

func (c *config) scripts() *scripts {
	var number uint
	before := newScript(c.setup, newState(), &number)
	during := newScript(c.writes, before.states[len(before.states)-1], &number)
	return &scripts{before.writes, during.writes, append(before.states, during.states[1:]...)}
}

func (r *rig) write(writes []write) {
	for i := range writes {
		interleave.Point()
		r.begun++
		if err := writes[i].do(r.table); err != nil {
			panic(err)
		}
		r.done++
	}
}

// begin returns the oldest state that a call beginning now may be about.
func (r *rig) begin() (from int) {
	interleave.Point()
	return max(r.done, r.seen)
}

// judge finds a state for an answer, from the state from up to the one begun.
func (r *rig) judge(from int, f fits, what note) {
	*r.answers++
	for i := from; i <= r.begun; i++ {
		if f(r.states[i]) {
			r.seen = max(r.seen, i)
			return
		}
	}
	interleave.Fail(fmt.Errorf("%s fits none of the states %s", what(), r.list(from)))
}

// list describes the possible states.
func (r *rig) list(from int) string {
	var text strings.Builder
	for i := from; i <= r.begun; i++ {
		s := r.states[i]
		fmt.Fprintf(&text, "%d: %v, version %s; ", i, s.keys(s.all), s.rv)
	}
	return text.String()
}

// check checks the table after the threads have ended.
func (r *rig) check() error {
	last := r.states[len(r.states)-1]
	errs := []error{r.table.verify(), r.checkPins(), r.checkContent(last, r.table), r.checkLacking(last)}
	for _, h := range r.held {
		if !h.closed {
			errs = append(errs, r.checkContent(r.states[bits.TrailingZeros64(h.may)], h))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("in the end: %w", err)
	}
	for _, h := range r.held {
		h.Close()
	}
	if err := r.checkPins(); err != nil {
		return fmt.Errorf("after the last snapshot: %w", err)
	}
	return nil
}

// checkLacking checks that each index lacks the objects for which its function failed.
func (r *rig) checkLacking(s *state) error {
	for index := range r.table.Indexers() {
		if n := r.table.Lacking()[index]; n != s.lacking {
			return fmt.Errorf("the index %s lacks %d objects instead of %d", index, n, s.lacking)
		}
	}
	return nil
}

// checkContent checks the answer of each query against a state.
func (r *rig) checkContent(s *state, from queried) error {
	ask := []query{list(), listKeys(), length(), version(), values()}
	for _, key := range allKeys {
		ask = append(ask, get(key))
	}
	for _, value := range allValues {
		ask = append(ask, byIndex(value), indexKeys(value), count(value))
	}
	for _, q := range ask {
		if f, what := q(from); !f(s) {
			return fmt.Errorf("%s, and the state is %v, version %s", what(), s.keys(s.all), s.rv)
		}
	}
	return nil
}

// checkPins checks that released pins are discounted, and that only versions seen by open snapshots
// are kept.
func (r *rig) checkPins() error {
	t, open := r.table, map[uint64]int{}
	for _, h := range r.held {
		if !h.closed && h.pin != nil {
			open[h.view.gen]++
		}
	}
	l, n := &t.w.limbo, 0
	for _, pins := range open {
		n += pins
	}
	switch {
	case t.janitor.Load():
		return errors.New("the flag of the janitor is set")
	case t.Snapshots().Open != n:
		return fmt.Errorf("%d snapshots are open, %d are counted", n, t.Snapshots().Open)
	case (n == 0) != t.Snapshots().Oldest.IsZero():
		return fmt.Errorf("%d snapshots are open, the oldest of %v", n, t.Snapshots().Oldest)
	case t.pins.left.Load() != nil || t.pins.leaving != nil:
		return errors.New("pins that were left are counted")
	case len(l.queue) > 0:
		return errors.New("versions wait to be looked at")
	case n == 0 && (l.n > 0 || t.kept.Load() != 0 || len(l.holders) > 0):
		return fmt.Errorf("%d versions are kept, %d are counted, for %d generations, and there is no pin",
			l.n, t.kept.Load(), len(l.holders))
	}
	for p := t.pins.head.Load(); p != nil; p = p.next.Load() {
		if s := p.state.Load(); s != 0 && open[s>>pinShift] == 0 {
			return fmt.Errorf("a pin in the list is at %d, in state %b", s>>pinShift, s)
		}
	}
	return r.checkKept(open)
}

// checkKept looks at the pins, and checks that the kept versions are exactly those that an open
// snapshot sees.
func (r *rig) checkKept(open map[uint64]int) error {
	t := r.table
	for t.pins.look(true, t.w.limbo.settled); t.tidyLocked(); {
	}
	err := t.verify()
	t.w.limbo.count(func(k oldVersion) bool {
		from, upTo := k.interval()
		for gen := range open {
			if from <= gen && gen < upTo {
				return true
			}
		}
		err = errors.Join(err, fmt.Errorf("a version from %d to %d is kept without a reader", from, upTo))
		return true
	})
	return err
}

// interval returns the generations at which a version is visible: from, up to but not including
// upTo.
func (k *oldVersion) interval() (from, upTo uint64) {
	if k.post != nil {
		for o := k.post.leaf(k.i).old.Load(); o != nil; o = o.prev.Load() {
			if o.from == k.gen {
				return o.from, o.upTo
			}
		}
		return 0, 0
	}
	r := k.core.records.at(k.i)
	upTo = r.gen.Load()
	for p := r.undo.Load(); p != nil; p = p.prev.Load() {
		if p.gen == k.gen {
			return p.gen, upTo
		}
		upTo = p.gen
	}
	return 0, 0
}

// The tests in the schedule files run a table with all schedules: see internal/interleave. A
// configuration is a text of writes, which one writer makes in order, and the calls of one or two
// readers. The model of a table is the list of the states that the writes produce.

// item is an object. Its number is unique in a configuration.
type item struct {
	key    string
	number uint
	values []string
}

func (i *item) String() string {
	return fmt.Sprintf("%s=%s #%d", i.key, strings.Join(i.values, ""), i.number)
}

// set is a set of items, by their numbers.
type set uint64

const maxItems = 64

// state is the content of the table after a write.
type state struct {
	rv    string
	late  bool // the index "late" exists
	items map[string]*item
	// all is the set of all items, by has those with a value.
	all set
	by  map[string]set
	// lacking is the number of items that are in no index because the function failed.
	lacking int
}

// write is a write that produces one state from the previous one.
type write struct {
	kind   string
	ops    []Op
	before *state
	after  *state
	words  string
}

// script is a list of writes.
type script struct {
	writes []write
	states []*state
}

// newScript parses writes, which are separated by semicolons:
//
//	a=v b=vw -c      a batch: a gets a new object with the value v, b one with v and w, c is deleted
//	replace a=v      the same by Replace, which removes all others
//	install a=v      the same by a Draft
//	try a=v          a batch by TryApply, or by Apply if TryApply fails
//	stop a=v         a Replace whose sequence panics at its end, so that nothing changes
//	late             adds the index "late"
//
// The index function returns an error for an object with the value !, and panics for one with the
// value ?. Such an object is in no index.
func newScript(text string, from *state, number *uint) (s script) {
	s.states = []*state{from}
	for words := range strings.SplitSeq(text, ";") {
		if words = strings.TrimSpace(words); words != "" {
			w := newWrite(words, s.states[len(s.states)-1], number)
			s.writes, s.states = append(s.writes, w), append(s.states, w.after)
		}
	}
	return s
}

func newWrite(words string, before *state, number *uint) (w write) {
	w = write{kind: "apply", before: before, after: before.next(), words: words}
	fields := strings.Fields(words)
	switch fields[0] {
	case "replace", "install", "stop":
		clear(w.after.items)
		w.kind, fields = fields[0], fields[1:]
	case "try":
		w.kind, fields = fields[0], fields[1:]
	case "late":
		w.kind, fields = fields[0], nil
		w.after.late, w.after.rv = true, before.rv
	}
	for _, field := range fields {
		w.ops = append(w.ops, w.after.change(field, number))
	}
	if w.kind == "stop" {
		w.after.items, w.after.rv = maps.Clone(before.items), before.rv
	}
	w.after.sum()
	return w
}

func newState() *state { return &state{items: map[string]*item{}, by: map[string]set{}} }

// next returns a copy with the next resource version.
func (s *state) next() *state {
	n, _ := strconv.Atoi(s.rv)
	return &state{rv: strconv.Itoa(n + 1), late: s.late, items: maps.Clone(s.items)}
}

// change makes one change of a batch.
func (s *state) change(field string, number *uint) Op {
	if key, ok := strings.CutPrefix(field, "-"); ok {
		delete(s.items, key)
		return Op{Key: key, Delete: true}
	}
	key, values, _ := strings.Cut(field, "=")
	i := &item{key: key, number: *number, values: strings.Split(values, "")}
	if *number++; *number > maxItems {
		panic("too many items")
	}
	s.items[key] = i
	return Op{Key: key, Object: i}
}

func (s *state) sum() {
	s.all, s.by, s.lacking = 0, map[string]set{}, 0
	for _, i := range s.items {
		s.all |= 1 << i.number
		values, err := i.filed()
		if err != nil {
			s.lacking++
		}
		for _, value := range values {
			s.by[value] |= 1 << i.number
		}
	}
}

// keys returns the keys of the items in a set, sorted.
func (s *state) keys(of set) (keys []string) {
	for key, i := range s.items {
		if of&(1<<i.number) != 0 {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// itemsOf returns the set of objects. ok is false if an object occurs twice.
func itemsOf(objs []any) (of set, ok bool) {
	for _, obj := range objs {
		bit := set(1) << obj.(*item).number
		if of&bit != 0 {
			return of, false
		}
		of |= bit
	}
	return of, true
}

var errFails = errors.New("index function fails")

// filed returns the values under which an item is found.
func (i *item) filed() ([]string, error) {
	if v := i.values[0]; v == "!" || v == "?" {
		return nil, errFails
	}
	return i.values, nil
}

// valuesOfItem is the index function. It has a scheduling point before it fails.
func valuesOfItem(obj any) ([]string, error) {
	i := obj.(*item)
	values, err := i.filed()
	if err != nil {
		interleave.Point()
	}
	if i.values[0] == "?" {
		panic(errFails)
	}
	return values, err
}

// do makes the write. It checks the replaced objects that a batch returns.
func (w *write) do(t *Table) error {
	ops := slices.Clone(w.ops)
	stamp := func(string) string { return w.after.rv }
	switch w.kind {
	case "late":
		return t.AddIndexers(map[string]IndexFunc{"late": valuesOfItem})
	case "replace":
		t.Replace(func(yield func(string, any) bool) {
			for _, op := range ops {
				if !yield(op.Key, op.Object) {
					return
				}
			}
		}, len(ops), w.after.rv)
		return nil
	case "stop":
		return w.stop(t)
	case "install":
		return w.install(t)
	case "try":
		if t.TryApply(ops, stamp) {
			return w.checkOld(ops)
		}
	}
	t.Apply(ops, stamp)
	return w.checkOld(ops)
}

// stop begins a Replace and abandons it.
func (w *write) stop(t *Table) (err error) {
	defer func() {
		if p := recover(); p != any(errFails) {
			err = fmt.Errorf("%s: panic: %v", w.words, p)
		}
	}()
	t.Replace(func(yield func(string, any) bool) {
		for _, op := range w.ops {
			yield(op.Key, op.Object)
		}
		panic(errFails)
	}, len(w.ops), "never")
	return nil
}

func (w *write) checkOld(ops []Op) error {
	items := maps.Clone(w.before.items)
	for _, op := range ops {
		was, had := items[op.Key]
		if had != op.Had || had && op.Old != any(was) {
			return fmt.Errorf("%s replaced %v, %v; it says %v, %v", w.words, was, had, op.Old, op.Had)
		}
		if delete(items, op.Key); !op.Delete {
			items[op.Key] = op.Object.(*item)
		}
	}
	return nil
}

// install writes a state by a draft. There is no other writer, so the draft must find exactly the
// previous state in the table.
func (w *write) install(t *Table) error {
	d := t.Draft(len(w.ops))
	for ops := range slices.Chunk(w.ops, BlockLen) {
		var b Block
		for i, op := range ops {
			b.Objects[i], b.Text[i] = op.Object, []byte(op.Key)
		}
		b.N = len(ops)
		d.Look(&b)
		for i, found := range b.Former[:b.N] {
			if was := former(w.before, ops[i].Key); found != was {
				return fmt.Errorf("%s: a draft found %v, and there was %v", w.words, found, was)
			}
		}
		d.Put(&b)
	}
	if !d.Current() {
		return fmt.Errorf("%s: there is another writer", w.words)
	}
	t.Install(d, w.after.rv)
	return nil
}

// draftOf returns a call that makes a draft of objects under some keys and drops it. Look must find
// the objects of the state in which the draft began, except under keys changed since; after Renew
// the former objects must be those of one state.
func draftOf(keys ...string) call {
	return func(r *rig) {
		var b Block
		for i, key := range keys {
			b.Objects[i], b.Text[i] = &item{key: key, values: []string{"v"}}, []byte(key)
		}
		b.N = len(keys)
		from := r.begin()
		d := r.table.Draft(len(keys))
		h := new(holding)
		r.opened(h, from)
		d.Look(&b)
		for i, key := range keys {
			former := b.Former[i]
			r.narrowAt(h, func(state int) bool { return r.heldSince(key, former, state) },
				notef("a draft finds %v under %s", former, key))
		}
		r.renew(d, &b)
	}
}

// renew completes a draft, and checks Renew.
func (r *rig) renew(d *Draft, b *Block) {
	d.Put(b)
	d.Complete()
	from := r.begin()
	d.Renew()
	h := new(holding)
	r.opened(h, from)
	n := 0
	for _, i := range d.All {
		r.narrow(h, func(s *state) bool { return former(s, i.Key) == i.Former },
			notef("a draft finds %v under %s again", i.Former, i.Key))
		n++
	}
	if n != b.N {
		interleave.Fail(fmt.Errorf("a draft has %d objects of %d", n, b.N))
	}
	r.closedAt(h)
}

// former returns the object of a state under a key, or nil.
func former(s *state, key string) any {
	if i := s.items[key]; i != nil {
		return i
	}
	return nil
}

// heldSince reports whether a key had this object in a state. nil also fits if the key has changed
// since.
func (r *rig) heldSince(key string, obj any, at int) bool {
	was := former(r.states[at], key)
	for _, s := range r.states[at : r.begun+1] {
		if obj == nil && former(s, key) != was {
			return true
		}
	}
	return obj == was
}

// union returns a call of Index, for the objects with any of the values.
func union(values ...string) call {
	return func(r *rig) {
		from := r.begin()
		objs, err := r.table.Index("value", &item{values: values})
		got, once := itemsOf(objs)
		r.judge(from, func(s *state) bool {
			var want set
			for _, value := range values {
				want |= s.by[value]
			}
			return err == nil && once && got == want
		}, notef("Index of %v = %v, %v", values, objs, err))
	}
}

// spelled returns a call of Key. It must return the table's string of the key, if a state since the
// call began has the key.
func spelled(key string) call {
	return func(r *rig) {
		from := r.begin()
		got, ok := r.table.Key([]byte(key))
		r.judge(from, func(s *state) bool { return !ok || got == key && s.items[key] != nil },
			notef("Key(%s) = %s, %v", key, got, ok))
	}
}
