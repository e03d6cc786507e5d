// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package eventlog

import (
	"errors"
	"fmt"
	"testing"

	"go.uber.org/goleak"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/atomic"
	"github.com/kinformer/cache/internal/interleave/schedules"
	"github.com/kinformer/cache/internal/interleave/sync"
)

// The tests below run logs with all schedules: see internal/interleave. With the build tag a
// segment has two entries.

// rig is a set of logs in one schedule. The entries of each log are the numbers from 1.
type rig struct {
	spare sync.Pool
	// allocated is the number of allocated segments, abandoned that of cursors that may keep some
	// for ever.
	allocated, abandoned int
	logs                 []*log
	answers              *int
}

// log is a log with the lock of its writers.
type log struct {
	Log[int]
	mu interleave.Mutex
	// begun and done are the last entries that the writer has begun and published.
	begun, done int
}

// cursor is a cursor with the lock of its readers and of the goroutines that move it.
type cursor struct {
	Cursor[int]
	*rig
	log *log
	mu  interleave.Mutex
	at  int // the entry read last
}

func newRig(logs int, answers *int) *rig {
	r := &rig{answers: answers}
	r.spare.New = func() any {
		r.allocated++
		return &segment[int]{slots: new([SegmentSize]int), spare: &r.spare}
	}
	for range logs {
		l := new(log)
		l.Spare = &r.spare
		r.logs = append(r.logs, l)
	}
	return r
}

func (r *rig) cursor(i int) *cursor { return &cursor{rig: r, log: r.logs[i]} }

// entered returns a cursor in log i.
func (r *rig) entered(i int) *cursor {
	c := r.cursor(i)
	c.enter()
	return c
}

// write returns a function that appends batches of these sizes.
func (l *log) write(batches ...int) func() {
	return func() {
		for _, n := range batches {
			l.mu.Lock()
			entries := make([]int, n)
			for i := range entries {
				l.begun++
				entries[i] = l.begun
			}
			l.Append(entries)
			l.done = l.begun
			l.mu.Unlock()
		}
	}
}

func (c *cursor) enter() {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Enter(&c.log.Log)
	c.at = c.log.done
}

// leave removes the cursor from its log, unless that was done. With abandon its reader may be
// reading.
func (c *cursor) leave(abandon bool) {
	c.log.mu.Lock()
	defer c.log.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case !c.InLog():
	case abandon:
		c.Abandon(&c.log.Log)
		c.abandoned++
	default:
		c.Leave(&c.log.Log)
	}
}

// read reads up to rounds[i] entries in each round, and checks them twice beside other threads:
// they must be the next entries, and must not change.
func (c *cursor) read(rounds ...int) {
	for _, most := range rounds {
		c.mu.Lock()
		in, done := c.InLog(), c.log.done
		ahead := c.Peek()
		if in && len(ahead) == 0 && c.at < done {
			interleave.Fail(fmt.Errorf("nothing after %d, and there are %d", c.at, done))
		}
		ahead = ahead[:min(most, len(ahead))]
		c.Skip(len(ahead))
		from := c.at
		c.at += len(ahead)
		c.mu.Unlock()
		for range 2 {
			c.look(ahead, from)
		}
	}
}

func (c *cursor) look(entries []int, from int) {
	for i := range entries {
		interleave.Point()
		*c.answers++
		if got, want := entries[i], from+i+1; got != want || got > c.log.begun {
			interleave.Fail(fmt.Errorf("%d for %d of %d", got, want, c.log.begun))
		}
	}
}

