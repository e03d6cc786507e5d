// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/queue"
)

// MeasuredRegistration is implemented by the registrations of this package's informers, in addition
// to ResourceEventHandlerRegistration:
//
//	if measured, ok := registration.(cache.MeasuredRegistration); ok {
//		statistics := measured.Stats()
//	}
type MeasuredRegistration interface {
	ResourceEventHandlerRegistration

	// Stats returns what the handler is doing and has done. It may be called at any time, also
	// from the handler and after its removal, costs about as much as a call of the handler, and
	// never waits.
	Stats() HandlerStats

	sealed() // only this package implements it, so that later versions may add methods
}

// HandlerStats describes one handler. Calls that a panic or runtime.Goexit has ended count like
// others.
type HandlerStats struct {
	// Name is Delivery.Name, or the name that the handler's code gives.
	Name string

	// State is what the handler is doing. Calling is how long the running call has lasted, 0 if
	// there is none. Where calls take microseconds, it is the time since one of the last few began.
	State   HandlerState
	Calling time.Duration

	// SyncError says why the registration will never count as synced: a call of the handler's
	// initial list did not return, or the handler was removed before it had been called for all of
	// that list. Else it is nil.
	SyncError error

	// Pending is the number of outstanding calls, the running one included. Oldest is the age of
	// the change that the running call is about, since the informer passed it on to its handlers.
	// Pending may include up to 31 quick calls that have just returned, or 255 of a list or a
	// resync, and resyncs that are not for the handler. With Delivery.Parallel, the goroutine that
	// is furthest behind counts.
	Pending int
	Oldest  time.Duration

	// Delivered is the number of calls that have returned. Up to 32 quick calls in a row, or 256 of
	// a list or a resync, are counted together when the last of them has returned.
	Delivered uint64

	// Coalesced is the number of changes that are not delivered because later ones include them. It
	// is for OverflowCoalesce only.
	Coalesced uint64

	// Busy is the total time of the calls that have returned, and Longest the time of the longest.
	// Calls that are counted together are timed together; Longest is then the time of all of them.
	Busy, Longest time.Duration

	// Histogram counts the calls that have returned by their time: those of up to 100 microseconds,
	// 1, 10 and 100 milliseconds, 1 and 10 seconds, and all others.
	Histogram [7]uint64
}

// HandlerState is what a handler is doing.
type HandlerState uint8

const (
	// HandlerIdle has been called for everything there is.
	HandlerIdle HandlerState = iota
	// HandlerRunning is being called, or is about to be.
	HandlerRunning
	// HandlerStuck has not returned from a call for a second; HandlerStats.Calling says for
	// how long.
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

// statisticsOf translates what the fan-out knows of a handler.
func statisticsOf(known fanout.Figures) HandlerStats {
	return HandlerStats{
		Name:      known.Name,
		State:     stateOf(&known),
		Calling:   known.Calling,
		SyncError: known.SyncError,
		Pending:   known.Pending,
		Oldest:    known.Oldest,
		Delivered: known.Times.Calls,
		Coalesced: known.Coalesced,
		Busy:      known.Times.Total,
		Longest:   known.Times.Longest,
		Histogram: known.Times.Histogram,
	}
}

func stateOf(known *fanout.Figures) HandlerState {
	switch {
	case known.Disconnected:
		return HandlerDisconnected
	case known.Removed:
		return HandlerRemoved
	case known.Stuck:
		return HandlerStuck
	case known.Working:
		return HandlerRunning
	default:
		return HandlerIdle
	}
}

// QueueStats describes a queue and the controller that empties it. See QueueStatsOf.
type QueueStats struct {
	// Depth is how many items wait: changes in a RealFIFO, objects in a DeltaFIFO. What is being
	// processed is not counted.
	Depth int
	// Limit is the bound of Depth, 0 for none. Pauses counts how often it held up the reading of
	// the watch, Paused is for how long in all, a pause that lasts included.
	Limit  int
	Pauses uint64
	Paused time.Duration

	// Untransformed is the number of objects whose newest version the transform function refused,
	// so that an older one, or none, is cached. Anything but 0 means that the cache does not show
	// what the server has.
	Untransformed int
	// TransformErrors counts the calls of the transform function that failed or panicked,
	// LastTransformError is the last.
	TransformErrors    uint64
	LastTransformError error

	// ProcessErrors counts the items and batches that the process function failed or panicked on,
	// LastProcessError is the last. They are 0 and nil for a queue on its own.
	ProcessErrors    uint64
	LastProcessError error
}

// QueueStatsOf returns the statistics of a RealFIFO, a DeltaFIFO, a Controller of New or
// NewInformer*, or a shared informer of this package, however it is handed out (see StatusOf), at
// any time and from any goroutine. It reports false for anything else, for a controller whose Queue
// is foreign, and for an informer that was not started.
func QueueStatsOf(queueOrController any) (QueueStats, bool) {
	counted := unwrapped(queueOrController)
	if own := recordsOf(counted); own != nil {
		return statsOf(own), true
	}
	if controller, own := counted.(interface{ queueStats() (QueueStats, bool) }); own {
		return controller.queueStats()
	}
	return QueueStats{}, false
}

// recordsOf returns what a queue of ours, or a type that embeds one, is made of, and nil for
// others.
func recordsOf(what any) *queue.Queue {
	switch own := what.(type) {
	case *queue.Queue:
		return own
	case interface{ core() *queue.Queue }:
		return own.core()
	default:
		return nil
	}
}

func statsOf(q *queue.Queue) QueueStats {
	depths := q.Depths()
	stats := QueueStats{
		Depth: depths.Waiting, Limit: depths.Limit, Pauses: depths.Pauses, Paused: depths.Paused,
	}
	stats.Untransformed, stats.TransformErrors, stats.LastTransformError = q.Reader.Transform.Counts()
	return stats
}

func (c *controller) queueStats() (QueueStats, bool) {
	stats, ok := QueueStatsOf(c.queue)
	c.failures.addTo(&stats)
	return stats, ok
}

func (s *sharedIndexInformer) queueStats() (QueueStats, bool) {
	if c := s.started(); c != nil {
		return c.queueStats()
	}
	return QueueStats{}, false
}

// started returns the informer's controller, or nil before the start.
func (s *sharedIndexInformer) started() *controller {
	s.life.Lock()
	defer s.life.Unlock()
	return s.life.controller
}

// transformer returns what transforms on the way into the controller's queue, nil for a foreign
// queue.
func (c *controller) transformer() *event.Transformer {
	if own := recordsOf(c.queue); own != nil {
		return &own.Reader.Transform
	}
	return nil
}

func (s *sharedIndexInformer) transformer() *event.Transformer {
	if c := s.started(); c != nil {
		return c.transformer()
	}
	return nil
}
