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

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/eventlog"
	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/atomic"
	"github.com/kinformer/cache/internal/interleave/schedules"
	"github.com/kinformer/cache/internal/interleave/sync"
	"github.com/kinformer/cache/internal/interleave/time"
)

// The tests below run processors with all schedules: see internal/interleave. The goroutines of the
// processors are threads of the schedule, and the clock stands still unless a handler is slow.

// config is a configuration.
type config struct {
	name              string
	listing           bool // the first list is not complete
	preemptions, deep int
	given             string // the objects that exist before any handler is added
	handlers          []spec
	threads           []step // of the distributor and of users
}

// spec describes a handler, which does does[i] in its call i. It knows the given objects, unless it
// is late: then it is added by a step.
type spec struct {
	Options
	does []act
	late bool
}

// step is one thread, or a part of it.
type step func(s *rig)

func then(steps ...step) step {
	return func(s *rig) {
		for _, step := range steps {
			step(s)
		}
	}
}

func distribute(batches string) step { return func(s *rig) { s.distribute(batches) } }
func read(events string) step        { return func(s *rig) { s.read(events) } }
func resync(names ...string) step    { return func(s *rig) { s.resync(names...) } }
func join(h int) step                { return func(s *rig) { s.recorders[h].join() } }
func leave(h int) step               { return func(s *rig) { s.recorders[h].remove() } }
func look(h int) step                { return func(s *rig) { s.recorders[h].look() } }

func await(ready func(h *recorder) bool) step {
	return func(s *rig) { interleave.Await(func() bool { return ready(s.recorders[0]) }) }
}

// start returns the threads of a configuration, and the final check.
func (c *config) start(answers *int) interleave.Program {
	s := newRig(answers)
	if !c.listing {
		s.sync()
	}
	s.given(c.given)
	for _, h := range c.handlers {
		if h.late {
			s.handler(h.Options, h.does...)
		} else {
			s.aware(h.Options, h.does...)
		}
	}
	p := interleave.Program{Check: s.check}
	for i, step := range c.threads {
		name := []string{"distributor", "user", "another"}[i]
		p.Threads = append(p.Threads, interleave.Thread{Name: name, Body: func() { step(s) }})
	}
	return p
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
		cases = append(cases, schedules.Case{Name: c.name, Preemptions: c.preemptions, Deep: c.deep, Start: c.start})
	}
	schedules.Run(t, cases)
}

var (
	twoLines   = Options{Parallel: 2}
	block      = Options{Overflow: Block, Max: 1}
	coalesce   = Options{Overflow: Coalesce}
	disconnect = Options{Overflow: Disconnect, Max: 1}
	eachSecond = Options{Resync: time.Second, Check: time.Second}
)

