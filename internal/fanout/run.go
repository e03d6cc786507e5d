// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"hash/maphash"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// run is a number of changes that were taken together: changes[next:end], or that range of a bulk
// record.
type run struct {
	changes   []event.Change // without bulk records, in memory that keeps no other changes alive
	bulk      *event.Change  // a bulk record, or nil
	next, end int32
	settled   int32 // up to where it is counted
	upTo      int64 // where the consumer is when all is counted, if it reads no further ahead
	calls     int32 // not counted yet
	began     int64 // when the first of these was made
	initial   bool  // the current call belongs to the initial list
	panicked  bool  // the last call did
	quick     bool  // the last calls were quick: what follows need not be timed one by one
	plain     bool  // all of changes are for this consumer and bounded, or all of bulk is for it
}

// more reports whether some of what was taken is not delivered.
func (r *run) more() bool { return r.next < r.end || r.bulk != nil && int(r.next) < r.bulk.Many.Len() }

// oldest returns the change that is delivered next, or the bulk record that it belongs to.
func (r *run) oldest() *event.Change {
	if r.bulk != nil {
		return r.bulk
	}
	return &r.changes[r.next]
}

// former returns the object of the Add that was delivered last.
func (r *run) former() any {
	if r.bulk != nil {
		return r.bulk.Many.At(int(r.next - 1))
	}
	return r.changes[r.next-1].New
}

// boundedSince returns how many of the changes from that one on were delivered and are bounded.
func (r *run) boundedSince(from int32) (n int) {
	switch {
	case r.bulk != nil:
		return 0
	case r.plain:
		return int(r.next - from)
	}
	for i := from; i < r.next; i++ {
		if isBounded(&r.changes[i]) {
			n++
		}
	}
	return n
}

// deliver makes the calls, until closed is set. Where the run is not plain, only those are made
// that belong to own; a nil own is all.
func (r *run) deliver(handler clientgo.ResourceEventHandler, closed *atomic.Bool, own *share) {
	if r.plain && r.bulk == nil { // nearly always
		for r.next < r.end && !closed.Load() {
			one := &r.changes[r.next]
			r.next++
			r.calls++
			call(one, handler)
		}
		return
	}
	for r.next < r.end && !closed.Load() {
		i := r.next
		r.next++
		if r.bulk == nil {
			r.deliverOne(&r.changes[i], handler, own)
		} else {
			one := r.bulk.Single(int(i))
			r.deliverOne(&one, handler, own)
		}
	}
}

func (r *run) deliverOne(one *event.Change, handler clientgo.ResourceEventHandler, own *share) {
	if own != nil && !r.plain && !own.wants(one) {
		return
	}
	r.calls++
	r.initial = one.Initial
	call(one, handler)
	r.initial = false
}

// call calls the handler's method for a change that is no bulk record.
func call(c *event.Change, handler clientgo.ResourceEventHandler) {
	if whole, is := handler.(Whole); is {
		whole.Tell(c)
		return
	}
	switch c.Kind {
	case event.ChangeAdd:
		handler.OnAdd(c.New, c.Initial)
	case event.ChangeUpdate:
		handler.OnUpdate(c.Old, c.New)
	case event.ChangeDelete:
		handler.OnDelete(c.Old)
	}
}

// CallIsolated makes all calls that a change stands for, for a caller without a Processor, who goes
// on after a panic of the handler.
func CallIsolated(c *event.Change, handler clientgo.ResourceEventHandler) {
	if c.Many == nil {
		callOneIsolated(c, handler)
		return
	}
	c.Many.Keyed = isWhole(handler)
	for i := range c.Many.Len() {
		one := c.Single(i)
		callOneIsolated(&one, handler)
	}
}

func callOneIsolated(c *event.Change, handler clientgo.ResourceEventHandler) {
	defer utilruntime.HandleCrash()
	call(c, handler)
}

// isBounded reports whether a change counts against Options.Max: it is a notification, no part of
// an initial list or a resync.
func isBounded(c *event.Change) bool { return !c.Initial && !c.Resync && c.Many == nil }

// lostCall is a call of an initial list that did not return.
type lostCall struct {
	obj      any
	panicked bool // else it has ended its goroutine
}

func (c *lostCall) error() error {
	what, how := "an object", "ended its goroutine"
	if key, err := clientgo.MetaNamespaceKeyFunc(c.obj); err == nil {
		what = key
	}
	if c.panicked {
		how = "panicked"
	}
	return fmt.Errorf("the call for the Add of %s, which belongs to its initial list, %s", what, how)
}

// share is which changes are for one of the consumers of a handler.
type share struct {
	id       uint64 // of the consumer, among all of the processor so far; set before others see it
	number   uint32 // of the consumer, among those of the handler
	parallel uint32 // how many consumers the handler has
}

// all reports whether the keys of all objects belong to the share.
func (s *share) all() bool { return s.parallel == 1 }

// wants reports whether a change, or for a bulk record some of it, belongs to the share.
func (s *share) wants(c *event.Change) bool {
	if c.Resync && c.Round.Excludes(s.id) {
		return false
	}
	return s.all() || c.Many != nil || maphash.String(shareSeed, c.Key)%uint64(s.parallel) == uint64(s.number)
}

