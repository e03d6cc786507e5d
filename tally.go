// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import "time"

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