// configs are the configurations, grouped by subject. With the build tag a segment of the log has
// two entries.
var configs = []config{
	// Delivery.
	{name: "a handler", deep: 3, handlers: []spec{{}}, threads: []step{distribute("a1; a2 a3 a4; -a")}},
	{name: "two handlers", deep: 3, handlers: []spec{{}, {does: []act{slow}}}, threads: []step{distribute("a1; a2; a3")}},
	{name: "bulk records", deep: 3, given: "a1 b1", handlers: []spec{{}, {does: []act{slow, slow}}},
		threads: []step{distribute("[a2 b2] c1; [d1 e1]")}},
	{name: "a handler with two lines of calls", handlers: []spec{{Options: twoLines}, {}},
		threads: []step{distribute("a1 b1; b2; a2")}},
	{name: "a handler with two lines of calls that leaves", preemptions: 1, deep: 2, handlers: []spec{{Options: twoLines}},
		threads: []step{distribute("a1; b1 a2"), leave(0)}},

	// Join and leave.
	{name: "a handler joins", listing: true, deep: 3, given: "a1 b1", handlers: []spec{{}, {late: true}},
		threads: []step{distribute("a2; c1"), join(1)}},
	{name: "a handler joins and leaves", deep: 3, given: "a1 b1", handlers: []spec{{}, {late: true}},
		threads: []step{distribute("a2; c1"), then(join(1), leave(1))}},
	{name: "two handlers join", preemptions: 1, deep: 2, given: "a1", handlers: []spec{{late: true}, {Options: twoLines, late: true}},
		threads: []step{distribute("b1"), join(0), join(1)}},
	{name: "a handler leaves", handlers: []spec{{}, {}}, threads: []step{distribute("a1; a2"), leave(1)}},
	{name: "a handler leaves, and another joins", deep: 3, given: "a1", handlers: []spec{{}, {late: true}},
		threads: []step{distribute("a2; b1"), then(leave(0), join(1))}},
	{name: "a handler removes itself", handlers: []spec{{}, {does: []act{fine, leaves}}},
		threads: []step{distribute("a1; a2 a3"), leave(1)}},
	{name: "both handlers leave", preemptions: 1, deep: 2, handlers: []spec{{}, {}},
		threads: []step{distribute("a1; a2"), leave(0), leave(1)}},
	{name: "the first list is synced", listing: true, deep: 3, given: "a1 b1",
		handlers: []spec{{late: true}, {Options: twoLines, does: []act{slow}, late: true}},
		threads:  []step{then(join(0), (*rig).sync, distribute("a2 a3 a4"), join(1))}},
	{name: "the first list is empty", listing: true, handlers: []spec{{late: true}}, threads: []step{(*rig).sync, join(0)}},
	{name: "a registration that cannot sync", listing: true, given: "a1 b1",
		handlers: []spec{{does: []act{panics}, late: true}, {does: []act{fine, exits}, late: true}},
		threads:  []step{then(join(0), (*rig).sync), join(1)}},

	// Calls that block, panic or end their goroutine.
	{name: "a call blocks", deep: 3, handlers: []spec{{does: []act{fine, blocks}}, {}},
		threads: []step{distribute("a1; a2; a3"), releaseAfter(1)}},
	{name: "calls of both block", preemptions: 1, deep: 2, handlers: []spec{{does: []act{blocks}}, {does: []act{blocks}}, {}},
		threads: []step{distribute("a1; a2"), releaseAfter(2)}},
	{name: "a call of a handler that joins blocks", preemptions: 1, deep: 2, given: "a1",
		handlers: []spec{{}, {does: []act{blocks}, late: true}},
		threads:  []step{distribute("a2"), join(1), releaseAfter(0)}},
	{name: "a handler leaves during a call", deep: 3, handlers: []spec{{does: []act{blocks}}, {}},
		threads: []step{distribute("a1; a2"), then(leave(0), releaseAfter(1))}},
	{name: "calls panic", listing: true, deep: 3, handlers: []spec{{does: []act{panics, fine, panics}}, {does: []act{fine, panics}}},
		threads: []step{distribute("a1; a2 a3")}},
	{name: "a handler that panics leaves", handlers: []spec{{does: []act{panics, panics}}, {}},
		threads: []step{distribute("a1; a2"), leave(0)}},
	{name: "calls end their goroutine", handlers: []spec{{does: []act{exits, fine, exits}}, {does: []act{fine, exits}}},
		threads: []step{distribute("a1; a2 a3")}},
	{name: "a handler that ends goroutines leaves", preemptions: 1, deep: 2, handlers: []spec{{does: []act{exits, exits}}, {}},
		threads: []step{distribute("a1; a2"), leave(0)}},

	// Stop.
	{name: "stop", handlers: []spec{{}, {}}, threads: []step{distribute("a1; a2"), (*rig).end}},
	{name: "stop beside a join", preemptions: 1, deep: 2, given: "a1", handlers: []spec{{}, {late: true}},
		threads: []step{distribute("a2"), join(1), (*rig).end}},
	{name: "stop beside a removal", preemptions: 1, deep: 2, handlers: []spec{{}, {}},
		threads: []step{distribute("a1"), leave(0), (*rig).end}},
	{name: "stop during calls", preemptions: 1, deep: 2, handlers: []spec{{does: []act{blocks}}, {does: []act{panics, exits}}},
		threads: []step{distribute("a1; a2"), (*rig).end, (*rig).release}},

	// Handlers that are slower than the changes arrive.
	{name: "room", deep: 3, handlers: []spec{{Options: block}}, threads: []step{read("a1 a2 a3")}},
	{name: "room of two handlers", preemptions: 1, deep: 2,
		handlers: []spec{{Options: block}, {Options: Options{Overflow: Block, Max: 2}, does: []act{slow}}},
		threads:  []step{read("a1 a2 a3")}},
	{name: "room for what is in flight", handlers: []spec{{Options: Options{Overflow: Block, Max: 2}}},
		threads: []step{(*rig).fill, (*rig).drain}},
	{name: "room of a handler that leaves", preemptions: 1, deep: 2, handlers: []spec{{Options: block, does: []act{blocks}}, {}},
		threads: []step{then(read("a1 a2 a3"), (*rig).release), leave(0)}},
	{name: "room of a handler that joins", deep: 3, given: "a1", handlers: []spec{{Options: block, late: true}},
		threads: []step{read("a2 a3 a4"), join(0)}},
	{name: "room of a handler that panics", deep: 3, handlers: []spec{{Options: block, does: []act{panics, exits}}},
		threads: []step{read("a1 a2 a3")}},
	{name: "room beside a call that blocks", preemptions: 1, deep: 2,
		handlers: []spec{{Options: Options{Overflow: Block, Max: 2, Parallel: 2}, does: []act{slow}}, {does: []act{blocks}}},
		threads:  []step{then(read("a1 b1 a2"), (*rig).release)}},
	{name: "coalesce", handlers: []spec{{Options: coalesce, does: []act{slow}}, {}}, threads: []step{distribute("a1; a2 -a; a3")}},
	{name: "coalesce what is read ahead", deep: 3, handlers: []spec{{Options: coalesce, does: []act{blocks}}},
		threads: []step{then(distribute("a1 b1; a2 b2 a3 b3; -a b4"), (*rig).release)}},
	{name: "coalesce and leave", preemptions: 1, deep: 2, handlers: []spec{{Options: coalesce, does: []act{blocks}}},
		threads: []step{then(distribute("a1 b1 a2 b2 a3; a4"), (*rig).release), leave(0)}},
	{name: "coalesce and stop", preemptions: 1, deep: 2, handlers: []spec{{Options: coalesce}},
		threads: []step{distribute("a1 b1 a2 b2 a3; a4"), (*rig).end}},
	{name: "disconnect", deep: 3, handlers: []spec{{Options: disconnect}, {}}, threads: []step{distribute("a1; a2; a3")}},
	{name: "disconnect who is behind", handlers: []spec{{Options: Options{Overflow: Disconnect, Max: 2}}},
		threads: []step{then(distribute("a1 a2"), await(func(h *recorder) bool { return h.returned == 2 }), distribute("a3 a4; a5"))}},
	{name: "disconnect during a call", handlers: []spec{{Options: Options{Overflow: Disconnect, Max: 2}, does: []act{blocks}}},
		threads: []step{then(distribute("a1 a2; a3; a4"), await(func(h *recorder) bool { return isOver(h.closing) }), (*rig).release),
			(*rig).end}},
	{name: "disconnect beside a removal", deep: 3, handlers: []spec{{Options: disconnect}},
		threads: []step{distribute("a1 a2; a3"), leave(0)}},

	// Resyncs.
	{name: "resync", handlers: []spec{{Options: eachSecond, does: []act{slow, slow}}, {}},
		threads: []step{then(distribute("a1 b1; a2"), resync(), distribute("b2"), resync())}},
	{name: "resync of some", deep: 3,
		handlers: []spec{{Options: eachSecond, does: []act{slow}}, {Options: Options{Resync: 2 * time.Second, Check: time.Second}}},
		threads:  []step{then(distribute("a1 b1"), resync(), resync(), resync("a"), resync())}},
	{name: "resync and leave", handlers: []spec{{Options: eachSecond, does: []act{slow, slow}}},
		threads: []step{then(distribute("a1 b1"), resync(), resync()), leave(0)}},
	{name: "resync and coalesce",
		handlers: []spec{{Options: Options{Overflow: Coalesce, Resync: time.Second, Check: time.Second}, does: []act{slow}}},
		threads:  []step{then(distribute("a1 b1"), resync(), distribute("a2 -b"), resync())}},

	// Figures.
	{name: "figures of handlers at work", preemptions: 1, deep: 2, handlers: []spec{{does: []act{slow}}, {}},
		threads: []step{distribute("a1; a2 a3"), then(look(0), look(1), look(0))}},
	{name: "figures of a handler that coalesces", handlers: []spec{{Options: coalesce}},
		threads: []step{distribute("a1; a2 a3"), then(look(0), look(0))}},
	{name: "figures of a handler that leaves", preemptions: 1, deep: 2, handlers: []spec{{does: []act{exits}}},
		threads: []step{distribute("a1; a2"), leave(0), then(look(0), look(0))}},
}