// wantsAny reports whether any of the changes belongs to the share. It may be wrong to say yes.
func (s *share) wantsAny(changes []event.Change) bool {
	for i := range changes {
		if changes[i].Many != nil && !changes[i].Resync || s.wants(&changes[i]) {
			return true
		}
	}
	return false
}

var shareSeed = maphash.MakeSeed()

// syncState is where a consumer is with its initial list.
type syncState uint8

const (
	syncPending syncState = iota // some of the list is not delivered, or may still come
	syncDone                     // all calls have returned
	syncFailed                   // a call did not return: the handler never counts as synced
)

// currentCall says what a consumer at work is delivering.
type currentCall struct {
	running bool
	initial bool  // the call belongs to the initial list
	since   int64 // when the calls began
	at      int64 // when the oldest of them was distributed
}

// tally is how far a consumer has come.
type tally struct {
	passed  int64 // on the scale of feed.end: what is delivered, or with coalesce what is read
	counted int64 // the same on the scale of feed.bounded
	sync    syncState
	times   callTimes   // of the calls that have returned
	current currentCall // what is delivered now
}

// begin notes that the calls of a run begin.
func (t *tally) begin(r *run, now int64) {
	oldest := r.oldest()
	t.current = currentCall{running: true, initial: oldest.Initial, since: now, at: oldest.At}
}

// count adds what was delivered of the run since the last time. It returns how long that took, if
// that was slow, and the call of the initial list that did not return, if there was one.
func (t *tally) count(r *run, now int64) (slow time.Duration, lost *lostCall) {
	t.current = currentCall{}
	if r.initial {
		if t.sync == syncPending {
			t.sync = syncFailed
			lost = &lostCall{r.former(), r.panicked}
		}
		r.initial = false
	}
	r.panicked = false
	if r.calls > 0 {
		took := time.Duration(now - r.began)
		t.times.add(int(r.calls), took)
		r.quick = took/time.Duration(r.calls) < quickCall
		if took >= slowCall {
			slow = took
		}
		r.calls = 0
	}
	return slow, lost
}

// pass moves the place on behind what was delivered of the run.
func (t *tally) pass(r *run) {
	t.passed += int64(r.next - r.settled)
	t.counted += int64(r.boundedSince(r.settled))
}

// stopwatch says what time it is, for changes and calls, in nanoseconds since it was started.
type stopwatch struct{ epoch time.Time }

func startStopwatch() stopwatch { return stopwatch{time.Now()} }

func (s stopwatch) now() int64 { return int64(time.Since(s.epoch)) }

const (
	// quickCall is up to where calls are timed by the run, at a cost of one reading of the clock
	// (25-40 ns) for up to eventlog.SegmentSize or bulkRun calls. Slower ones can afford one each.
	quickCall = 5 * time.Microsecond

	// slowCall is the time from which a call may be worth a line in the log.
	slowCall = 100 * time.Millisecond

	// stuckCall is the age from which a call counts as stuck.
	stuckCall = time.Second
)

const callTimeBuckets = 7

var CallTimeBounds = [callTimeBuckets - 1]time.Duration{
	100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second,
}

// callTimes sums up how long calls took.
type callTimes struct {
	Calls          uint64
	Total, Longest time.Duration
	Histogram      [callTimeBuckets]uint64
}

// add counts calls that took that long together. All but one of several count as the quickest:
// groups are timed together only where calls are quick, so that one that stands out is the one that
// is counted in its place.
func (t *callTimes) add(calls int, took time.Duration) {
	t.Calls += uint64(calls)
	t.Total += took
	t.Longest = max(t.Longest, took)
	t.Histogram[0] += uint64(calls - 1)
	bucket := 0
	for bucket < len(CallTimeBounds) && took > CallTimeBounds[bucket] {
		bucket++
	}
	t.Histogram[bucket]++
}

// merge counts the calls of another line of calls, too.
func (t *callTimes) merge(other *callTimes) {
	t.Calls += other.Calls
	t.Total += other.Total
	t.Longest = max(t.Longest, other.Longest)
	for i, n := range other.Histogram {
		t.Histogram[i] += n
	}
}

// Figures are what is known of one handler at one time.
type Figures struct {
	Name      string
	SyncError error // why it will never count as synced; nil if it may yet or does

	Working      bool // it is being called, or is about to be
	Stuck        bool // it has not returned from a call for long
	Disconnected bool // removed because it was too slow
	Removed      bool // for whatever reason

	Calling   time.Duration // how long the running call has lasted, the oldest one of several; 0 if there is none
	Oldest    time.Duration // how long ago the change was distributed that it is about
	Pending   int           // calls that are outstanding
	Coalesced uint64        // changes that will not be delivered because others say what they said
	Times     callTimes     // of the calls that have returned
}

// addTo adds to the figures of a handler. Those of several consumers are not summed up where each
// of them counts the same.
func (t *tally) addTo(all *Figures, now int64) {
	if t.current.running {
		all.Calling = max(all.Calling, time.Duration(now-t.current.since))
		all.Oldest = max(all.Oldest, time.Duration(now-t.current.at))
	}
	all.Times.merge(&t.times)
}
