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

// Requests configures the requests of an informer.
type Requests struct {
	// Mode is the way in which the informer requests the collection.
	Mode ListMode
	// PageSize makes the informer list in pages of that many objects. Pages lower its peak of memory,
	// but the server reads them from its storage instead of its cache, which is far more expensive. By
	// default the informer requests pages only from servers that ignore the page size or have no cache.
	// PageSize cannot be combined with ListModeWatchList.
	PageSize int64
	// Slots makes the informer wait for one of the slots before it requests the collection. Informers
	// with the same slots share the limit, for instance all those of a program. The default, nil, is no
	// limit.
	Slots *ListSlots
	// StartJitter is the upper bound of a random delay of the first request and of the first request
	// after an outage, so that a fleet does not list at once. By default only the latter is delayed: a
	// watch by up to a second, and a list that has to follow by as much as docs/observability.md says.
	StartJitter time.Duration
	// Backoff configures the delays between failed requests. Requests that reach no server have a
	// separate series of delays. A series starts again every 2 minutes. The zero value
	// grows from 0.8 s to 30 s, plus a random part of up to the same length; if no server answers, a
	// delay is nine tenths of the time since the loss, at most 20 s. A longer Retry-After of the server
	// takes precedence, up to 5 minutes. With a Factor above 1 the delays grow for the given number of
	// Steps; 0 Steps means that they grow up to Cap, if it is reached in 2 minutes.
	Backoff wait.Backoff
	// StreamSilence is the time without data after which the informer ends a watch-list and uses LIST.
	// 0 means 2 minutes. It cannot be combined with ListModeList.
	StreamSilence time.Duration
	// IdleTimeout makes the informer reopen its watch at its last resourceVersion if neither an event
	// nor a bookmark has arrived for IdleTimeout to one and a half times IdleTimeout. It detects
	// connections that a middlebox has dropped silently. It takes effect after the first bookmark.
	// Servers that send bookmarks send one each minute, so IdleTimeout should be several minutes. Time
	// in which the informer itself was blocked does not count. 0 means never.
	IdleTimeout time.Duration
	// ExpectedNamespace is the namespace that the ListerWatcher requests, which the informer cannot
	// know otherwise. The informer reports objects of any other namespace in a list or a watch, drops
	// them, and counts them in inspect.Status.Dropped, as it does with objects of another type. The
	// requests are not changed. "" means any namespace.
	ExpectedNamespace string
}

// ListMode is the way in which an informer requests the collection. The zero value means a watch-list
// if the feature gate WatchListClient is on and the client permits it, otherwise LIST. After three
// consecutive watch-lists that end without their end mark, or one that is silent, the informer uses
// LIST for 10 minutes, and only once if one of the three ended within a second. After a watch-list that
// ends within a second and without an event it uses LIST once.
type ListMode string

const (
	// ListModeList uses LIST.
	ListModeList ListMode = "list"
	// ListModeWatchList uses a watch-list, regardless of the gate and the client. If a watch-list
	// fails, or ends without its end mark, the informer uses LIST that one time.
	ListModeWatchList ListMode = "watch-list"
)

// ListSlots limits the number of informers that request their collection at the same time, which bounds
// the peak of memory. The limit applies to the informers with the same ListSlots; others wait for a
// slot (inspect.Status.Phase). A request that hangs (inspect.Problem) gives up its slot. Only NewListSlots
// returns usable slots.
type ListSlots struct{ free chan struct{} }

// NewListSlots returns slots for n informers at the same time; 0 means 1. If n is negative, informers
// with these slots do not run.
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
	if b := r.Backoff; b != (wait.Backoff{}) {
		if b.Steps == 0 && b.Factor > 1 {
			b.Steps = math.MaxInt32
		}
		o.Backoff = &b
	}
	if r.Slots != nil {
		o.Turns = r.Slots.free
	}
	r.check(bad)
}

// check adds invalid values, and pairs of values that exclude each other, to bad.
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

// checkBackoff adds delays of zero or negative length to bad, with which requests would follow each
// other immediately.
func (r *Requests) checkBackoff(bad *door.Faults) {
	b := &r.Backoff
	if b.Duration <= 0 {
		bad.Add("Requests.Backoff: Duration is %v: the first delay must be positive", b.Duration)
	}
	if !(b.Factor >= 0 && b.Jitter >= 0) || math.IsInf(b.Factor+b.Jitter, 1) || b.Steps < 0 || b.Cap < 0 {
		bad.Add("Requests.Backoff: Factor %v, Jitter %v, Steps %d, Cap %v: none may be negative, infinite or NaN",
			b.Factor, b.Jitter, b.Steps, b.Cap)
	}
	if b.Factor > 1 && b.Steps == 0 && b.Cap == 0 {
		bad.Add("Requests.Backoff: Factor is %v, and the delays have no limit: set Cap to the longest one, or Steps to how often they grow", b.Factor)
	}
}