// check checks that logs without cursors are empty, and that each allocated segment is spare, once
// and empty.
func (r *rig) check() error {
	for _, l := range r.logs {
		if l.Cursors() != 0 || l.tail != nil {
			return errors.New("a log is not empty")
		}
	}
	r.spare.New = func() any { return nil }
	spare := map[*segment[int]]bool{}
	for s, ok := r.spare.Get().(*segment[int]); ok; s, ok = r.spare.Get().(*segment[int]) {
		used := s.users.Load() != 0 || s.filled.Load() != 0 || s.next.Load() != nil
		if spare[s] || used || *s.slots != [SegmentSize]int{} {
			return fmt.Errorf("a segment is spare and not empty: %v", *s.slots)
		}
		spare[s] = true
	}
	if r.abandoned == 0 && len(spare) != r.allocated {
		return fmt.Errorf("%d segments were allocated, %d are spare", r.allocated, len(spare))
	}
	return nil
}

// config is a configuration. start returns the bodies of its threads.
type config struct {
	name  string
	logs  int
	start func(r *rig) []func()
}

var configs = []config{
	{name: "a reader", start: func(r *rig) []func() {
		c := r.entered(0)
		return []func(){r.logs[0].write(1, 2, 2), func() { c.read(1, 2, 2, 2); c.leave(false) }}
	}},
	{name: "two readers", start: func(r *rig) []func() {
		a, b := r.entered(0), r.entered(0)
		return []func(){r.logs[0].write(3, 2),
			func() { a.read(2, 2, 2); a.leave(false) }, func() { b.read(2, 1, 2); b.leave(false) }}
	}},
	{name: "a reader that stays behind", start: func(r *rig) []func() {
		a, b := r.entered(0), r.entered(0)
		r.logs[0].write(5)()
		return []func(){r.logs[0].write(2), func() { a.read(2, 2, 2, 2); a.leave(false) }, func() { b.leave(false) }}
	}},
	{name: "a reader that comes late", start: func(r *rig) []func() {
		a, b := r.entered(0), r.cursor(0)
		return []func(){r.logs[0].write(1, 1, 2),
			func() { a.read(2, 2); a.leave(false) }, func() { b.enter(); b.read(2, 2); b.leave(false) }}
	}},
	{name: "readers that come and go", start: func(r *rig) []func() {
		come := func() {
			c := r.cursor(0)
			for range 2 {
				c.enter()
				c.read(2)
				c.leave(false)
			}
		}
		return []func(){r.logs[0].write(2, 3), come, come}
	}},
	{name: "a cursor that is abandoned while it is read", start: func(r *rig) []func() {
		a := r.entered(0)
		r.logs[0].write(1)()
		return []func(){r.logs[0].write(2, 2), func() { a.read(2, 2, 2) }, func() { a.leave(true) }}
	}},
	{name: "abandoned beside another reader", start: func(r *rig) []func() {
		a, b := r.entered(0), r.entered(0)
		r.logs[0].write(2)()
		return []func(){func() { r.logs[0].write(2)(); a.leave(true) },
			func() { a.read(2, 2) }, func() { b.read(2, 2); b.leave(false) }}
	}},
	{name: "two logs with the same spare segments", logs: 2, start: func(r *rig) []func() {
		a, b := r.entered(0), r.entered(1)
		r.logs[0].write(3)()
		return []func(){r.logs[1].write(3, 2),
			func() { a.read(2, 2); a.leave(false) }, func() { b.read(2, 2); b.leave(false) }}
	}},
}

// TestSchedules runs all configurations.
func TestSchedules(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, ok := any(&new(segment[int]).users).(*atomic.Int32); !ok {
		t.Fatal("the package has no points: see make interleave")
	}
	var cases []schedules.Case
	for _, c := range configs {
		start := func(answers *int) interleave.Program {
			r := newRig(max(c.logs, 1), answers)
			p := interleave.Program{Check: r.check}
			for i, body := range c.start(r) {
				p.Threads = append(p.Threads, interleave.Thread{Name: []string{"writer", "reader", "reader"}[i], Body: body})
			}
			return p
		}
		cases = append(cases, schedules.Case{Name: c.name, Deep: 3, Start: start})
	}
	schedules.Run(t, cases)
}
