// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
)

// run is a sequence of changes that a consumer has taken together: changes[next:end], or the same
// range of the objects of bulk.
//
//	            settled   next            end
//	               ▼        ▼              ▼
//	changes  c c c c c c c c c c c c c c c
//	         counted  delivered  to deliver
type run struct {
	changes   []event.Change // without bulk records; keeps no other changes alive
	bulk      *event.Change  // a bulk record, or nil
	next, end int32
	settled   int32 // changes before it are counted
	calls     int32 // calls made and not counted yet
	upTo      int64 // the consumer's position after the run, unless it reads further ahead
	quick     bool  // the last calls were quick, so the next ones are timed together
	plain     bool  // all of changes are for this consumer and bounded, or all of bulk is for it
}

// more reports whether some of the run is not delivered.
func (r *run) more() bool { return r.next < r.end || r.bulk != nil && int(r.next) < r.bulk.Many.Len() }

// oldest returns the change to be delivered next, or its bulk record.
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

// boundedSince returns the number of changes in [from, next) that are bounded.
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

// deliver makes the calls of the run until closed is set. If the run is not plain, it skips the
// changes that are not for own; nil means all.
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
	call(one, handler)
}

// call calls the handler's method for a change that is not a bulk record.
func call(c *event.Change, handler clientgo.ResourceEventHandler) {
	if whole, is := handler.(Whole); is {
		whole.OnChange(c)
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

// CallIsolated makes all calls of a change, for a caller without a Processor. It recovers panics of
// the handler.
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

// isBounded reports whether a change counts against Options.Max: it does not belong to an initial
// list or a resync.
func isBounded(c *event.Change) bool { return !c.Initial && !c.Resync && c.Many == nil }

// share selects the changes for one of the consumers of a handler.
type share struct {
	id       uint64 // number of the consumer among all of the processor so far; set before other goroutines see it
	number   uint32 // number of the consumer among those of the handler
	parallel uint32 // the number of consumers of the handler
}

// all reports whether the share has all keys.
func (s *share) all() bool { return s.parallel == 1 }

// wants reports whether a change, or some object of a bulk record, belongs to the share.
func (s *share) wants(c *event.Change) bool {
	if c.Resync && c.Round.Excludes(s.id) {
		return false
	}
	return s.all() || c.Many != nil || maphash.String(shareSeed, c.Key)%uint64(s.parallel) == uint64(s.number)
}

// wantsAny reports whether any of the changes may belong to the share. It may return true for a
// bulk record of which no object does.
func (s *share) wantsAny(changes []event.Change) bool {
	for i := range changes {
		if changes[i].Many != nil && !changes[i].Resync || s.wants(&changes[i]) {
			return true
		}
	}
	return false
}

var shareSeed = maphash.MakeSeed()

// syncState is the progress of a consumer with its initial list.
type syncState uint8

const (
	syncPending syncState = iota // some of the list is not delivered, or may still arrive
	syncDone                     // all calls have returned
	syncFailed                   // a call did not return: the handler never counts as synced
)

// currentCall describes the calls that a consumer is making.
type currentCall struct {
	running bool
	initial bool  // they belong to the initial list, which no run mixes with other changes until it is delivered
	since   int64 // start of the calls
	at      int64 // distribution time of the oldest change
}

// tally is the progress of a consumer.
type tally struct {
	passed  int64 // position in units of feed.end: delivered, or read if the handler coalesces
	counted int64 // the same in units of feed.bounded
	sync    syncState
	times   callTimes     // times of the calls that have returned
	last    time.Duration // duration of the calls that have returned last; 0 after a rest
	current currentCall   // the calls in progress
}

// begin records that the calls of a run begin.
func (t *tally) begin(r *run, now int64) {
	oldest := r.oldest()
	t.current = currentCall{running: true, initial: oldest.Initial, since: now, at: oldest.At}
}

// count adds the calls made since begin.
func (t *tally) count(r *run, now int64) {
	if r.calls > 0 {
		t.last = time.Duration(now - t.current.since)
		t.times.add(int(r.calls), t.last)
		r.quick = t.last/time.Duration(r.calls) < quickCall
		r.calls = 0
	}
	t.current = currentCall{}
}

// pass advances the position past the delivered part of the run.
func (t *tally) pass(r *run) {
	t.passed += int64(r.next - r.settled)
	t.counted += int64(r.boundedSince(r.settled))
}

// stopwatch measures time in nanoseconds since its start.
type stopwatch struct{ epoch time.Time }

func startStopwatch() stopwatch { return stopwatch{time.Now()} }

func (s stopwatch) now() int64 { return int64(time.Since(s.epoch)) }

const (
	// quickCall is the duration up to which the calls of a run are timed together, with one reading
	// of the clock for up to eventlog.SegmentSize or bulkRun calls, because reading it costs as much
	// as calling a handler that does nothing. Slower calls are timed one by one.
	quickCall = 5 * time.Microsecond

	// stuckCall is the duration from which a running call counts as stuck.
	stuckCall = time.Second
)

const callTimeBuckets = 7

var CallTimeBounds = [callTimeBuckets - 1]time.Duration{
	100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second,
}

// callTimes summarizes the durations of calls.
type callTimes struct {
	Calls          uint64
	Total, Longest time.Duration
	Histogram      [callTimeBuckets]uint64
}

// add records calls that took this long together. All but one are counted as the quickest: only
// quick calls are timed together, so an outlier is the one counted in its own bucket.
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

// merge adds the calls of another consumer.
func (t *callTimes) merge(other *callTimes) {
	t.Calls += other.Calls
	t.Total += other.Total
	t.Longest = max(t.Longest, other.Longest)
	for i, n := range other.Histogram {
		t.Histogram[i] += n
	}
}

// Figures are the statistics of one handler at one time.
type Figures struct {
	Name      string
	SyncError error // why the handler will never count as synced; otherwise nil

	Working      bool // it is being called, or is about to be
	Stuck        bool // a call has not returned for long
	Disconnected bool // removed because it was too slow
	Removed      bool // for any reason

	Calling   time.Duration // duration of the longest running call, or 0
	Last      time.Duration // duration of the call before it, the longest of those of all consumers
	Oldest    time.Duration // age of the change that the running call delivers
	Pending   int           // number of outstanding calls
	Coalesced uint64        // number of changes merged into others
	Times     callTimes     // times of the calls that have returned
}
