// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"
)

// MeasuredRegistration is what the registration handles of our informers are beside a ResourceEventHandlerRegistration:
//
//	if measured, ok := registration.(cache.MeasuredRegistration); ok {
//		statistics := measured.Statistics()
//	}
type MeasuredRegistration interface {
	ResourceEventHandlerRegistration

	// Statistics returns what the handler is doing and has done. It may be called at any time, also from the handler and
	// after its removal, costs about as much as a call of the handler, and waits for nobody.
	Statistics() HandlerStatistics
}

var _ MeasuredRegistration = (*processorListener)(nil)

// HandlerStatistics is what is known of one handler. Calls that a panic or runtime.Goexit has ended count like others.
type HandlerStatistics struct {
	// Name is Delivery.Name, or the name that the handler's code gives.
	Name string

	// State is what the handler is doing, and Calling for how long the running call has lasted, 0 if there is none. Where
	// calls take microseconds it is the time since one of the last few.
	State   HandlerState
	Calling time.Duration

	// SyncError says why the registration will never count as synced: a call of the handler's initial list did not return, or
	// the handler was removed before it had heard all of that list. Else it is nil.
	SyncError error

	// Pending is how many calls are outstanding, the running one included, and Oldest how long ago the change was
	// distributed that the running one is about. Up to 31 calls that have just returned, and resyncs that are not for the
	// handler, may be included. With Delivery.Parallel the goroutine counts that is behind most.
	Pending int
	Oldest  time.Duration

	// Delivered is how many calls have returned.
	Delivered uint64

	// Coalesced is how many changes will not be delivered because others say what they said: with Coalesce only.
	Coalesced uint64

	// Busy is how long all calls that have returned took together, and Longest the longest of them. Quick calls are timed
	// in groups of up to 32 that follow each other, and Longest is then the time of the longest group.
	Busy, Longest time.Duration

	// Histogram counts the calls that have returned by the time they took: element i those of up to CallTimeBounds()[i],
	// the last one all others.
	Histogram [callTimeBuckets]uint64
}

// HandlerState is what a handler is doing.
type HandlerState uint8

const (
	// HandlerIdle has heard of everything there is.
	HandlerIdle HandlerState = iota
	// HandlerRunning is being called, or is about to be.
	HandlerRunning
	// HandlerStuck has not returned from a call for a second; HandlerStatistics.Calling says for how long.
	HandlerStuck
	// HandlerDisconnected was removed because it was too slow for its Delivery.
	HandlerDisconnected
	// HandlerRemoved was removed by RemoveEventHandler, or with the end of its informer.
	HandlerRemoved
)

// String returns the name of the state in lower case.
func (s HandlerState) String() string {
	names := [...]string{"idle", "running", "stuck", "disconnected", "removed"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// stuckCall is the age from which a call counts as stuck.
const stuckCall = time.Second

const callTimeBuckets = 7

var callTimeBounds = [callTimeBuckets - 1]time.Duration{
	100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second,
}

// CallTimeBounds returns the upper bounds of the elements of HandlerStatistics.Histogram, but for the last one, which has
// none: powers of ten from 100 microseconds to 10 seconds.
func CallTimeBounds() []time.Duration { return append([]time.Duration(nil), callTimeBounds[:]...) }

// callTimes sums up how long calls took.
type callTimes struct {
	calls          uint64
	total, longest time.Duration
	histogram      [callTimeBuckets]uint64
}

// add counts calls that took that long together. All but one of several count as the quickest: groups are timed together
// only where calls are quick, so that one that stands out is the one that is counted in its place.
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

// Statistics implements MeasuredRegistration.
func (l *processorListener) Statistics() HandlerStatistics {
	all := HandlerStatistics{Name: l.delivery.Name, SyncError: l.syncError()}
	now := l.processor.now()
	for _, c := range l.couriers {
		c.addStatistics(&all, now)
	}
	switch {
	case l.fault.Load():
		all.State = HandlerDisconnected
	case l.closed.Load():
		all.State = HandlerRemoved
	case all.Calling >= stuckCall:
		all.State = HandlerStuck
	}
	return all
}

func (l *courier) addStatistics(all *HandlerStatistics, now int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.state == courierAtWork {
		all.State = HandlerRunning
	}
	if work := l.mu.current; work.calling {
		all.Calling = max(all.Calling, time.Duration(now-work.since))
		all.Oldest = max(all.Oldest, time.Duration(now-work.at))
	}
	if l.listener.coalesces() {
		all.Pending += int(l.backlogLocked())
	} else {
		all.Pending = max(all.Pending, int(l.backlogLocked()))
	}
	all.Coalesced += l.mu.coalesced
	if l.mu.pending != nil {
		all.Coalesced += l.mu.pending.merged
	}
	times := &l.mu.times
	all.Delivered += times.calls
	all.Busy += times.total
	all.Longest = max(all.Longest, times.longest)
	for i, n := range times.histogram {
		all.Histogram[i] += n
	}
}
