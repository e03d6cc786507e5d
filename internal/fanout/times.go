// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"time"
)

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

// addTo adds to the figures of a handler. Those of several consumers are not summed up where each
// of them counts the same.
func (t *tally) addTo(all *Figures, now int64) {
	if t.current.running {
		all.Calling = max(all.Calling, time.Duration(now-t.current.since))
		all.Oldest = max(all.Oldest, time.Duration(now-t.current.at))
	}
	all.Times.merge(&t.times)
}
