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
	Histogram [7]uint64
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

// CallTimeBounds returns the upper bounds of the elements of HandlerStatistics.Histogram, but for the last one, which has
// none: powers of ten from 100 microseconds to 10 seconds.
func CallTimeBounds() []time.Duration { return append([]time.Duration(nil), callTimeBounds[:]...) }

// statisticsOf translates what the fan-out knows of a handler.
func statisticsOf(known figures) HandlerStatistics {
	return HandlerStatistics{
		Name:      known.name,
		State:     stateOf(&known),
		Calling:   known.calling,
		SyncError: known.syncError,
		Pending:   known.pending,
		Oldest:    known.oldest,
		Delivered: known.times.calls,
		Coalesced: known.coalesced,
		Busy:      known.times.total,
		Longest:   known.times.longest,
		Histogram: known.times.histogram,
	}
}

func stateOf(known *figures) HandlerState {
	switch {
	case known.disconnected:
		return HandlerDisconnected
	case known.removed:
		return HandlerRemoved
	case known.stuck:
		return HandlerStuck
	case known.working:
		return HandlerRunning
	default:
		return HandlerIdle
	}
}