// rig is a processor in one schedule, with its input and its handlers.
type rig struct {
	*Processor
	// delivery is held, as by the informer, while changes are distributed or a handler is added.
	delivery  interleave.Mutex
	state     []thing // the objects, ordered by name
	changes   []line  // the distributed changes, one line for each call
	rounds    int     // number of resyncs, one each second
	ended     bool    // no more changes will be distributed
	synced    bool    // the whole first list was distributed
	released  bool    // calls that block may return
	stopping  bool    // Stop was called
	stopped   bool    // Stop has returned
	recorders []*recorder
	answers   *int
	// waiting is a queue of events, and inFlight the number of events read and not yet distributed.
	waiting  []string
	inFlight int
}

func newRig(answers *int) *rig {
	s := &rig{Processor: NewProcessor(neverEnds{}, stillClock{}), answers: answers}
	s.feed.mu.log.Spare = new(sync.Pool)
	return s
}

// neverEnds is an upstream that is never done.
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

// line is the description of one call of a handler.
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

// parse parses a batch of changes such as "a1 -b [a3 c1]": objects that are added or updated,
// objects that are deleted, and several added or updated by one bulk record.
func (s *rig) parse(batch string) (changes []event.Change) {
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
func (s *rig) change(word string) event.Change {
	name, gone := strings.CutPrefix(word, "-")
	name = name[:1]
	at, found := slices.BinarySearchFunc(s.state, name, func(t thing, name string) int { return strings.Compare(t.name, name) })
	switch {
	case gone:
		old := s.state[at]
		s.state = slices.Delete(slices.Clone(s.state), at, at+1)
		s.changes = append(s.changes, deleted(old))
		for _, h := range s.recorders {
			delete(h.owed, name) // a handler that coalesces may get no call
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

// bulkOf returns one bulk record of Adds, or of Updates.
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

// given sets the objects that exist before any handler is added.
func (s *rig) given(words string) {
	s.parse(words)
	s.changes = nil
}

// handler returns a handler that is not yet added.
func (s *rig) handler(o Options, does ...act) *recorder {
	h := &recorder{rig: s, does: does, objects: map[string]thing{}, owed: map[string]int{}, rounds: map[string]int{}}
	discard := logr.Discard()
	o.Name, o.Logger = strconv.Itoa(len(s.recorders)), &discard
	o.OnDisconnect = h.disconnected
	h.Listener = s.NewListener(h, o)
	s.recorders = append(s.recorders, h)
	return h
}

func (h *recorder) join() {
	s := h.rig
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

// aware adds a handler that knows all objects, and has nothing to do.
func (s *rig) aware(o Options, does ...act) {
	state := s.state
	s.state = nil
	h := s.handler(o, does...)
	h.join()
	for _, t := range state {
		h.objects[t.name] = t
	}
	s.state = state
}

func (s *rig) distribute(batches string) {
	for batch := range strings.SplitSeq(batches, ";") {
		s.distributeBatch(batch)
	}
	s.ended = true
}

func (s *rig) distributeBatch(batch string) {
	s.delivery.Lock()
	defer s.delivery.Unlock()
	for _, h := range s.recorders {
		h.before, h.removed = h.waiting(), isOver(h.closing)
	}
	before := len(s.changes)
	s.Distribute(s.parse(batch))
	for _, h := range s.recorders {
		h.checkBound(len(s.changes) - before)
	}
}

// read reads and distributes one event at a time, when there is room.
func (s *rig) read(events string) {
	for event := range strings.FieldsSeq(events) {
		s.awaitRoom()
		s.distributeBatch(event)
	}
}

// resync distributes a resync of all objects, or updates of some objects that count as a resync,
// for the handlers that are due.
func (s *rig) resync(names ...string) {
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

// owe records that the handlers that are due must be called for an object: by a resync, or with a
// newer version.
func (s *rig) owe(t thing) {
	for _, h := range s.recorders {
		period := int(h.Listener.resync.requested / time.Second)
		if h.joined && period > 0 && s.rounds%period == 0 {
			h.owed[t.name] = t.version
			h.rounds[t.name]++
		}
	}
}

const queued = 3

// fill reads events into the queue, when there is room. drain distributes them.
func (s *rig) fill() {
	for i := range queued {
		s.awaitRoom()
		interleave.Point()
		s.inFlight++
		s.waiting = append(s.waiting, "a"+strconv.Itoa(i+1))
	}
}

func (s *rig) drain() {
	for range queued {
		interleave.Await(func() bool { return len(s.waiting) > 0 })
		event := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.distributeBatch(event)
		interleave.Point()
		s.inFlight--
		s.MadeRoom()
	}
}

// awaitRoom waits for room for one event.
func (s *rig) awaitRoom() {
	for {
		events, freed := s.Room(func() int { interleave.Point(); return s.inFlight })
		if events > 0 {
			return
		}
		interleave.Await(func() bool { return isOver(freed) })
	}
}

// end stops the processor.
func (s *rig) end() {
	s.stopping = true
	s.Stop()
	s.stopped = true
	if n := s.pool.running.Running(); n > 0 {
		interleave.Fail(fmt.Errorf("%d workers are left", n))
	}
	for _, h := range s.recorders {
		if h.calling > 0 || h.joined && !isOver(h.finished) {
			interleave.Fail(fmt.Errorf("handler %s is not over", h.name))
		}
	}
}

// releaseAfter lets blocked calls return once another handler has delivered all changes and left
// the log: no handler waits for a call of another.
func releaseAfter(h int) step {
	return func(s *rig) {
		interleave.Await(func() bool { return s.ended && s.recorders[h].isThrough() })
		s.release()
	}
}

func (s *rig) release() {
	interleave.Point()
	s.released = true
}

func (s *rig) sync() {
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

// check checks the processor and the handlers after all threads have ended.
func (s *rig) check() error {
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
	for _, h := range s.recorders {
		if err := h.check(); err != nil {
			return fmt.Errorf("handler %s: %w", h.name, err)
		}
	}
	return nil
}

// act is the behavior of a handler in a call.
type act uint8

const (
	fine   act = iota // returns
	slow              // takes longer than a quick call
	blocks            // until rig.released
	panics
	exits  // ends its goroutine
	leaves // removes itself
)

// recorder is a handler that records its calls, and fails the schedule at a wrong one.
type recorder struct {
	*Listener
	rig         *rig
	does        []act // by call
	joined      bool
	initial     []line // the expected calls of its initial list
	from        int    // index of the first of the rig's changes that it must deliver after that
	heard       []line
	objects     map[string]thing // the objects that it knows, by name
	owed        map[string]int   // the versions expected because of a resync, by name
	rounds      map[string]int   // number of resync calls that are allowed, by name
	calling     int              // calls in progress
	returned    int              // calls that have returned, panicked or ended their goroutine
	lost        bool             // an initial call has not returned
	leaving     bool             // Remove was called
	gone        bool             // Remove has returned
	before      int              // number of outstanding calls at the last distribution
	removed     bool             // it was removed before the last distribution
	may         int              // number of calls that may still begin although it is gone
	disconnects int              // number of calls of OnDisconnect
}

func (h *recorder) OnAdd(obj any, initial bool) {
	t := obj.(thing)
	if was, found := h.objects[t.name]; found {
		h.fail("it knows %v already", was)
	}
	h.hear(added(t, initial), t)
}

func (h *recorder) OnUpdate(was, is any) {
	old, t := was.(thing), is.(thing)
	l := updated(old, t)
	if l.resync = old == t; l.resync {
		h.rounds[t.name]--
	}
	if h.objects[t.name] != old || old.version > t.version || h.rounds[t.name] < 0 {
		h.fail("it knows %v, not %v before %v", h.objects[t.name], old, t)
	}
	h.hear(l, t)
}

// OnDelete may get a version that was merged with the deletion.
func (h *recorder) OnDelete(obj any) {
	t := obj.(thing)
	if was, found := h.objects[t.name]; !found || was != t && !h.coalesces {
		h.fail("it knows %v, not %v", was, t)
	}
	h.hear(deleted(t), t)
}

// learn updates the known objects.
func (h *recorder) learn(l line, t thing) {
	h.objects[t.name] = t
	if l == deleted(t) {
		delete(h.objects, t.name)
	}
	if h.owed[t.name] <= t.version {
		delete(h.owed, t.name)
	}
}

func (h *recorder) fail(format string, args ...any) {
	interleave.Fail(fmt.Errorf("handler "+h.name+": "+format+", after %v", append(args, h.heard)...))
}

// hear is one call. It begins some time after the worker has decided to make it.
func (h *recorder) hear(l line, t thing) {
	interleave.Point()
	h.begin(l)
	h.learn(l, t)
	ended := false
	defer func() { h.end(l, ended) }()
	h.act(h.returned + h.calling)
	interleave.Point()
	ended = true
}

func (h *recorder) begin(l line) {
	*h.rig.answers++
	switch {
	case h.rig.stopped, isOver(h.finished):
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

// next returns the expected next line, for the given name if the handler has several consumers.
func (h *recorder) next(name string) (next line, ok bool) {
	skip := len(h.heard)
	all := slices.Concat(h.initial, h.rig.changes[h.from:])
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

func (h *recorder) act(call int) {
	if call > len(h.does) {
		return
	}
	switch h.does[call-1] {
	case slow:
		time.Sleep(2 * quickCall)
	case blocks:
		interleave.Await(func() bool { return h.rig.released })
	case panics:
		panic("as it pleases")
	case exits:
		runtime.Goexit()
	case leaves:
		h.remove()
	}
}

func (h *recorder) end(l line, ended bool) {
	h.calling--
	h.returned++
	h.lost = h.lost || l.initial && !ended
	if l.initial && isOver(h.synced) {
		h.fail("%s has not returned, and it has synced", l.text)
	}
	if isOver(h.finished) || h.rig.stopped {
		h.fail("%s has not returned, and it is over", l.text)
	}
}

// remove removes the handler. Only calls that are running may continue.
func (h *recorder) remove() {
	h.leaving = true
	h.rig.Remove(h.Listener)
	if !h.gone {
		h.gone, h.may = true, h.parallel-h.calling
	}
}

func (h *recorder) disconnected(err error) {
	interleave.Point()
	if h.disconnects++; h.disconnects > 1 || h.rig.stopped || !errors.Is(err, ErrDisconnected) {
		h.fail("OnDisconnect is called with %v", err)
	}
}

// waiting returns the number of outstanding notifications. A call that has returned may not be
// counted yet.
func (h *recorder) waiting() int {
	return len(h.rig.changes) - h.from - max(0, h.returned-len(h.initial))
}

// checkBound checks the bound after n changes were distributed.
func (h *recorder) checkBound(n int) {
	if !h.joined || !h.bounded || h.removed || h.leaving || h.rig.stopping {
		return
	}
	if closed := isOver(h.closing); h.waiting() > h.max && !closed {
		h.fail("it is behind %d", h.waiting())
	} else if closed && h.before+n < h.max {
		h.fail("it was behind %d and is removed", h.before)
	}
}

// look checks the figures. Quick calls of one run are counted when all of them have returned.
func (h *recorder) look() {
	before, removed := h.returned, h.gone
	figures := h.Figures()
	calls, all := int(figures.Times.Calls), len(h.initial)+len(h.rig.changes)-h.from
	switch {
	case calls > h.returned, before > calls+eventlog.SegmentSize:
		h.fail("of %d to %d calls %d are counted", before, h.returned, calls)
	case figures.Pending < 0, figures.Pending > all-calls:
		h.fail("of %d calls %d are counted and %d pending", all, calls, figures.Pending)
	case removed && !figures.Removed:
		h.fail("it is not removed")
	}
	*h.rig.answers++
}

// isThrough reports whether the handler has delivered all changes and is parked.
func (h *recorder) isThrough() bool {
	return h.returned == len(h.initial)+len(h.rig.changes)-h.from && h.consumers[0].mu.state == consumerParked
}

// check checks the handler after all threads have ended.
func (h *recorder) check() error {
	if !h.joined {
		return nil
	}
	*h.rig.answers++
	figures := h.Figures()
	switch removed := h.closed.Load(); {
	case h.calling > 0:
		return errors.New("it is in a call")
	case removed != isOver(h.finished):
		return errors.New("finished is not closed")
	case figures.Working || figures.Pending > 0 || figures.Times.Calls != uint64(h.returned):
		return fmt.Errorf("it has heard %v, and its figures are %+v", h.heard, figures)
	case figures.Disconnected != (h.disconnects == 1):
		return errors.New("OnDisconnect was not called once")
	case !removed && (h.isBehind() || len(h.owed) > 0):
		return fmt.Errorf("it has heard nothing but %v, of %v %v", h.heard, h.initial, h.rig.changes[h.from:])
	}
	return errors.Join(h.checkSynced(), h.checkConsumers())
}

// isBehind reports whether a change was not delivered.
func (h *recorder) isBehind() bool {
	if !h.coalesces {
		return len(h.heard) != len(h.initial)+len(h.rig.changes)-h.from
	}
	return len(h.objects) != len(h.rig.state) ||
		slices.ContainsFunc(h.rig.state, func(t thing) bool { return h.objects[t.name] != t })
}

func (h *recorder) checkSynced() error {
	synced, failure := isOver(h.synced), h.syncError()
	switch {
	case synced == (failure != nil) && (h.rig.synced || h.lost):
		return fmt.Errorf("synced %v, and %v", synced, failure)
	case synced && (h.lost || !h.rig.synced):
		return errors.New("it has synced")
	}
	return nil
}

// checkConsumers checks that the consumers keep no changes alive.
func (h *recorder) checkConsumers() error {
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
