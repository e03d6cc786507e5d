// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package share

import (
	"errors"
	"fmt"
	"reflect"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/atomic"
	"github.com/kinformer/cache/internal/interleave/schedules"
)

// The tests in this file run a table of parts through all schedules: see internal/interleave. A
// table has two or four slots at first, and room for a few parts.

// tableRig is the table of one schedule.
type tableRig struct {
	table   *Parts
	answers *int
	entered map[*cell]bool // the values that may be in the table
	clock   int
}

// cell is the value of a part, and may contain another one.
type cell struct {
	raw   string
	inner *cell
	gone  int // the clock when the table was emptied because of a write to this cell; 0: never written to
}

// cells is the site of all parts.
var cells = &Site{Type: reflect.TypeFor[any]()}

// goneBy reports whether the cell, or a cell in it, must not be in the table at the given time.
func (c *cell) goneBy(at int) bool {
	return c != nil && (c.gone != 0 && c.gone <= at || c.inner.goneBy(at))
}

// cellSize is the size of each part, in bytes.
const cellSize = partBytes + 16

func newTableRig(slots, parts int, answers *int) *tableRig {
	r := &tableRig{table: &Parts{mask: ^uint64(0)}, answers: answers, entered: map[*cell]bool{}}
	r.table.begin(0, bytesPerPart)
	r.table.each = largestShare * cellSize / int64(slots)
	r.table.resize(largestShare * cellSize)
	if parts > 0 { // pretend that the table is full except for these parts
		r.table.bytes.Add(largestShare*cellSize - int64(slots)*slotBytes - int64(parts)*cellSize)
	}
	return r
}

// find returns the value of the part with these bytes, or nil. It fails if the table returns
// another value.
func (r *tableRig) find(raw string) (hash uint64, found *cell) {
	hash, e := r.table.find(cells, []byte(raw))
	if *r.answers++; e == nil {
		return hash, nil
	}
	found = e.value.boxed.(*cell)
	if found.raw != raw || !r.entered[found] {
		interleave.Fail(fmt.Errorf("asked for %q and found %q", raw, found.raw))
	}
	return hash, found
}

// ask looks up a part as a decoder that begins now does. After a second miss it adds the part. If
// inner is not empty, the part contains the part of these bytes.
func (r *tableRig) ask(raw, inner string) {
	began, emptied := r.clock, r.table.emptied.Load()
	if r.part(raw, inner, emptied).goneBy(began) {
		interleave.Fail(errors.New("begun after the table was emptied, it found what was written"))
	}
}

// part is ask for a part or an inner part.
func (r *tableRig) part(raw, inner string, emptied int64) *cell {
	hash, found := r.find(raw)
	if found != nil {
		return found
	}
	made := &cell{raw: raw}
	if inner != "" {
		made.inner = r.part(inner, "", emptied)
	}
	if r.table.again(hash) {
		r.entered[made] = true
		r.table.add(Part{of: cells, hash: hash, raw: []byte(raw), value: Value{boxed: made}}, emptied)
	}
	return made
}

// asks returns a thread that looks up parts in order.
func (r *tableRig) asks(all ...string) func() {
	return func() {
		for _, raw := range all {
			r.ask(raw, "")
		}
	}
}

// outer returns a thread that looks up a part with an inner part, the given number of times.
func (r *tableRig) outer(times int) func() {
	return func() {
		for range times {
			r.ask("outer", "inner")
		}
	}
}

// write empties the table as if a program had modified the inner part.
func (r *tableRig) write() {
	if _, found := r.find("inner"); found != nil {
		r.table.empty()
		if r.clock++; found.gone == 0 {
			found.gone = r.clock
		}
	}
}

// resizes returns a thread that sets the limit of the table.
func (r *tableRig) resizes(limit int64) func() { return func() { r.table.resize(limit) } }

// look checks three times that the table is within its limit.
func (r *tableRig) look() {
	for range 3 {
		bytes := r.table.bytes.Load()
		if most := r.table.limit.Load(); bytes > most {
			interleave.Fail(fmt.Errorf("%d bytes of %d", bytes, most))
		}
		*r.answers++
	}
}

