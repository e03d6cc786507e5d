// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package fanout

import (
	"testing"

	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/atomic"
	"github.com/kinformer/cache/internal/interleave/schedules"
	"github.com/kinformer/cache/internal/interleave/time"
)

// The tests here run processors through all schedules: see internal/interleave. Their goroutines
// are threads of those, and the clock stands still unless a handler is slow.

// bodies are those of the threads, by their names.
type bodies []interleave.Thread

func (b bodies) and(name string, body func()) bodies {
	return append(b, interleave.Thread{Name: name, Body: body})
}

func thread(name string, body func()) bodies { return bodies{}.and(name, body) }

// config is one configuration.
type config struct {
	name              string
	listing           bool // the first list is still to come
	preemptions, deep int
	start             func(s *street) bodies
}

// TestSchedules runs all configurations.
func TestSchedules(t *testing.T) {
	defer goleak.VerifyNone(t)
	if _, ok := any(&new(feed).end).(*atomic.Int64); !ok {
		t.Fatal("the package has no points: see make interleave")
	}
	utilruntime.ReallyCrash, utilruntime.PanicHandlers = false, nil
	var cases []schedules.Case
	for _, c := range configs {
		start := func(answers *int) interleave.Program {
			s := newStreet(answers)
			if !c.listing {
				s.sync()
			}
			return interleave.Program{Threads: c.start(s), Check: s.check}
		}
		cases = append(cases, schedules.Case{Name: c.name, Preemptions: c.preemptions, Deep: c.deep, Start: start})
	}
	schedules.Run(t, cases)
}

