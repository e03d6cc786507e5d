// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package fanout

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"go.uber.org/goleak"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/eventlog"
	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/atomic"
	"github.com/kinformer/cache/internal/interleave/schedules"
	"github.com/kinformer/cache/internal/interleave/sync"
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

// street is a processor in one schedule, with what comes to it and the handlers at its end.
type street struct {
	*Processor
	// delivery is held, as by the informer, while changes are distributed or a handler joins.
	delivery interleave.Mutex
	state    []thing // what there is, by name
	changes  []line  // what was distributed, a line for each call
	rounds   int     // of resyncs: one each second
	ended    bool    // nothing more will be distributed
	synced   bool    // all of the first list was distributed
	released bool    // calls that block may return
	stopping bool    // Stop was called
	stopped  bool    // Stop has returned
	hearers  []*hearer
	answers  *int
}

func newStreet(answers *int) *street {
	s := &street{Processor: NewProcessor(neverEnds{}, stillClock{}), answers: answers}
	s.feed.mu.log.Spare = new(sync.Pool)
	return s
}

// neverEnds is an upstream of which nothing is told.
type neverEnds struct{}

func (neverEnds) Name() string { return "upstream" }

func (neverEnds) Done() <-chan struct{} { return nil }

// stillClock is the clock of schedules.
type stillClock struct{}

func (stillClock) Now() time.Time { return time.Now() }

func (stillClock) Since(t time.Time) time.Duration { return time.Since(t) }

// thing is an object: a letter and a version.
type thing struct {
	name    string
	version int
}

func (t thing) String() string { return t.name + strconv.Itoa(t.version) }

// line is one call of a handler, in words.
type line struct {
	name, text      string
	initial, resync bool
}

func added(t thing, initial bool) line {
	if initial {
		return line{name: t.name, text: "finds " + t.String(), initial: true}
	}
	return line{name: t.name, text: "+" + t.String()}
}

func updated(old, t thing) line { return line{name: t.name, text: old.String() + ">" + t.String()} }

func deleted(t thing) line { return line{name: t.name, text: "-" + t.String()} }

// parse makes batches of changes of a text such as "a1 b1; a2 -b [a3 c1]": in each batch things
// that come or become another version, such that go, and several at once, as a bulk record.
func (s *street) parse(batch string) (changes []event.Change) {
	bulk := -1
	for word := range strings.FieldsSeq(batch) {
		if word[0] == '[' {
			bulk = len(changes)
		}
		changes = append(changes, s.change(strings.Trim(word, "[]")))
		if strings.HasSuffix(word, "]") {
			changes = append(changes[:bulk], bulkOf(changes[bulk].Kind, changes[bulk:]))
		}
	}
	return changes
}

// change applies one word to the state.
func (s *street) change(word string) event.Change {
	name, gone := strings.CutPrefix(word, "-")
	name = name[:1]
	at, found := slices.BinarySearchFunc(s.state, name, func(t thing, name string) int { return strings.Compare(t.name, name) })
	switch {
	case gone:
		old := s.state[at]
		s.state = slices.Delete(slices.Clone(s.state), at, at+1)
		s.changes = append(s.changes, deleted(old))
		for _, h := range s.hearers {
			delete(h.owed, name) // it may hear of nothing at all, if it coalesces
		}
		return event.Change{Kind: event.ChangeDelete, Key: name, Old: old}
	case !found:
		s.state = slices.Insert(slices.Clone(s.state), at, thing{name: name})
	}
	version, err := strconv.Atoi(word[1:])
	if err != nil {
		panic(err)
	}
	old, next := s.state[at], thing{name, version}
	s.state = slices.Clone(s.state)
	if s.state[at] = next; !found {
		s.changes = append(s.changes, added(next, false))
		return event.Change{Kind: event.ChangeAdd, Key: name, New: next}
	}
	s.changes = append(s.changes, updated(old, next))
	return event.Change{Kind: event.ChangeUpdate, Key: name, Old: old, New: next}
}

