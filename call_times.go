// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "time"

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

var callTimeBounds = [callTimeBuckets - 1]time.Duration{
	100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second,
}

// callTimes sums up how long calls took.
type callTimes struct {
	calls          uint64
	total, longest time.Duration
	histogram      [callTimeBuckets]uint64
}

// add counts calls that took that long together. All but one of several count as the quickest:
// groups are timed together only where calls are quick, so that one that stands out is the one that
// is counted in its place.
func (t *callTimes) add(calls int, took time.Duration) {
	t.calls += uint64(calls)
	t.total += took
	t.longest = max(t.longest, took)
	t.histogram[0] += uint64(calls - 1)
	bucket := 0
	for bucket < len(callTimeBounds) && took > callTimeBounds[bucket] {
		bucket++
	}
	t.histogram[bucket]++
}

// merge counts the calls of another line of calls, too.
func (t *callTimes) merge(other *callTimes) {
	t.calls += other.calls
	t.total += other.total
	t.longest = max(t.longest, other.longest)
	for i, n := range other.histogram {
		t.histogram[i] += n
	}
}

// figures are what is known of one handler at one time.
type figures struct {
	name      string
	syncError error // why it will never count as synced; nil if it may yet or does

	working      bool // it is being called, or is about to be
	stuck        bool // it has not returned from a call for long
	disconnected bool // removed because it was too slow
	removed      bool // for whatever reason

	calling   time.Duration // how long the running call has lasted, the oldest one of several; 0 if there is none
	oldest    time.Duration // how long ago the change was distributed that it is about
	pending   int           // calls that are outstanding
	coalesced uint64        // changes that will not be delivered because others say what they said
	times     callTimes     // of the calls that have returned
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
	t.current = currentCall{running: true, initial: oldest.initial, since: now, at: oldest.at}
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
func (t *tally) addTo(all *figures, now int64) {
	if t.current.running {
		all.calling = max(all.calling, time.Duration(now-t.current.since))
		all.oldest = max(all.oldest, time.Duration(now-t.current.at))
	}
	all.times.merge(&t.times)
}