// configs are the configurations, those of one matter together. Under the build tag a segment of
// the log has two entries.
var configs = []config{
	// Delivery.
	{name: "a handler", deep: 3, start: func(s *street) bodies {
		s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2 a3 a4; -a"))
	}},
	{name: "two handlers", deep: 3, start: func(s *street) bodies {
		s.parked(Options{})
		s.parked(Options{}, slow)
		return thread("distributor", s.distribute("a1; a2; a3"))
	}},
	{name: "bulk records", deep: 3, start: func(s *street) bodies {
		s.given("a1 b1")
		s.aware(Options{})
		s.aware(Options{}, slow, slow)
		return thread("distributor", s.distribute("[a2 b2] c1; [d1 e1]"))
	}},
	{name: "a handler with two lines of calls", start: func(s *street) bodies {
		s.parked(Options{Parallel: 2})
		s.parked(Options{})
		return thread("distributor", s.distribute("a1 b1; b2; a2"))
	}},
	{name: "a handler with two lines of calls that leaves", preemptions: 1, deep: 2, start: func(s *street) bodies {
		h := s.parked(Options{Parallel: 2})
		return thread("distributor", s.distribute("a1; b1 a2")).and("user", h.remove)
	}},

	// Join and leave.
	{name: "a handler joins", listing: true, deep: 3, start: func(s *street) bodies {
		s.given("a1 b1")
		s.aware(Options{})
		h := s.handler(Options{})
		return thread("distributor", s.distribute("a2; c1")).and("user", h.join)
	}},
	{name: "a handler joins and leaves", deep: 3, start: func(s *street) bodies {
		s.given("a1 b1")
		s.aware(Options{})
		h := s.handler(Options{})
		return thread("distributor", s.distribute("a2; c1")).and("user", func() { h.join(); h.remove() })
	}},
	{name: "two handlers join", preemptions: 1, deep: 2, start: func(s *street) bodies {
		s.given("a1")
		one, other := s.handler(Options{}), s.handler(Options{Parallel: 2})
		return thread("distributor", s.distribute("b1")).and("user", one.join).and("another", other.join)
	}},
	{name: "a handler leaves", start: func(s *street) bodies {
		s.parked(Options{})
		h := s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2")).and("user", h.remove)
	}},
	{name: "a handler leaves, and another joins", deep: 3, start: func(s *street) bodies {
		s.given("a1")
		old, fresh := s.aware(Options{}), s.handler(Options{})
		return thread("distributor", s.distribute("a2; b1")).and("user", func() { old.remove(); fresh.join() })
	}},
	{name: "a handler removes itself", start: func(s *street) bodies {
		s.parked(Options{})
		h := s.parked(Options{}, fine, leaves)
		return thread("distributor", s.distribute("a1; a2 a3")).and("user", h.remove)
	}},
	{name: "both handlers leave", preemptions: 1, deep: 2, start: func(s *street) bodies {
		one, other := s.parked(Options{}), s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2")).and("user", one.remove).and("another", other.remove)
	}},
	{name: "the first list is synced", listing: true, deep: 3, start: func(s *street) bodies {
		s.given("a1 b1")
		h, late := s.handler(Options{}), s.handler(Options{Parallel: 2}, slow)
		return thread("distributor", func() { h.join(); s.sync(); s.distribute("a2 a3 a4")(); late.join() })
	}},
	{name: "the first list is empty", listing: true, start: func(s *street) bodies {
		h := s.handler(Options{})
		return thread("distributor", s.sync).and("user", h.join)
	}},
	{name: "a registration that cannot sync", listing: true, start: func(s *street) bodies {
		s.given("a1 b1")
		one, other := s.handler(Options{}, panics), s.handler(Options{}, fine, exits)
		return thread("distributor", func() { one.join(); s.sync() }).and("user", other.join)
	}},

	// Calls that block or end otherwise.
	{name: "a call blocks", deep: 3, start: func(s *street) bodies {
		s.parked(Options{}, fine, blocks)
		other := s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2; a3")).and("user", s.releaseAfter(other))
	}},
	{name: "calls of both block", preemptions: 1, deep: 2, start: func(s *street) bodies {
		s.parked(Options{}, blocks)
		s.parked(Options{}, blocks)
		third := s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2")).and("user", s.releaseAfter(third))
	}},
	{name: "a call of a handler that joins blocks", preemptions: 1, deep: 2, start: func(s *street) bodies {
		s.given("a1")
		other, h := s.aware(Options{}), s.handler(Options{}, blocks)
		return thread("distributor", s.distribute("a2")).and("user", h.join).and("another", s.releaseAfter(other))
	}},
	{name: "a handler leaves during a call", deep: 3, start: func(s *street) bodies {
		h, other := s.parked(Options{}, blocks), s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2")).
			and("user", func() { h.remove(); s.releaseAfter(other)() })
	}},
	{name: "calls panic", listing: true, deep: 3, start: func(s *street) bodies {
		s.parked(Options{}, panics, fine, panics)
		s.parked(Options{}, fine, panics)
		return thread("distributor", s.distribute("a1; a2 a3"))
	}},
	{name: "a handler that panics leaves", start: func(s *street) bodies {
		h := s.parked(Options{}, panics, panics)
		s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2")).and("user", h.remove)
	}},
	{name: "calls end their goroutine", start: func(s *street) bodies {
		s.parked(Options{}, exits, fine, exits)
		s.parked(Options{}, fine, exits)
		return thread("distributor", s.distribute("a1; a2 a3"))
	}},
	{name: "a handler that ends goroutines leaves", preemptions: 1, deep: 2, start: func(s *street) bodies {
		h := s.parked(Options{}, exits, exits)
		s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2")).and("user", h.remove)
	}},

	// Stop.
	{name: "stop", start: func(s *street) bodies {
		s.parked(Options{})
		s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2")).and("user", s.end)
	}},
	{name: "stop beside a join", preemptions: 1, deep: 2, start: func(s *street) bodies {
		s.given("a1")
		s.aware(Options{})
		h := s.handler(Options{})
		return thread("distributor", s.distribute("a2")).and("user", h.join).and("another", s.end)
	}},
	{name: "stop beside a removal", preemptions: 1, deep: 2, start: func(s *street) bodies {
		h := s.parked(Options{})
		s.parked(Options{})
		return thread("distributor", s.distribute("a1")).and("user", h.remove).and("another", s.end)
	}},
	{name: "stop during calls", preemptions: 1, deep: 2, start: func(s *street) bodies {
		s.parked(Options{}, blocks)
		s.parked(Options{}, panics, exits)
		return thread("distributor", s.distribute("a1; a2")).and("user", s.end).and("another", s.release)
	}},

	// Handlers that are slower than changes come.
	{name: "room", deep: 3, start: func(s *street) bodies {
		s.parked(Options{Overflow: Block, Max: 1})
		return thread("reflector", s.read("a1 a2 a3"))
	}},
	{name: "room of two handlers", preemptions: 1, deep: 2, start: func(s *street) bodies {
		s.parked(Options{Overflow: Block, Max: 1})
		s.parked(Options{Overflow: Block, Max: 2}, slow)
		return thread("reflector", s.read("a1 a2 a3"))
	}},
	{name: "room for what is in flight", start: func(s *street) bodies {
		s.parked(Options{Overflow: Block, Max: 2})
		queue := s.queue("a1 a2 a3")
		return thread("reflector", queue.read).and("controller", queue.distribute)
	}},
	{name: "room of a handler that leaves", preemptions: 1, deep: 2, start: func(s *street) bodies {
		h := s.parked(Options{Overflow: Block, Max: 1}, blocks)
		s.parked(Options{})
		return thread("reflector", func() { s.read("a1 a2 a3")(); s.release() }).and("user", h.remove)
	}},
	{name: "room of a handler that joins", deep: 3, start: func(s *street) bodies {
		s.given("a1")
		h := s.handler(Options{Overflow: Block, Max: 1})
		return thread("reflector", s.read("a2 a3 a4")).and("user", h.join)
	}},
	{name: "room of a handler that panics", deep: 3, start: func(s *street) bodies {
		s.parked(Options{Overflow: Block, Max: 1}, panics, exits)
		return thread("reflector", s.read("a1 a2 a3"))
	}},
	{name: "coalesce", start: func(s *street) bodies {
		s.parked(Options{Overflow: Coalesce}, slow)
		s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2 -a; a3"))
	}},
	{name: "coalesce what is read ahead", deep: 3, start: func(s *street) bodies {
		s.parked(Options{Overflow: Coalesce}, blocks)
		return thread("distributor", func() { s.distribute("a1 b1; a2 b2 a3 b3; -a b4")(); s.release() })
	}},
	{name: "coalesce and leave", preemptions: 1, deep: 2, start: func(s *street) bodies {
		h := s.parked(Options{Overflow: Coalesce}, blocks)
		return thread("distributor", func() { s.distribute("a1 b1 a2 b2 a3; a4")(); s.release() }).and("user", h.remove)
	}},
	{name: "coalesce and stop", preemptions: 1, deep: 2, start: func(s *street) bodies {
		s.parked(Options{Overflow: Coalesce})
		return thread("distributor", s.distribute("a1 b1 a2 b2 a3; a4")).and("user", s.end)
	}},
	{name: "disconnect", deep: 3, start: func(s *street) bodies {
		s.parked(Options{Overflow: Disconnect, Max: 1})
		s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2; a3"))
	}},
	{name: "disconnect who is behind", start: func(s *street) bodies {
		h := s.parked(Options{Overflow: Disconnect, Max: 2})
		return thread("distributor", func() {
			s.distribute("a1 a2")()
			interleave.Await(func() bool { return h.returned == 2 })
			s.distribute("a3 a4; a5")()
		})
	}},
	{name: "disconnect during a call", start: func(s *street) bodies {
		h := s.parked(Options{Overflow: Disconnect, Max: 2}, blocks)
		return thread("distributor", func() {
			s.distribute("a1 a2; a3; a4")()
			interleave.Await(func() bool { return isOver(h.closing) })
			s.release()
		}).and("user", s.end)
	}},
	{name: "disconnect beside a removal", deep: 3, start: func(s *street) bodies {
		h := s.parked(Options{Overflow: Disconnect, Max: 1})
		return thread("distributor", s.distribute("a1 a2; a3")).and("user", h.remove)
	}},

	// Resyncs.
	{name: "resync", start: func(s *street) bodies {
		s.parked(Options{Resync: time.Second, Check: time.Second}, slow, slow)
		s.parked(Options{})
		return thread("distributor", func() { s.distribute("a1 b1; a2")(); s.resync(); s.distribute("b2")(); s.resync() })
	}},
	{name: "resync of some", deep: 3, start: func(s *street) bodies {
		s.parked(Options{Resync: time.Second, Check: time.Second}, slow)
		s.parked(Options{Resync: 2 * time.Second, Check: time.Second})
		return thread("distributor", func() { s.distribute("a1 b1")(); s.resync(); s.resync(); s.resync("a"); s.resync() })
	}},
	{name: "resync and leave", start: func(s *street) bodies {
		h := s.parked(Options{Resync: time.Second, Check: time.Second}, slow, slow)
		return thread("distributor", func() { s.distribute("a1 b1")(); s.resync(); s.resync() }).and("user", h.remove)
	}},
	{name: "resync and coalesce", start: func(s *street) bodies {
		s.parked(Options{Overflow: Coalesce, Resync: time.Second, Check: time.Second}, slow)
		return thread("distributor", func() { s.distribute("a1 b1")(); s.resync(); s.distribute("a2 -b")(); s.resync() })
	}},

	// Questions.
	{name: "figures of handlers at work", preemptions: 1, deep: 2, start: func(s *street) bodies {
		one, other := s.parked(Options{}, slow), s.parked(Options{})
		return thread("distributor", s.distribute("a1; a2 a3")).
			and("user", func() { one.look(); other.look(); one.look() })
	}},
	{name: "figures of a handler that coalesces", start: func(s *street) bodies {
		h := s.parked(Options{Overflow: Coalesce})
		return thread("distributor", s.distribute("a1; a2 a3")).and("user", func() { h.look(); h.look() })
	}},
	{name: "figures of a handler that leaves", preemptions: 1, deep: 2, start: func(s *street) bodies {
		h := s.parked(Options{}, exits)
		return thread("distributor", s.distribute("a1; a2")).
			and("user", h.remove).and("another", func() { h.look(); h.look() })
	}},
}