// bulkOf makes one record of Adds, or of Updates.
func bulkOf(kind event.Kind, changes []event.Change) event.Change {
	var keys []string
	var objects, formers []any
	for _, c := range changes {
		keys, objects, formers = append(keys, c.Key), append(objects, c.New), append(formers, c.Old)
	}
	all := event.Change{Kind: kind, Many: event.KeyedSnapshot(keys, objects)}
	if kind == event.ChangeUpdate {
		all.Many.Formers = formers
	}
	return all
}

// given is what there is before anybody joins.
func (s *street) given(words string) {
	s.parse(words)
	s.changes = nil
}

// handler makes one that does something in some of its calls, and is yet to join.
func (s *street) handler(o Options, does ...act) *hearer {
	h := &hearer{street: s, does: does, known: map[string]thing{}, owed: map[string]int{}, rounds: map[string]int{}}
	o.Name, o.Logger = strconv.Itoa(len(s.hearers)), klog.Logger(logr.Discard())
	o.OnDisconnect = h.disconnected
	h.Listener = s.NewListener(h, o)
	s.hearers = append(s.hearers, h)
	return h
}

// parked makes a handler that has joined and has nothing to do.
func (s *street) parked(o Options, does ...act) *hearer {
	h := s.handler(o, does...)
	h.join()
	return h
}

func (h *hearer) join() {
	s := h.street
	s.delivery.Lock()
	defer s.delivery.Unlock()
	h.from = len(s.changes)
	adds := make([]event.Change, len(s.state))
	for i, t := range s.state {
		adds[i] = event.Change{Key: t.name, New: t}
		h.initial = append(h.initial, added(t, true))
	}
	s.Add(h.Listener, bulkOf(event.ChangeAdd, adds).Many)
	h.joined = true
}

// aware makes a handler that has heard of all that there is, and has nothing to do.
func (s *street) aware(o Options, does ...act) *hearer {
	state := s.state
	s.state = nil
	h := s.parked(o, does...)
	for _, t := range state {
		h.known[t.name] = t
	}
	s.state = state
	return h
}

// distribute brings batches to the handlers.
func (s *street) distribute(batches string) func() {
	return func() {
		for batch := range strings.SplitSeq(batches, ";") {
			s.distributeBatch(batch)
		}
		s.ended = true
	}
}

func (s *street) distributeBatch(batch string) {
	s.delivery.Lock()
	defer s.delivery.Unlock()
	for _, h := range s.hearers {
		h.before, h.removed = h.waiting(), isOver(h.closing)
	}
	before := len(s.changes)
	s.Distribute(s.parse(batch))
	for _, h := range s.hearers {
		h.checkBound(len(s.changes) - before)
	}
}

// read is a reflector that distributes what it reads itself, one event at a time, where there is
// room.
func (s *street) read(events string) func() {
	return func() {
		for event := range strings.FieldsSeq(events) {
			s.awaitRoom(new(int))
			s.distributeBatch(event)
		}
	}
}

// resync tells those who are due of everything that there is, or of those things one by one.
func (s *street) resync(names ...string) {
	time.Sleep(time.Second)
	s.rounds++
	s.ShouldResync()
	s.delivery.Lock()
	defer s.delivery.Unlock()
	changes := make([]event.Change, 0, len(s.state))
	for _, t := range s.state {
		if len(names) == 0 || slices.Contains(names, t.name) {
			changes = append(changes, event.Change{Kind: event.ChangeUpdate, Resync: true, Key: t.name, Old: t, New: t})
			s.owe(t)
		}
	}
	if len(names) == 0 {
		all := bulkOf(event.ChangeUpdate, changes)
		all.Resync, all.Many.Formers = true, nil
		changes = []event.Change{all}
	}
	s.Distribute(changes)
}

// owe notes that those who are due have to hear of a thing: by a resync, or because there is
// something newer.
func (s *street) owe(t thing) {
	for _, h := range s.hearers {
		period := int(h.Listener.resync.requested / time.Second)
		if h.joined && period > 0 && s.rounds%period == 0 {
			h.owed[t.name] = t.version
			h.rounds[t.name]++
		}
	}
}

