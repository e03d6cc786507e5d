// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/fanout"
)

// Handler describes the handler of a registration, and its calls. Calls that a panic or runtime.Goexit has ended count like
// others.
type Handler struct {
	// Name is Delivery.Name, or the name that the handler's code gives.
	Name string

	// State is what the handler is doing: "idle" (it has been called for everything there is),
	// "running" (it is being called, or is about to be), HandlerStuck, HandlerDisconnected, or
	// "removed" (by RemoveEventHandler, or with the end of its informer). Calling is how long the running call has lasted, 0 if
	// there is none. Where calls take microseconds, it is the time since one of the last few began.
	State   string
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

	// Calls counts the calls that have returned by their time. Each was longer than the bucket
	// before it says.
	Calls []Bucket
}

// String returns the figures in one line for a log, without objects.
func (h Handler) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", h.Name, h.State)
	if h.Calling > 0 {
		fmt.Fprintf(&b, " in a call for %v, about a change of %v ago", door.Shortly(h.Calling), door.Shortly(h.Oldest))
	}
	fmt.Fprintf(&b, ", %d pending, %s", h.Pending, door.Counted(int64(h.Delivered), "call"))
	if h.Delivered > 0 {
		fmt.Fprintf(&b, " in %v, the longest %v", h.Busy.Round(time.Microsecond), h.Longest.Round(time.Microsecond))
	}
	if h.Coalesced > 0 {
		fmt.Fprintf(&b, ", %s merged", door.Counted(int64(h.Coalesced), "change"))
	}
	if h.SyncError != nil {
		fmt.Fprintf(&b, "; it never syncs: %v", h.SyncError)
	}
	return b.String()
}

// Bucket counts calls by the time that they took: up to UpTo, of which 0 means any.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// What Handler.State is compared with.
const (
	// HandlerStuck has not returned from a call for a second; Handler.Calling says for how long.
	HandlerStuck = "stuck"
	// HandlerDisconnected was removed because it was too slow for its Delivery.
	HandlerDisconnected = "disconnected"
)

// StatsOf describes the handler of a registration with an informer of package cache. It may be called
// at any time, also from the handler and after its removal, costs about as much as a call of the
// handler, and never waits. The error is ErrForeign for a registration of another package.
func StatsOf(registration clientgo.ResourceEventHandlerRegistration) (Handler, error) {
	listener, ok := door.Held[*fanout.Listener](registration)
	if !ok {
		return Handler{}, ErrForeign
	}
	known := listener.Figures()
	return handlerFrom(&known), nil
}

func handlersOf(own *door.Informer) []Handler {
	if own.Processor == nil {
		return nil
	}
	known := own.Processor.Figures()
	handlers := slices.Grow([]Handler(nil), len(known))
	for i := range known {
		handlers = append(handlers, handlerFrom(&known[i]))
	}
	return handlers
}

// handlerFrom translates what the fan-out knows of a handler.
func handlerFrom(known *fanout.Figures) Handler {
	h := Handler{
		Name: known.Name, State: stateOf(known), Calling: known.Calling, SyncError: known.SyncError,
		Pending: known.Pending, Oldest: known.Oldest, Delivered: known.Times.Calls, Coalesced: known.Coalesced,
		Busy: known.Times.Total, Longest: known.Times.Longest, Calls: make([]Bucket, len(known.Times.Histogram)),
	}
	for i, n := range known.Times.Histogram {
		h.Calls[i].Count = n
	}
	for i, bound := range fanout.CallTimeBounds {
		h.Calls[i].UpTo = bound
	}
	return h
}

func stateOf(known *fanout.Figures) string {
	switch {
	case known.Disconnected:
		return HandlerDisconnected
	case known.Removed:
		return "removed"
	case known.Stuck:
		return HandlerStuck
	case known.Working:
		return "running"
	default:
		return "idle"
	}
}
