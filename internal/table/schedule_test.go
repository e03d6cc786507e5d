// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

import (
	"errors"
	"fmt"
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
	{name: "update", setup: "a=v", writes: "a=v; a=v", readers: [][]call{{ask(get("a"), get("a"))}}},
	{name: "update of a second candidate", setup: "a=v A=v", writes: "a=v A=v; A=v", readers: [][]call{{ask(get("A"), get("a"))}}},
	{name: "draft of an object", setup: "a=v", writes: "a=w a=v",
		readers: [][]call{{ask(get("a"))}, {ask(byIndex("v"), count("w"))}}, more: 1},
	{name: "first object", writes: "a=v", readers: [][]call{{ask(get("a"), list())}}},
	{name: "key that is gone and comes again", setup: "a=v", writes: "-a; a=v", readers: [][]call{{ask(get("a"), get("a"))}}},
	{name: "record and slot for another key", setup: "a=v b=w", writes: "-a; A=v",
		readers: [][]call{{ask(get("a"))}, {ask(get("A"))}}, more: 1},
	{name: "record and slot for another key, listed", setup: "a=v b=w", writes: "-a; A=v",
		readers: [][]call{{ask(listKeys(), list())}}},

	// Hash tables.
	{name: "keys that grow", setup: "a=v", writes: "b=v; c=v; d=v", readers: [][]call{{ask(get("a"), get("c"))}}},
	{name: "group that overflows", setup: "a=v A=v", writes: "B=v b=v; -a; c=v",
		readers: [][]call{{ask(get("A"))}, {ask(get("b"))}}},
	{name: "values that grow", setup: "a=v", writes: "b=V; c=w; d=x", readers: [][]call{{ask(byIndex("v"), count("w"))}}},

	// Postings.
	{name: "first leaf grows", setup: "a=v", writes: "b=v; c=v; d=v", readers: [][]call{{ask(byIndex("v"))}, {ask(count("v"))}}},
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
	{name: "third leaf", setup: "a=v b=v c=v d=v e=v f=v g=v h=v", writes: "A=v; -a", readers: [][]call{{ask(byIndex("v"))}}},
	{name: "leaf with many notes", setup: "a=v b=v c=v d=v", writes: "-a -b -c; a=v b=v",
		readers: [][]call{{ask(byIndex("v"))}, {snapshot(byIndex("v"), count("v"))}}},
	{name: "posting is dropped", setup: "a=v b=w", writes: "-a; c=v", readers: [][]call{{ask(byIndex("v"), values())}}},
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
	{name: "install", setup: "a=v b=v", writes: "install a=v b=w c=v; a=w", readers: [][]call{{snapshot(get("a"), byIndex("v"))}}},
	{name: "body that shrinks", setup: "a=v b=v c=v d=v e=v f=v g=v h=v A=v; -a -b -c -d -e -f", writes: "-g; A=w",
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
	{name: "index function fails in a replace", setup: "a=v b=v", hold: []int{1}, writes: "replace a=? c=v; a=v c=!",
		readers: [][]call{{ask(byIndex("v"), list())}, {askFirst(byIndex("v")), closeHeld(0)}}},
	{name: "index function fails in a draft", setup: "a=v b=!", writes: "install a=! b=v; a=v",
		readers: [][]call{{snapshot(byIndex("v"), get("a"))}}},
	{name: "index that is added fails", setup: "a=v b=? c=! d=w", writes: "late; b=v",
		readers: [][]call{{ask(byIndexOf("late", "v"), byIndexOf("late", "v"))}, {snapshot(byIndexOf("late", "v"), byIndex("v"))}}},
	{name: "replace that is given up", setup: "a=v b=w", writes: "stop b=v c=v; -a",
		readers: [][]call{{snapshot(list(), byIndex("v"), version())}}},
	{name: "replace that is given up, with snapshots", setup: "a=v; a=w", hold: []int{1}, writes: "stop a=! c=v d=v; replace a=w",
		readers: [][]call{{askFirst(get("a")), closeHeld(0)}, {ask(list(), byIndex("w"))}}},

	// Pins.
	{name: "snapshot comes and goes", setup: "a=v", writes: "a=w; a=v",
		readers: [][]call{{snapshot(get("a"), byIndex("v"), version())}}},
	{name: "two snapshots", setup: "a=v", writes: "a=w; -a", readers: [][]call{{snapshot(get("a"))}, {snapshot(byIndex("v"))}}},
	{name: "snapshot stays open", setup: "a=v; a=w", writes: "a=v; -a", hold: []int{1},
		readers: [][]call{{keep(get("a")), closeHeld(0)}}},
	{name: "two snapshots, one stays open", setup: "a=v", writes: "a=w; a=v",
		readers: [][]call{{keep(get("a"))}, {snapshot(get("a"))}}},
	{name: "pin that arrives while the janitor tidies up", setup: "a=v", hold: []int{1}, writes: "a=w",
		readers: [][]call{{snapshot(get("a"))}, {closeHeld(0)}}},
	{name: "oldest snapshot", setup: "a=v", writes: "a=w; a=v", readers: [][]call{{oldest, oldest}}},
	{name: "oldest snapshot behind a call", setup: "a=v", writes: "a=w", hold: []int{1},
		readers: [][]call{{ask(list())}, {oldest}}},
	{name: "held snapshots are closed", setup: "a=v; a=w; b=v", hold: []int{1, 2, 3}, writes: "a=v; -b",
		readers: [][]call{{closeHeld(0), closeHeld(2)}, {askFirst(get("a")), closeHeld(1)}}},
	{name: "held snapshots are closed, newest first", setup: "a=v; a=w; a=v", hold: []int{1, 2, 3}, writes: "-a",
		readers: [][]call{{closeHeld(2), closeHeld(0)}, {closeHeld(1)}}},
	{name: "held snapshots are closed at once", setup: "a=v; a=w; b=v", hold: []int{1, 2},
		readers: [][]call{{closeHeld(0)}, {closeHeld(1)}}, more: 1},
	{name: "snapshots are closed while the janitor tidies up", setup: "a=v; a=v; a=v; a=v; a=v",
		hold:    []int{1, 2, 3, 4},
		readers: [][]call{{closeHeld(0), closeHeld(1)}, {closeHeld(2), closeHeld(3)}}},
	{name: "snapshots of one state", setup: "a=v b=v; a=w -b; a=x", hold: []int{1, 1, 2, 2}, writes: "a=v",
		readers: [][]call{{closeHeld(3), closeHeld(1)}, {closeHeld(2), closeHeld(0)}}},
	{name: "versions are inherited", setup: "a=v b=v; c=v; -b", hold: []int{1, 2}, writes: "a=w c=w",
		readers: [][]call{{askFirst(list()), closeHeld(1)}, {closeHeld(0)}}},
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
	{name: "ring of numbers", setup: "a=v", writes: "b=v; c=v; d=v; e=v", readers: [][]call{{ask(length(), version())}}},
	{name: "ring of versions", setup: "a=v", writes: "b=v; -b; b=v; -b",
		readers: [][]call{{ask(version()), snapshot(length(), version())}}},
	{name: "version of a snapshot", setup: "a=v", writes: "b=v; -b",
		readers: [][]call{{snapshot(version(), length(), list())}, {ask(version(), get("b"))}}},

	// Drafts and other calls.
	{name: "draft beside a writer", setup: "a=v b=v", writes: "a=w; -b", readers: [][]call{{draftOf("a", "b")}}},
	{name: "other calls", setup: "a=v b=w", writes: "-a; A=v; b=v",
		readers: [][]call{{ask(union("v", "w")), spelled("a"), spelled("A")}}},
	{name: "value goes", setup: "a=v b=w", writes: "-a", readers: [][]call{{ask(values())}}},

	// Other writers.
	{name: "janitor is in the way", setup: "a=v; a=v", hold: []int{1}, writes: "a=v; -a",
		readers: [][]call{{closeHeld(0)}, {ask(get("a"))}}},
}

// everything is all queries of the keys and values of the configurations.
var everything = everyQuery([]string{"a", "A", "b", "B", "c", "d", "e", "f", "g", "h"}, []string{"value"}, []string{"v", "V", "w", "x"})

func byIndex(value string) query   { return byIndexOf("value", value) }
func indexKeys(value string) query { return indexKeysOf("value", value) }
func count(value string) query     { return countOf("value", value) }
func values() query                { return valuesOf("value") }
func union(values ...string) query {
	return unionOf("value", &item{values: map[string][]string{"value": values}}, values...)
}

// ask returns a call that queries the table, one query after the other.
func ask(queries ...query) call {
	return func(r *rig) {
		for _, q := range queries {
			from := r.begin()
			f, text := q(r.table)
			r.judge(from, f, text)
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
		f, text := q(h)
		r.narrow(h, f, text)
	}
}

// narrow removes the states that an answer does not fit.
func (r *rig) narrow(h *holding, f fits, text note) {
	r.narrowAt(h, func(state int) bool { return f(r.states[state]) }, text)
}

// narrowAt is narrow with a function of the number of a state.
func (r *rig) narrowAt(h *holding, fits func(state int) bool, text note) {
	*r.answers++
	for i := range r.states {
		if h.may&(1<<i) != 0 && !fits(i) {
			h.may &^= 1 << i
		}
	}
	if h.may == 0 {
		interleave.Fail(fmt.Errorf("a snapshot: %s: that is no state, or another one than before", text()))
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
	var all tally
	index := map[bool]string{false: "value"}[value == ""]
	seq, err := sequence(r.table, index, value)
	if err != nil {
		interleave.Fail(err)
	}
	for key, obj := range seq {
		if all.n == 0 {
			r.opened(h, from)
		}
		i := obj.(*item)
		all.add(i.weights, 1)
		r.narrow(h, func(c contents) bool { return i.key == key && c.object(key) == obj }, notef("%v in a loop", i))
		switch e {
		case byBreak:
			return
		case byPanic:
			panic(byPanic)
		case byExit:
			runtime.Goexit()
		}
	}
	if all.n == 0 {
		r.opened(h, from)
	}
	r.narrow(h, func(c contents) bool { return all == c.members(index, value) }, notef("%d objects in a loop", all.n))
	r.closedAt(h)
}

// askFirst returns a call that queries the first held snapshot. If it is closed meanwhile, it may
// be empty.
func askFirst(queries ...query) call {
	return func(r *rig) {
		for _, q := range queries {
			interleave.Point()
			h := r.held[0]
			if f, text := q(h); !h.closed || !f(newState("value")) {
				r.narrow(h, f, text)
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
		r.askHeld(h, append(queries, version()))
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
	// setup is written first. The states with the numbers in hold are held by snapshots, one for each
	// occurrence of the number. The empty table is state 0.
	setup string
	hold  []int
	// writes are the writer's writes.
	writes string
	// readers has the calls of each reader, in order.
	readers [][]call
	// more is the number of preemptions in addition to TestSchedules'.
	more int
}

// call is one call of a reader, or several that belong together.
type call func(r *rig)

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
	t := New(map[string]IndexFunc{"value": pointIndex("value")}, Options{})
	t.w.Bar("reader") // reads do not take the writers' lock
	t.pins.Brief(briefly)
	r := &rig{table: t, states: s.states, answers: answers}
	for i := range s.before {
		r.write(s.before[i : i+1])
		for range multiple(c.hold, r.done) {
			r.held = append(r.held, &holding{Snapshot: r.table.Snapshot(), may: 1 << r.done})
		}
	}
	p := interleave.Program{Check: r.check}
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

// briefly is the number of points that a reader or the writer may pass while it holds the mutex of
// the pins: take passes eight and Unlock.
const briefly = 9

// multiple returns how often a state is in a list.
func multiple(states []int, state int) (n int) {
	for _, s := range states {
		if s == state {
			n++
		}
	}
	return n
}

// scripts are the writes of a configuration, and all the states that they produce.
type scripts struct {
	before, during []write
	states         []*state
	items          int // number of items so far
}

func (c *config) scripts() *scripts {
	s := &scripts{states: []*state{newState("value").sum()}}
	s.before = s.parse(c.setup)
	s.during = s.parse(c.writes)
	return s
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
func (r *rig) judge(from int, f fits, text note) {
	*r.answers++
	for i := from; i <= r.begun; i++ {
		if f(r.states[i]) {
			r.seen = max(r.seen, i)
			return
		}
	}
	interleave.Fail(fmt.Errorf("%s fits none of the states %v", text(), r.states[from:r.begun+1]))
}

// check checks the table after the threads have ended.
func (r *rig) check() error {
	last := r.states[len(r.states)-1]
	errs := []error{r.table.verify(), r.checkPins(), differs(last, r.table, everything)}
	if n := r.table.Lacking(); !maps.Equal(n, last.lacking) {
		errs = append(errs, fmt.Errorf("the indexes lack %v objects instead of %v", n, last.lacking))
	}
	for _, h := range r.held {
		if !h.closed {
			errs = append(errs, differs(r.states[bits.TrailingZeros64(h.may)], h, everything))
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

// checkPins checks that released pins are gone, and that the kept versions are exactly those that an
// open snapshot sees: verify has found each of them under a pin that needs it.
func (r *rig) checkPins() error {
	t, n := r.table, 0
	for _, h := range r.held {
		if !h.closed && h.of.pin != nil {
			n++
		}
	}
	open := 0
	for p := t.pins.oldest; p != nil; p = p.newer {
		open++
	}
	stats := t.Snapshots()
	switch {
	case t.pins.janitor:
		return errors.New("the flag of the janitor is set")
	case t.w.left != nil || t.pins.left != nil:
		return errors.New("released pins are not examined")
	case open != n || stats.Open != n || n == 0 != stats.Oldest.IsZero():
		return fmt.Errorf("%d snapshots are open, %d of %d pins, the oldest of %v", n, stats.Open, open, stats.Oldest)
	case n == 0 && stats.Kept != 0:
		return fmt.Errorf("%d versions are kept, and there is no pin", stats.Kept)
	}
	return t.verify()
}

// The tests in the schedule files run a table with all schedules: see internal/interleave. A
// configuration is a text of writes, which one writer makes in order, and the calls of one or two
// readers. The model of a table is the list of the states that the writes produce.

// write is a write that produces one state from the previous one.
type write struct {
	kind   string
	ops    []Op
	before *state
	after  *state
	words  string
}

// parse parses writes, which are separated by semicolons:
//
//	a=v b=vw -c      a batch: a gets a new object with the value v, b one with v and w, c is deleted
//	replace a=v      the same by Replace, which removes all others
//	install a=v      the same by a Draft
//	stop a=v         a Replace whose sequence panics at its end, so that nothing changes
//	late             adds the index "late"
//
// The index function returns an error for an object with the value !, and panics for one with the
// value ?. Such an object is in no index.
func (s *scripts) parse(text string) (writes []write) {
	for words := range strings.SplitSeq(text, ";") {
		if words = strings.TrimSpace(words); words != "" {
			w := s.write(words, s.states[len(s.states)-1])
			writes, s.states = append(writes, w), append(s.states, w.after)
		}
	}
	return writes
}

func (s *scripts) write(words string, before *state) (w write) {
	w = write{kind: "apply", before: before, after: before.next(), words: words}
	fields := strings.Fields(words)
	switch fields[0] {
	case "replace", "install", "stop":
		clear(w.after.items)
		w.kind, fields = fields[0], fields[1:]
	case "late":
		w.kind, fields = fields[0], nil
		w.after.indexes, w.after.rv = append(w.after.indexes, "late"), before.rv
	}
	for _, field := range fields {
		w.ops = append(w.ops, s.change(w.after, field))
	}
	if w.kind == "stop" {
		w.after.items, w.after.rv = maps.Clone(before.items), before.rv
	}
	w.after.sum()
	return w
}

// next returns a copy with the next resource version.
func (s *state) next() *state {
	n, _ := strconv.Atoi(s.rv)
	next := s.clone()
	next.rv = strconv.Itoa(n + 1)
	return next
}

// change makes one change of a batch.
func (s *scripts) change(to *state, field string) Op {
	if key, ok := strings.CutPrefix(field, "-"); ok {
		delete(to.items, key)
		return Op{Key: key, Delete: true}
	}
	key, text, _ := strings.Cut(field, "=")
	s.items++
	i := newItem(key, s.items)
	for _, index := range []string{"value", "late"} {
		i.values[index] = strings.Split(text, "")
		i.broken[index] = map[string]string{"!": "error", "?": "panic"}[text]
	}
	to.items[key] = i
	return Op{Key: key, Object: i}
}

// pointIndex is itemIndex with a scheduling point before the function fails.
func pointIndex(name string) IndexFunc {
	return func(obj any) ([]string, error) {
		if obj.(*item).broken[name] != "" {
			interleave.Point()
		}
		return itemIndex(name)(obj)
	}
}

// do makes the write. It checks the replaced objects that a batch returns.
func (w *write) do(t *Table) error {
	ops := slices.Clone(w.ops)
	stamp := func(string) string { return w.after.rv }
	switch w.kind {
	case "late":
		return t.AddIndexers(map[string]IndexFunc{"late": pointIndex("late")})
	case "replace":
		t.Replace(pairsOf(ops), len(ops), w.after.rv)
		return nil
	case "stop":
		return w.stop(t)
	case "install":
		return w.install(t)
	}
	t.Apply(ops, stamp)
	return checkOld(maps.Clone(w.before.items), ops)
}

// stop begins a Replace and abandons it.
func (w *write) stop(t *Table) (err error) {
	defer func() {
		if p := recover(); p != any(errBroken) {
			err = fmt.Errorf("%s: panic: %v", w.words, p)
		}
	}()
	t.Replace(func(yield func(string, any) bool) {
		pairsOf(w.ops)(yield)
		panic(errBroken)
	}, len(w.ops), "never")
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
			if was := w.before.object(ops[i].Key); found != was {
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
			b.Objects[i], b.Text[i] = &item{key: key, values: map[string][]string{"value": {"v"}}}, []byte(key)
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
		r.narrow(h, func(c contents) bool { return c.object(i.Key) == i.Former },
			notef("a draft finds %v under %s again", i.Former, i.Key))
		n++
	}
	if n != b.N {
		interleave.Fail(fmt.Errorf("a draft has %d objects of %d", n, b.N))
	}
	r.closedAt(h)
}

// heldSince reports whether a key had this object in a state. nil also fits if the key has changed
// since.
func (r *rig) heldSince(key string, obj any, at int) bool {
	was := r.states[at].object(key)
	for _, s := range r.states[at : r.begun+1] {
		if obj == nil && s.object(key) != was {
			return true
		}
	}
	return obj == was
}

// spelled returns a call of Key. It must return the table's string of the key, if a state since the
// call began has the key.
func spelled(key string) call {
	return func(r *rig) {
		from := r.begin()
		got, ok := r.table.Key([]byte(key))
		r.judge(from, func(c contents) bool { return !ok || got == key && c.object(key) != nil },
			notef("Key(%s) = %s, %v", key, got, ok))
	}
}