// queue is between a reflector and who distributes what it reads.
type queue struct {
	*street
	events, waiting []string
	inFlight        int // events that were read and are not through
}

func (s *street) queue(events string) *queue {
	return &queue{street: s, events: strings.Fields(events)}
}

func (q *queue) read() {
	for _, event := range q.events {
		q.awaitRoom(&q.inFlight)
		interleave.Point()
		q.inFlight++
		q.waiting = append(q.waiting, event)
	}
}

func (q *queue) distribute() {
	for range q.events {
		interleave.Await(func() bool { return len(q.waiting) > 0 })
		event := q.waiting[0]
		q.waiting = q.waiting[1:]
		q.distributeBatch(event)
		interleave.Point()
		q.inFlight--
		q.MadeRoom()
	}
}

// awaitRoom waits until there is room for one event.
func (s *street) awaitRoom(inFlight *int) {
	for {
		events, freed := s.Room(func() int { interleave.Point(); return *inFlight })
		if events > 0 {
			return
		}
		interleave.Await(func() bool { return isOver(freed) })
	}
}

// end stops the processor.
func (s *street) end() {
	s.stopping = true
	s.Stop()
	s.stopped = true
	if n := s.pool.running.Running(); n > 0 {
		interleave.Fail(fmt.Errorf("%d workers are left", n))
	}
	for _, h := range s.hearers {
		if h.calling > 0 || h.joined && !isOver(h.finished) {
			interleave.Fail(fmt.Errorf("handler %s is not over", h.name))
		}
	}
}

// releaseAfter lets calls that block return when other handlers have heard all there is to hear,
// and have no place in the log: nobody waits for a call of another.
func (s *street) releaseAfter(others ...*hearer) func() {
	return func() {
		interleave.Await(func() bool {
			return s.ended && !slices.ContainsFunc(others, func(h *hearer) bool { return !h.isThrough() })
		})
		s.release()
	}
}

func (s *street) release() {
	interleave.Point()
	s.released = true
}

func (s *street) sync() {
	s.delivery.Lock()
	defer s.delivery.Unlock()
	s.UpstreamSynced()
	s.synced = true
}

