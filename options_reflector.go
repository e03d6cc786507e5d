// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"math"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// ListMode is how an informer takes over the whole state.
type ListMode string

const (
	// ListModeAuto: by watch-list if the feature gate WatchListClient is on and the client does not deny it, else by LIST.
	// Watch-lists that do not come to their end mark, three in a row or one that is silent, lead to LIST for 10 minutes.
	ListModeAuto ListMode = ""
	// ListModeList: by LIST.
	ListModeList ListMode = "list"
	// ListModeWatchList: by watch-list, whatever the gate and the client say. Where it does not come to its end mark, or
	// fails, LIST is used, but only for that round.
	ListModeWatchList ListMode = "watch-list"
)

// checkReflector notes what is wrong with the options of the reflector.
func (c *informerConfig) checkReflector(bad *faults) {
	o := &c.reflector
	if mode := ListMode(o.mode); !slices.Contains([]ListMode{ListModeAuto, ListModeList, ListModeWatchList}, mode) {
		bad.add("WithListMode: there is no mode %q: use ListModeAuto, ListModeList or ListModeWatchList", mode)
	}
	if !slices.Contains([]ReuseMode{ReuseAuto, ReuseAlways, ReuseNever}, c.reuse) {
		bad.add("WithReuse: there is no mode %q: use ReuseAuto, ReuseAlways or ReuseNever", c.reuse)
	}
	refuseNegative(bad, "WithPageSize", o.pageSize, "the default")
	refuseNegative(bad, "WithStreamSilence", o.streamSilence, "the default")
	refuseNegative(bad, "WithIdleTimeout", o.idleTimeout, "never")
	refuseNegative(bad, "WithStartJitter", o.startJitter, "no wait")
	if o.backoff != nil {
		checkBackoff("WithBackoff", *o.backoff, bad)
	}
	if o.turns != nil && cap(o.turns) == 0 {
		bad.add("WithListSlots: the slots are none of NewListSlots, or it was given a negative number")
	}
	checkPairs(o, bad)
}

// checkPairs notes options that exclude each other.
func checkPairs(o *reflectorOptions, bad *faults) {
	if o.mode == byWatchList && o.pageSize > 0 {
		bad.add("WithPageSize is for lists, and WithListMode(ListModeWatchList) wants none: leave out one of them")
	}
	if o.mode == byList && o.streamSilence > 0 {
		bad.add("WithStreamSilence is for watch-lists, and WithListMode(ListModeList) wants none: leave out one of them")
	}
}

// checkBackoff notes what has delays of no length, or negative ones: requests would follow each other at once.
func checkBackoff(name string, b wait.Backoff, bad *faults) {
	if b.Duration <= 0 {
		bad.add("%s: Duration is %v: the first delay must be positive", name, b.Duration)
	}
	if !(b.Factor >= 0 && b.Jitter >= 0) || math.IsInf(b.Factor+b.Jitter, 1) || b.Steps < 0 || b.Cap < 0 {
		bad.add("%s: Factor %v, Jitter %v, Steps %d, Cap %v: none may be negative or no number", name, b.Factor, b.Jitter, b.Steps, b.Cap)
	}
}

// WithErrorPolicy has the informer ask policy what to do about each error of a list or watch after which it would wait. The
// default is to try again with backoff, for ever. See ErrorDecision, StopOnForbidden and WaitForResource.
func WithErrorPolicy(policy ErrorPolicy) Option {
	return func(c *informerConfig) { c.reflector.decide = decisionsBy(policy) }
}

// WithStopHandler has handle called if the informer stops for good by itself, because its error policy wants that, or because
// it cannot run as it was made, with an error that names its objects and wraps the reason: that is the moment to end the
// program, as by cancelling the context of its manager. It is called by one of the goroutines of Run, after the Status tells
// that the informer has stopped and before Run returns: it must not wait for that. The end of Run's context is no such stop.
func WithStopHandler(handle func(ctx context.Context, err error)) Option {
	return func(c *informerConfig) { c.reflector.onStop = handle }
}

// WithListMode sets how the informer takes over the whole state. The default is ListModeAuto.
func WithListMode(mode ListMode) Option {
	return func(c *informerConfig) { c.reflector.mode = reflectorMode(mode) }
}

// WithStreamSilence sets how long a watch-list stream may send nothing until the informer gives it up and uses LIST. The
// default, also for 0, is 2 minutes. Together with ListModeList it is refused.
func WithStreamSilence(limit time.Duration) Option {
	return func(c *informerConfig) { c.reflector.streamSilence = limit }
}

// WithIdleTimeout has the informer open its watch anew, from where it is, when neither an event nor a bookmark came for at
// least limit and at most one and a half times that: a connection that a middlebox has dropped looks like a quiet one. It
// begins to look after the first bookmark, because servers that send bookmarks send one each minute: limit should be
// several minutes. Time in which the informer itself was held up does not count. The default, 0, is never.
func WithIdleTimeout(limit time.Duration) Option {
	return func(c *informerConfig) { c.reflector.idleTimeout = limit }
}

// WithBackoff sets the delays between failed requests. 2 minutes without one begin the series anew. The default, also for the
// zero value, grows from 0.8 s to 30 s, and is jittered up to the double. A longer Retry-After of the server goes first, up to 5 minutes.
func WithBackoff(backoff wait.Backoff) Option {
	return func(c *informerConfig) {
		if c.reflector.backoff = &backoff; backoff == (wait.Backoff{}) {
			c.reflector.backoff = nil
		}
	}
}

// WithPageSize has the informer list in pages of that many objects, which keeps the peak of its memory low but takes lists
// from the server's cache to its storage, which is much dearer for the server. The default, 0, asks for pages only where
// the server ignores that or has no cache. Together with ListModeWatchList it is refused.
func WithPageSize(objects int64) Option {
	return func(c *informerConfig) { c.reflector.pageSize = objects }
}

// WithExpectedNamespace says that the informer's ListerWatcher asks for the objects of one namespace, which the informer has
// no other way to know. Objects of another one that come all the same, in a list or a watch, are reported and left out, as
// those of another type are, and show in the Status. It changes no request. The default, "", is any namespace.
func WithExpectedNamespace(namespace string) Option {
	return func(c *informerConfig) { c.reflector.namespace = namespace }
}

// WithStartJitter has the informer wait for a random part of span before its first request, so that the informers of a
// fleet that starts do not all list at once. The default, 0, is no wait.
func WithStartJitter(span time.Duration) Option {
	return func(c *informerConfig) { c.reflector.startJitter = span }
}

// ListSlots caps how many informers take over the whole state at the same time: of those with the same ListSlots at most
// that many list or stream, which bounds the peak of the memory. The others wait for their turn.
type ListSlots struct{ free chan struct{} }

// NewListSlots returns slots for n informers at the same time; 0 stands for 1. With a negative n the informers that get it do
// not run.
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

// turns returns what reflectors wait for: nil without slots, and a channel that has no room for slots that cannot be had.
func (s *ListSlots) turns() chan struct{} {
	switch {
	case s == nil:
		return nil
	case s.free == nil:
		return make(chan struct{})
	default:
		return s.free
	}
}

// WithListSlots has the informer wait for one of the slots before it lists, or streams the whole state. A program that
// gives the same to all its informers has a cap for the process. The default, nil, is no cap.
func WithListSlots(slots *ListSlots) Option {
	return func(c *informerConfig) { c.reflector.turns = slots.turns() }
}
