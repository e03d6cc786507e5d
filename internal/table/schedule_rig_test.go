// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package table

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/kinformer/cache/internal/interleave"
)

// config is what is run by all schedules.
type config struct {
	name string
	// setup is written before. The states whose numbers hold has are held by snapshots; the empty
	// table is state 0.
	setup string
	hold  []int
	// pins is how many were taken after that, and are free.
	pins int
	// writes are those of the writer.
	writes string
	// readers call one after the other what they have.
	readers [][]call
	// crowd: in the end, too many pins are not in the list.
	crowd bool
	// more preemptions than others with as many readers; see TestSchedules.
	more int
}

// call is one call of a reader, or what belongs together.
type call func(r *rig)

// fits tells whether an answer is that of a state.
type fits = func(s *state) bool

// rig is a table in one schedule, with the log of its states.
type rig struct {
	table  *Table
	states []*state
	// begun and done are the last states that the writer has begun and published, and seen is the
	// newest that a call that has ended was surely about, or one after it.
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

// start makes the table of a configuration, and the threads.
func (c *config) start(s *scripts, answers *int) interleave.Program {
	t := New(map[string]IndexFunc{"value": valuesOfItem}, Options{})
	t.w.Bar("reader") // no read takes the writers' lock
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
			return fmt.Errorf("those who arrive pass by %d pins", n)
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

// inUse is how many pins are in the list and not free. Who arrives and passes by more than manyPins
// has them counted; readers who do not see each other yet pass by one less each.
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

// scripts are those of a configuration, and all the states that they make.
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

// begin returns the oldest state that a call may be about that begins now.
func (r *rig) begin() (from int) {
	interleave.Point()
	return max(r.done, r.seen)
}

// judge finds a state for an answer, of those from one on up to that which is begun.
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

// list says what the states are that are possible.
func (r *rig) list(from int) string {
	var text strings.Builder
	for i := from; i <= r.begun; i++ {
		s := r.states[i]
		fmt.Fprintf(&text, "%d: %v, version %s; ", i, s.keys(s.all), s.rv)
	}
	return text.String()
}

// check is what holds in the end.
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

// checkLacking: each index lacks the objects for which its function failed.
func (r *rig) checkLacking(s *state) error {
	for index := range r.table.Indexers() {
		if n := r.table.Lacking()[index]; n != s.lacking {
			return fmt.Errorf("the index %s lacks %d objects instead of %d", index, n, s.lacking)
		}
	}
	return nil
}

// checkContent: each query finds what a state has.
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

// checkPins: who has left has tidied up, and of what was superseded there is what open snapshots
// see, and nothing else.
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
		return errors.New("the janitor is said to be at work")
	case t.Snapshots().Open != n:
		return fmt.Errorf("%d snapshots are open, %d are counted", n, t.Snapshots().Open)
	case (n == 0) != t.Snapshots().Oldest.IsZero():
		return fmt.Errorf("%d snapshots are open, the oldest of %v", n, t.Snapshots().Oldest)
	case t.pins.left.Load() != nil || t.pins.leaving != nil:
		return errors.New("pins that were left are counted")
	case len(l.queue) > 0:
		return errors.New("versions wait to be looked at")
	case n == 0 && (l.n > 0 || t.kept.Load() != 0 || len(l.holders) > 0):
		return fmt.Errorf("%d versions are kept, %d are said to be, for %d generations, and nobody has a pin",
			l.n, t.kept.Load(), len(l.holders))
	}
	for p := t.pins.head.Load(); p != nil; p = p.next.Load() {
		if s := p.state.Load(); s != 0 && open[s>>pinShift] == 0 {
			return fmt.Errorf("a pin in the list is at %d, in state %b", s>>pinShift, s)
		}
	}
	return r.checkKept(open)
}

// checkKept: after a look at the pins there is each version that somebody sees, and no other one.
func (r *rig) checkKept(open map[uint64]int) error {
	t := r.table
	for t.pins.look(true, t.w.limbo.settled); t.tidyLocked(); {
	}
	err := t.verify()
	t.w.limbo.count(func(k kept) bool {
		from, upTo := k.interval()
		for gen := range open {
			if from <= gen && gen < upTo {
				return true
			}
		}
		err = errors.Join(err, fmt.Errorf("a version from %d to %d is kept for nobody", from, upTo))
		return true
	})
	return err
}

// interval returns the generations at which a version is seen, up to one that has another.
func (k *kept) interval() (from, upTo uint64) {
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