func isOver(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// check looks at everything when no thread is left.
func (s *street) check() error {
	w := &s.pool
	switch {
	case s.delivery.TryLock() && (w.spinning || w.anyReady() || len(w.idle) > 0 || len(w.leaving) > 0):
		return fmt.Errorf("left over: spinning %v, ready %d, idle %d, leaving %d",
			w.spinning, len(w.ready)-w.first, len(w.idle), len(w.leaving))
	case w.running.Running() > 0:
		return errors.New("workers are left")
	case s.feed.mu.log.Cursors() > 0:
		return errors.New("the log is kept")
	}
	for _, h := range s.hearers {
		if err := h.check(); err != nil {
			return fmt.Errorf("handler %s: %w", h.name, err)
		}
	}
	return nil
}

// act is what a handler does in a call.
type act uint8

const (
	fine   act = iota // returns
	slow              // takes longer than a quick call
	blocks            // until it is released
	panics
	exits  // ends its goroutine
	leaves // removes itself
)

// hearer is a handler that notes what it hears, and fails the schedule where that is wrong.
type hearer struct {
	*Listener
	street   *street
	does     []act // in its calls, from the first on
	joined   bool
	initial  []line // what it finds
	from     int    // of the street's changes it hears those from here on, after that
	heard    []line
	known    map[string]thing // what it knows, by name
	owed     map[string]int   // the versions that it has to hear of because of a resync
	rounds   map[string]int   // how many resyncs it may hear of, by name
	calling  int              // calls in progress
	returned int              // calls that have, or did what else ends one
	lost     bool             // an initial call has not returned
	leaving  bool             // Remove was called
	gone     bool             // Remove has returned
	before   int              // how many calls were outstanding when changes were distributed last
	removed  bool             // it was removed before that
	may      int              // calls that may begin nevertheless
	told     int              // how often it was told that it is disconnected
}

func (h *hearer) OnAdd(obj any, initial bool) {
	t := obj.(thing)
	if was, found := h.known[t.name]; found {
		h.fail("it knows %v already", was)
	}
	h.hear(added(t, initial), t)
}

func (h *hearer) OnUpdate(was, is any) {
	old, t := was.(thing), is.(thing)
	l := updated(old, t)
	if l.resync = old == t; l.resync {
		h.rounds[t.name]--
	}
	if h.known[t.name] != old || old.version > t.version || h.rounds[t.name] < 0 {
		h.fail("it knows %v, not %v before %v", h.known[t.name], old, t)
	}
	h.hear(l, t)
}

// OnDelete may tell of a version that was merged with its end.
func (h *hearer) OnDelete(obj any) {
	t := obj.(thing)
	if was, found := h.known[t.name]; !found || was != t && !h.coalesces {
		h.fail("it knows %v, not %v", was, t)
	}
	h.hear(deleted(t), t)
}

// learn notes what it knows now.
func (h *hearer) learn(l line, t thing) {
	h.known[t.name] = t
	if l == deleted(t) {
		delete(h.known, t.name)
	}
	if h.owed[t.name] <= t.version {
		delete(h.owed, t.name)
	}
}

func (h *hearer) fail(format string, args ...any) {
	interleave.Fail(fmt.Errorf("handler "+h.name+": "+format+", after %v", append(args, h.heard)...))
}

// hear is one call. It begins some time after it was decided on.
func (h *hearer) hear(l line, t thing) {
	interleave.Point()
	h.begin(l)
	h.learn(l, t)
	ended := false
	defer func() { h.end(l, ended) }()
	h.act(h.returned + h.calling)
	interleave.Point()
	ended = true
}

func (h *hearer) begin(l line) {
	*h.street.answers++
	switch {
	case h.street.stopped, isOver(h.finished):
		h.fail("%s after the end", l.text)
	case h.gone && h.may == 0:
		h.fail("%s after its removal", l.text)
	case h.calling == h.parallel:
		h.fail("%s during another call", l.text)
	case l.initial && isOver(h.synced):
		h.fail("%s although it has synced", l.text)
	case h.gone:
		h.may--
	}
	if !h.coalesces && !l.resync {
		if next, ok := h.next(l.name); !ok || next != l {
			h.fail("%s instead of %s", l.text, next.text)
		}
	}
	if h.calling++; !l.resync {
		h.heard = append(h.heard, l)
	}
}

// next is what it should hear next, of one name if it has several consumers.
func (h *hearer) next(name string) (next line, ok bool) {
	skip := len(h.heard)
	all := slices.Concat(h.initial, h.street.changes[h.from:])
	if h.parallel > 1 {
		other := func(l line) bool { return l.name != name }
		skip = len(slices.DeleteFunc(slices.Clone(h.heard), other))
		all = slices.DeleteFunc(all, other)
	}
	if skip >= len(all) {
		return line{}, false
	}
	return all[skip], true
}

func (h *hearer) act(call int) {
	if call > len(h.does) {
		return
	}
	switch h.does[call-1] {
	case slow:
		time.Sleep(2 * quickCall)
	case blocks:
		interleave.Await(func() bool { return h.street.released })
	case panics:
		panic("as it pleases")
	case exits:
		runtime.Goexit()
	case leaves:
		h.remove()
	}
}

func (h *hearer) end(l line, ended bool) {
	h.calling--
	h.returned++
	h.lost = h.lost || l.initial && !ended
	if l.initial && isOver(h.synced) {
		h.fail("%s has not returned, and it has synced", l.text)
	}
	if isOver(h.finished) || h.street.stopped {
		h.fail("%s has not returned, and it is over", l.text)
	}
}

// remove has it called no more, apart from the calls that are running.
func (h *hearer) remove() {
	h.leaving = true
	h.street.Remove(h.Listener)
	if !h.gone {
		h.gone, h.may = true, h.parallel-h.calling
	}
}

func (h *hearer) disconnected(err error) {
	interleave.Point()
	if h.told++; h.told > 1 || h.street.stopped || !errors.Is(err, ErrDisconnected) {
		h.fail("it is told %v", err)
	}
}

// waiting is how many notifications it has not returned from. A call that has returned may not be
// counted yet.
func (h *hearer) waiting() int {
	return len(h.street.changes) - h.from - max(0, h.returned-len(h.initial))
}

// checkBound is called when so many changes were distributed.
func (h *hearer) checkBound(n int) {
	if !h.joined || !h.bounded || h.removed || h.leaving || h.street.stopping {
		return
	}
	if closed := isOver(h.closing); h.waiting() > h.max && !closed {
		h.fail("it is behind %d", h.waiting())
	} else if closed && h.before+n < h.max {
		h.fail("it was behind %d and is removed", h.before)
	}
}

// look asks for its figures. Quick calls of one run are counted when all have returned.
func (h *hearer) look() {
	before, removed := h.returned, h.gone
	figures := h.Figures()
	calls, all := int(figures.Times.Calls), len(h.initial)+len(h.street.changes)-h.from
	switch {
	case calls > h.returned, before > calls+eventlog.SegmentSize:
		h.fail("of %d to %d calls %d are counted", before, h.returned, calls)
	case figures.Pending < 0, figures.Pending > all-calls:
		h.fail("of %d calls %d are counted and %d pending", all, calls, figures.Pending)
	case removed && !figures.Removed:
		h.fail("it is not removed")
	}
	*h.street.answers++
}

// isThrough reports whether it has heard all that there is, and is at rest.
func (h *hearer) isThrough() bool {
	return h.returned == len(h.initial)+len(h.street.changes)-h.from && h.consumers[0].mu.state == consumerParked
}

// check looks at it when no thread is left.
func (h *hearer) check() error {
	if !h.joined {
		return nil
	}
	*h.street.answers++
	figures := h.Figures()
	switch removed := h.closed.Load(); {
	case h.calling > 0:
		return errors.New("it is in a call")
	case removed != isOver(h.finished):
		return errors.New("its end is not told")
	case figures.Working || figures.Pending > 0 || figures.Times.Calls != uint64(h.returned):
		return fmt.Errorf("it has heard %v, and its figures are %+v", h.heard, figures)
	case figures.Disconnected != (h.told == 1):
		return errors.New("it was not told that it is disconnected")
	case !removed && (h.isBehind() || len(h.owed) > 0):
		return fmt.Errorf("it has heard nothing but %v, of %v %v", h.heard, h.initial, h.street.changes[h.from:])
	}
	return errors.Join(h.checkSynced(), h.checkConsumers())
}

// isBehind reports whether something was left out.
func (h *hearer) isBehind() bool {
	if !h.coalesces {
		return len(h.heard) != len(h.initial)+len(h.street.changes)-h.from
	}
	return len(h.known) != len(h.street.state) ||
		slices.ContainsFunc(h.street.state, func(t thing) bool { return h.known[t.name] != t })
}

func (h *hearer) checkSynced() error {
	synced, failure := isOver(h.synced), h.syncError()
	switch {
	case synced == (failure != nil) && (h.street.synced || h.lost):
		return fmt.Errorf("synced %v, and %v", synced, failure)
	case synced && (h.lost || !h.street.synced):
		return errors.New("it has synced")
	}
	return nil
}

// checkConsumers: they keep nothing that was distributed.
func (h *hearer) checkConsumers() error {
	for _, c := range h.consumers {
		quick := c.run.quick
		if c.run.quick = false; c.run.more() || c.run.changes != nil || c.run.bulk != nil {
			return fmt.Errorf("it keeps %+v", c.run)
		}
		c.run.quick = quick
		if c.mu.state == consumerAtWork || c.mu.cursor.InLog() || c.mu.first != nil || c.mu.resyncs != nil || c.mu.pending.len() > 0 {
			return fmt.Errorf("it is not at rest: %+v", &c.mu)
		}
	}
	return nil
}
