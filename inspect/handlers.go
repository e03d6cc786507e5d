// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"fmt"
	"slices"
	"strings"
	"time"

	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/fanout"
)

// Handler describes the handler of a registration, and its calls. Calls that end by a panic or
// runtime.Goexit count like others.
type Handler struct {
	// Name is Delivery.Name, or a name derived from the handler's code.
	Name string

	// State is the state of the handler: "idle" (no call is outstanding), "running" (it is being
	// called, or is about to be), HandlerStuck, HandlerDisconnected, or "removed" (by
	// RemoveEventHandler, or with the end of its informer). Calling is how long the running call
	// has lasted, or 0. If calls take microseconds, it is the time since one of the last few began.
	State   string
	Calling time.Duration

	// SyncError says why the registration will never count as synced: a call of the handler's
	// initial list did not return, or the handler was removed before it had returned from all of
	// these calls. Otherwise it is nil.
	SyncError error

	// Pending is the number of outstanding calls, including the running one. Oldest is the age of
	// the change of the running call, since the informer passed the change to its handlers. Pending
	// may include up to 31 quick calls that have just returned, or 255 of a list or a resync, and
	// resyncs that are not for the handler. With Delivery.Parallel, they are those of the goroutine
	// that is furthest behind.
	Pending int
	Oldest  time.Duration

	// Delivered is the number of calls that have returned. Up to 32 quick calls in a row, or 256 of
	// a list or a resync, are counted together when the last of them has returned.
	Delivered uint64

	// Coalesced is the number of changes that are not delivered because later ones include them. It
	// is used only with OverflowCoalesce.
	Coalesced uint64

	// Busy is the total time of the calls that have returned, and Longest the time of the longest.
	// Calls that are counted together are timed together; Longest is then the time of all of them.
	Busy, Longest time.Duration

	// Calls counts the calls that have returned by their time. The calls of a bucket took longer
	// than the UpTo of the bucket before it.
	Calls []Bucket
}

// String returns the fields in one line for a log, without objects.
func (h Handler) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", h.Name, h.State)
	if h.Calling > 0 {
		fmt.Fprintf(&b, " in a call for %v, about a change of %v ago", beside.Shortly(h.Calling), beside.Shortly(h.Oldest))
	}
	fmt.Fprintf(&b, ", %d pending, %s", h.Pending, beside.Counted(int64(h.Delivered), "call"))
	if h.Delivered > 0 {
		fmt.Fprintf(&b, " in %v, the longest %v", h.Busy.Round(time.Microsecond), h.Longest.Round(time.Microsecond))
	}
	if h.Coalesced > 0 {
		fmt.Fprintf(&b, ", %s merged", beside.Counted(int64(h.Coalesced), "change"))
	}
	if h.SyncError != nil {
		fmt.Fprintf(&b, "; it never syncs: %v", h.SyncError)
	}
	return b.String()
}

// Bucket counts calls that took up to UpTo; 0 means no bound.
type Bucket struct {
	UpTo  time.Duration
	Count uint64
}

// Values of Handler.State.
const (
	// HandlerStuck means that a call has not returned for a second; Handler.Calling is its time so
	// far.
	HandlerStuck = "stuck"
	// HandlerDisconnected means that the handler was removed because it was too slow for its
	// Delivery.
	HandlerDisconnected = "disconnected"
)

// HandlerOf describes the handler of a registration with an informer of package cache. It may be
// called at any time, also by the handler and after its removal. It costs about as much as a call
// of the handler, and does not block. The error is ErrForeign for a registration of another
// package.
func HandlerOf(registration clientgo.ResourceEventHandlerRegistration) (Handler, error) {
	listener, ok := door.HeldBy[*fanout.Listener](registration)
	if !ok {
		return Handler{}, ErrForeign
	}
	figures := listener.Figures()
	return handlerFrom(&figures), nil
}

func handlersOf(own *door.Informer) []Handler {
	if own.Processor == nil {
		return nil
	}
	figures := own.Processor.Figures()
	handlers := slices.Grow([]Handler(nil), len(figures))
	for i := range figures {
		handlers = append(handlers, handlerFrom(&figures[i]))
	}
	return handlers
}

// handlerFrom returns the Handler for the figures of the fan-out.
func handlerFrom(figures *fanout.Figures) Handler {
	h := Handler{
		Name: figures.Name, State: stateOf(figures), Calling: figures.Calling, SyncError: figures.SyncError,
		Pending: figures.Pending, Oldest: figures.Oldest, Delivered: figures.Times.Calls, Coalesced: figures.Coalesced,
		Busy: figures.Times.Total, Longest: figures.Times.Longest, Calls: make([]Bucket, len(figures.Times.Histogram)),
	}
	for i, n := range figures.Times.Histogram {
		h.Calls[i].Count = n
	}
	for i, bound := range fanout.CallTimeBounds {
		h.Calls[i].UpTo = bound
	}
	return h
}

func stateOf(figures *fanout.Figures) string {
	switch {
	case figures.Disconnected:
		return HandlerDisconnected
	case figures.Removed:
		return "removed"
	case figures.Stuck:
		return HandlerStuck
	case figures.Working:
		return "running"
	default:
		return "idle"
	}
}