// check verifies the table, whose byte count exceeds its contents by surplus.
func (r *tableRig) check(surplus int64) error {
	entries, err := r.table.recount(surplus)
	for _, e := range entries {
		if e.value.boxed.(*cell).goneBy(r.clock) {
			return fmt.Errorf("%q was written to", e.raw)
		}
	}
	return err
}

// tableConfigs are the programs of three threads, with the number of slots of the table and of the
// parts that it has room for; 0 parts: all.
var tableConfigs = []struct {
	name         string
	slots, parts int
	start        func(*tableRig) []func()
}{
	{"the same part, of several", 2, 0, func(r *tableRig) []func() {
		return []func(){r.asks("a", "a", "a"), r.asks("a", "a"), r.asks("a", "b")}
	}},
	{"more parts than slots", 2, 0, func(r *tableRig) []func() {
		return []func(){r.asks("a", "a", "b", "b"), r.asks("c", "c", "a"), r.look}
	}},
	{"slots that become more", 4, 0, func(r *tableRig) []func() {
		r.asks("a", "a", "b", "b", "c", "c", "d")()
		return []func(){r.asks("d", "e"), r.asks("a", "b", "e"), r.resizes(2 * largestShare * cellSize)}
	}},
	{"slots that become fewer", 4, 0, func(r *tableRig) []func() {
		r.asks("a", "a", "b", "b", "c", "c", "d")()
		return []func(){r.asks("d", "a"), r.asks("b", "b", "d"), r.resizes(largestShare * cellSize / 2)}
	}},
	{"fewer, then more", 4, 0, func(r *tableRig) []func() {
		r.asks("inner", "inner", "a", "a", "b", "b")()
		r.outer(1)()
		return []func(){r.write, r.outer(2), func() {
			r.resizes(largestShare * cellSize / 2)()
			r.resizes(largestShare * cellSize)()
		}}
	}},
	{"two who resize", 4, 0, func(r *tableRig) []func() {
		r.asks("a", "a", "b", "b", "c", "c")()
		return []func(){r.asks("a", "d", "d", "b"), r.resizes(2 * largestShare * cellSize), func() {
			r.resizes(4 * largestShare * cellSize)()
			r.resizes(largestShare * cellSize)()
		}}
	}},
	{"less room than parts", 4, 2, func(r *tableRig) []func() {
		r.asks("a", "a", "b", "b", "c")()
		return []func(){r.asks("c", "a"), r.asks("b", "c"), r.look}
	}},
	{"a part that was written to", 4, 0, func(r *tableRig) []func() {
		r.asks("inner", "inner")()
		return []func(){r.write, r.outer(3), r.outer(2)}
	}},
	{"one that is in another", 4, 0, func(r *tableRig) []func() {
		r.asks("inner", "inner")()
		r.outer(2)()
		return []func(){r.write, r.outer(2), r.outer(1)}
	}},
	{"one beside slots that become more", 4, 0, func(r *tableRig) []func() {
		r.asks("inner", "inner", "a", "a", "b", "b", "c")()
		r.outer(1)()
		return []func(){r.write, r.outer(2), r.resizes(2 * largestShare * cellSize)}
	}},
	{"two that are found at a time", 4, 0, func(r *tableRig) []func() {
		r.asks("inner", "inner")()
		return []func(){r.write, r.write, r.outer(3)}
	}},
}

// TestSchedules runs all configurations.
func TestSchedules(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, ok := any(&new(cacheSlot[Part]).seen).(*atomic.Uint32); !ok {
		t.Fatal("the package has no points: see make interleave")
	}
	var cases []schedules.Case
	for _, c := range tableConfigs {
		start := func(answers *int) interleave.Program {
			r := newTableRig(c.slots, c.parts, answers)
			surplus := r.table.bytes.Load() - int64(c.slots)*slotBytes
			p := interleave.Program{Check: func() error { return r.check(surplus) }}
			for i, body := range c.start(r) {
				p.Threads = append(p.Threads, interleave.Thread{Name: []string{"first", "second", "third"}[i], Body: body})
			}
			return p
		}
		cases = append(cases, schedules.Case{Name: c.name, Deep: 3, Start: start})
	}
	schedules.Run(t, cases)
}
