// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/reflector"
)

// Requests says how an informer requests what it follows.
type Requests struct {
	// Mode is how the informer requests the whole state.
	Mode ListMode
	// PageSize makes the informer list in pages of that many objects. That keeps its peak of memory
	// low, but the server then reads the list from its storage instead of its cache, which costs it
	// much more. By default the informer asks for pages only where the server ignores that or has no
	// cache. It cannot be combined with ListModeWatchList.
	PageSize int64
	// Slots has the informer wait for one of the slots before it requests the whole state. Give the
	// same slots to all informers of a program to limit the program. The default, nil, is no limit.
	Slots *ListSlots
	// StartJitter delays the first request, and the return after an outage, by a random part of it,
	// so that a fleet does not list at once. By default only the return is, by up to a second.
	StartJitter time.Duration
	// Backoff is the delays between failed requests; those that no server answers have a series of
	// their own. A series starts again after 2 minutes without failure. The zero value grows from
	// 0.8 s to 30 s, plus a random part of up to the same length; if no server answers, up to 90 s. A
	// longer Retry-After of the server goes first, up to 5 minutes.
	Backoff wait.Backoff
	// StreamSilence is how long a watch-list may send nothing before the informer ends it and uses
	// LIST. 0 is 2 minutes. It cannot be combined with ListModeList.
	StreamSilence time.Duration
	// IdleTimeout makes the informer open its watch again, where it left off, if neither an event nor
	// a bookmark has come for that long, or up to one and a half times that. A connection that a
	// middlebox has dropped looks like a quiet one. The informer begins to look after the first
	// bookmark. Servers that send bookmarks send one each minute, so it should be several minutes.
	// Time in which the informer itself was held up does not count. 0 is never.
	IdleTimeout time.Duration
	// ExpectedNamespace tells the informer that its ListerWatcher requests the objects of one
	// namespace; the informer cannot know otherwise. It reports objects of any other namespace that
	// come in a list or a watch, leaves them out, and counts them in inspect.Status.Dropped, as it
	// does with objects of another type. Requests stay as they are. "" is any namespace.
	ExpectedNamespace string
}

// ListMode says how an informer requests the whole state. The zero value is by watch-list if the
// feature gate WatchListClient is on and the client permits it, otherwise by LIST; after three
// watch-lists in a row that end without their end mark, or one that is silent, by LIST for 10
// minutes.
type ListMode string

const (
	// ListModeList: by LIST.
	ListModeList ListMode = "list"
	// ListModeWatchList: by watch-list, whatever the gate and the client say. If a watch-list
	// fails, or ends without its end mark, the informer uses LIST, but only that time.
	ListModeWatchList ListMode = "watch-list"
)

// ListSlots limits how many informers request their whole state at the same time, which bounds the
// peak of the memory. It applies to the informers that were given the same ListSlots; further ones
// wait for their turn (inspect.Status.Phase). A request that hangs (inspect.Problem) no longer counts.
type ListSlots struct{ free chan struct{} }

// NewListSlots returns slots for n informers at the same time; 0 means 1. If n is negative,
// informers with these slots do not run.
func NewListSlots(n int) *ListSlots {
	if n < 0 {
		return &ListSlots{}
	}
	s := &ListSlots{free: make(chan struct{}, max(n, 1))}
	for range cap(s.free) {
		s.free <- struct{}{}
	}
	return s
}

func (r *Requests) set(o *reflector.Options, bad *door.Faults) {
	o.Mode, o.PageSize, o.Spread = reflector.Mode(r.Mode), r.PageSize, r.StartJitter
	o.StreamSilence, o.IdleTimeout, o.Namespace = r.StreamSilence, r.IdleTimeout, r.ExpectedNamespace
	if r.Backoff != (wait.Backoff{}) {
		o.Backoff = &r.Backoff
	}
	if r.Slots != nil {
		o.Turns = r.Slots.free
	}
	r.check(bad)
}

// check notes values that cannot be had, and pairs that exclude each other.
func (r *Requests) check(bad *door.Faults) {
	if !slices.Contains([]ListMode{"", ListModeList, ListModeWatchList}, r.Mode) {
		bad.Add("Requests.Mode: there is no mode %q: use ListModeList or ListModeWatchList, or leave it out", r.Mode)
	}
	refuseNegative(bad, "Requests.PageSize", r.PageSize, "the default")
	refuseNegative(bad, "Requests.StreamSilence", r.StreamSilence, "the default")
	refuseNegative(bad, "Requests.IdleTimeout", r.IdleTimeout, "never")
	refuseNegative(bad, "Requests.StartJitter", r.StartJitter, "no wait")
	if r.Backoff != (wait.Backoff{}) {
		r.checkBackoff(bad)
	}
	if r.Slots != nil && cap(r.Slots.free) == 0 {
		bad.Add("Requests.Slots were not made by NewListSlots, or were made with a negative number")
	}
	if r.Mode == ListModeWatchList && r.PageSize > 0 {
		bad.Add("Requests.PageSize is for lists, and ListModeWatchList sends none: leave out one of them")
	}
	if r.Mode == ListModeList && r.StreamSilence > 0 {
		bad.Add("Requests.StreamSilence is for watch-lists, and ListModeList sends none: leave out one of them")
	}
}

// checkBackoff notes delays of no length, or negative ones: requests would follow each other at
// once.
func (r *Requests) checkBackoff(bad *door.Faults) {
	b := &r.Backoff
	if b.Duration <= 0 {
		bad.Add("Requests.Backoff: Duration is %v: the first delay must be positive", b.Duration)
	}
	if !(b.Factor >= 0 && b.Jitter >= 0) || math.IsInf(b.Factor+b.Jitter, 1) || b.Steps < 0 || b.Cap < 0 {
		bad.Add("Requests.Backoff: Factor %v, Jitter %v, Steps %d, Cap %v: none may be negative, infinite or NaN",
			b.Factor, b.Jitter, b.Steps, b.Cap)
	}
}
