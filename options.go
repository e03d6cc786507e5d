// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache/internal/reflector"
)

// ErrorPolicy decides what an informer does after an error of a list or watch, before the informer
// waits. Attempts is the number of errors since the last success, including this one; a watch-list
// and the list that replaces it count as one. The goroutine that lists and watches calls it, before
// the watch-error handler, so it must not wait. See WithErrorPolicy.
type ErrorPolicy func(ctx context.Context, err error, attempts int) ErrorDecision

// ErrorDecision is what an ErrorPolicy returns. The zero value tries again after the informer's
// backoff, as without a policy.
type ErrorDecision struct {
	// Stop ends the informer if it does not have its first list yet. It is for programs that should
	// fail at their start instead of waiting. An informer that has its first list goes on, after
	// its backoff or After: it is in use, and the error may pass in seconds.
	//
	// An informer that was stopped never starts again. Its Run returns, as if its context had
	// ended, and the error is the LastError of its inspect.Status. What kinformer.WaitForSync and WaitForVersion
	// still wait for fails with it. That it has stopped is reported to
	// k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers, and to the handler of WithStopHandler.
	Stop bool
	// StopEvenIfSynced ends the informer at any time, as Stop does before the first list. Readers
	// of its store go on reading the last state, which is never updated again: the program has to
	// end, or to start another informer in its place. See WithStopHandler.
	StopEvenIfSynced bool
	// After, if positive, is how long to wait before the next attempt instead of the informer's
	// backoff.
	After time.Duration
	// Expected says that the error is normal. It is logged once, at info, until requests succeed or
	// fail in another way. A watch-error handler, if one is set, is called each time.
	Expected bool
}

// stops reports whether an informer that has, or has not, got its first list is to end.
func (d ErrorDecision) stops(synced bool) bool { return d.StopEvenIfSynced || d.Stop && !synced }

// StopOnForbidden is an ErrorPolicy that stops the informer when the server answers 403 before the
// first list has arrived. It is for programs that should fail at their start instead of waiting for
// a permission. After a later 403, for instance while roles are rewritten, the informer waits and
// tries again. kinformer.WaitForSync returns as soon as the informer has stopped. A framework that waits in
// its own way, as controller-runtime does for two minutes, needs a handler of WithStopHandler that
// ends it.
func StopOnForbidden(_ context.Context, err error, _ int) ErrorDecision {
	return ErrorDecision{Stop: apierrors.IsForbidden(err)}
}

// WaitForResource returns an ErrorPolicy for a resource that may not be installed yet, such as that
// of a CustomResourceDefinition. While the server does not know the resource, the informer asks
// again every period instead of backing off, and logs one line. The same holds for a resource that
// is removed later: the cache stays as it is until the resource is back. For other errors the
// backoff applies. A period of 0 means 5 s.
func WaitForResource(period time.Duration) ErrorPolicy {
	const cheap = 5 * time.Second // one cheap request: a 404 is answered without touching storage
	if period <= 0 {
		period = cheap
	}
	return func(_ context.Context, err error, _ int) ErrorDecision {
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return ErrorDecision{After: period, Expected: true}
		}
		return ErrorDecision{}
	}
}

// decisionsBy returns a policy as a reflector asks for it, nil for none.
func decisionsBy(policy ErrorPolicy) func(ctx context.Context, err error, attempts int, synced bool) reflector.Decision {
	if policy == nil {
		return nil
	}
	return func(ctx context.Context, err error, attempts int, synced bool) reflector.Decision {
		d := policy(ctx, err, attempts)
		return reflector.Decision{Stop: d.stops(synced), After: d.After, Expected: d.Expected}
	}
}

// Option sets a property of an informer for which client-go's constructors have no parameter. If
// several options set the same property, the last one counts. See InformerFunc.
type Option func(*informerConfig)

// informerConfig is all that can be set when a shared informer is made. Its zero value is
// client-go's behavior.
type informerConfig struct {
	SharedIndexInformerOptions
	queue     queueConfig
	reflector reflector.Options // what is not set here the controller sets
	decoding  Decoding
	delivery  Delivery // of handlers without Deliver
	bad       faults   // of the options themselves

	undroppable []string // of decoding.Drop
}

// WithIdentifier names the informer for its metrics. They go to the given provider or, if that is
// nil, to the provider of the process; see SetInformerMetricsProvider.
func WithIdentifier(identifier InformerNameAndResource, metrics InformerMetricsProvider) Option {
	return func(c *informerConfig) {
		c.Identifier, c.InformerMetricsProvider = identifier, metrics
	}
}

// WithObjectDescription sets the name of the informer's objects in logs; the default is their type.
func WithObjectDescription(description string) Option {
	return func(c *informerConfig) { c.ObjectDescription = description }
}

// errBadOptions says why an informer does not run.
var errBadOptions = errors.New("invalid options")

// check returns what is wrong with the options as they are in the end, nil if they can be had.
func (c *informerConfig) check() error {
	bad := slices.Clip(c.bad)
	c.queue.check(&bad)
	c.checkReflector(&bad)
	c.delivery.checkAsStandard(&bad)
	checkIndexers(c.Indexers, &bad)
	return bad.as(errBadOptions)
}

// faults are what is wrong with what a user gave, each with its remedy.
type faults []string

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Sprintf(format, args...)) }

// refuseNegative adds a value below 0. zero says what 0 stands for.
func refuseNegative[T int | int64 | time.Duration](bad *faults, name string, value T, zero string) {
	if value < 0 {
		bad.add("%s is %v: use a positive value, or 0 for %s", name, value, zero)
	}
}

// as returns an error that wraps what, in one line; nil if there are no faults.
func (f faults) as(what error) error {
	if len(f) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", what, strings.Join(f, "; "))
}

// queueConfig is what can be set about the way from an informer's reflector to its store. Its zero
// value is client-go's behavior.
type queueConfig struct {
	limit          int
	keepCached     bool
	onProcessError ProcessErrorHandler
}

func (c *queueConfig) check(bad *faults) {
	refuseNegative(bad, "WithQueueLimit", c.limit, "no bound")
}

// WithProcessErrorHandler sets a function that is called when a batch could not be stored. Without
// it, such errors are reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers. Both ways,
// inspect.QueueOf counts them.
func WithProcessErrorHandler(handler ProcessErrorHandler) Option {
	return func(c *informerConfig) { c.queue.onProcessError = handler }
}

// WithCachedOnTransformError makes a list succeed although the transform function fails for some of
// its objects. These keep their cached version, or stay out of the store if there is none, until a
// later version passes. Each is reported, and counted in inspect.Queue. Without this
// option such a list fails as a whole, and is requested again after a backoff.
func WithCachedOnTransformError() Option {
	return func(c *informerConfig) { c.queue.keepCached = true }
}

// WithQueueLimit bounds what waits between the watch and the store: n changes. At the bound the
// informer stops reading the watch until some of them are in the store. retry.SetLimit explains
// what that means; inspect.QueueOf returns depth and pauses. If n is 0 there is no bound, as in
// client-go.
func WithQueueLimit(n int) Option {
	return func(c *informerConfig) { c.queue.limit = n }
}

// ListMode says how an informer requests the whole state.
type ListMode string

const (
	// ListModeAuto: by watch-list if the feature gate WatchListClient is on and the client permits
	// it, otherwise by LIST. After three watch-lists in a row that end without their end mark, or
	// one that is silent, the informer uses LIST for 10 minutes.
	ListModeAuto ListMode = ""
	// ListModeList: by LIST.
	ListModeList ListMode = "list"
	// ListModeWatchList: by watch-list, whatever the gate and the client say. If a watch-list
	// fails, or ends without its end mark, the informer uses LIST, but only that time.
	ListModeWatchList ListMode = "watch-list"
)

// checkReflector notes what is wrong with the options of the reflector.
func (c *informerConfig) checkReflector(bad *faults) {
	o := &c.reflector
	if mode := ListMode(o.Mode); !slices.Contains([]ListMode{ListModeAuto, ListModeList, ListModeWatchList}, mode) {
		bad.add("WithListMode: there is no mode %q: use ListModeAuto, ListModeList or ListModeWatchList", mode)
	}
	refuseNegative(bad, "WithPageSize", o.PageSize, "the default")
	refuseNegative(bad, "WithStreamSilence", o.StreamSilence, "the default")
	refuseNegative(bad, "WithIdleTimeout", o.IdleTimeout, "never")
	refuseNegative(bad, "WithStartJitter", o.Spread, "no wait")
	refuseNegative(bad, "WithDecoding: ReadAhead", o.Decoding.Ahead, "the default")
	refuseNegative(bad, "WithDecoding: Verify", o.Decoding.Verify, "the default")
	if mode := c.decoding.Share; mode != ShareTexts && mode != ShareEqual {
		bad.add("WithDecoding: Share: there is no mode %q: use ShareTexts or ShareEqual", mode)
	}
	for _, path := range c.undroppable {
		bad.add(`WithDecoding: Drop: %q cannot be left out: use "metadata.managedFields", or "metadata.annotations[KEY]" for a KEY other than k8s.io/initial-events-end`, path)
	}
	if o.Backoff != nil {
		checkBackoff("WithBackoff", *o.Backoff, bad)
	}
	if o.Turns != nil && cap(o.Turns) == 0 {
		bad.add("WithListSlots: the slots were not made by NewListSlots, or were made with a negative number")
	}
	checkPairs(o, bad)
}

// checkPairs notes options that exclude each other.
func checkPairs(o *reflector.Options, bad *faults) {
	if o.Mode == reflector.ByWatchList && o.PageSize > 0 {
		bad.add("WithPageSize is for lists, and WithListMode(ListModeWatchList) sends none: leave out one of them")
	}
	if o.Mode == reflector.ByList && o.StreamSilence > 0 {
		bad.add("WithStreamSilence is for watch-lists, and WithListMode(ListModeList) sends none: leave out one of them")
	}
}

// checkBackoff notes what has delays of no length, or negative ones: requests would follow each
// other at once.
func checkBackoff(name string, b wait.Backoff, bad *faults) {
	if b.Duration <= 0 {
		bad.add("%s: Duration is %v: the first delay must be positive", name, b.Duration)
	}
	if !(b.Factor >= 0 && b.Jitter >= 0) || math.IsInf(b.Factor+b.Jitter, 1) || b.Steps < 0 || b.Cap < 0 {
		bad.add("%s: Factor %v, Jitter %v, Steps %d, Cap %v: none may be negative, infinite or NaN",
			name, b.Factor, b.Jitter, b.Steps, b.Cap)
	}
}

// WithErrorPolicy sets the policy that the informer asks after each error of a list or watch after
// which it would wait. Without one the informer tries again with backoff, for ever. See
// ErrorDecision, StopOnForbidden and WaitForResource.
func WithErrorPolicy(policy ErrorPolicy) Option {
	return func(c *informerConfig) { c.reflector.Decide = decisionsBy(policy) }
}

// WithStopHandler sets a function that is called when the informer stops for good by itself:
// because its error policy says so, or because its options are invalid. The error names the
// informer's objects and wraps the reason. The function may end the program, for instance by
// canceling the context of its manager. A goroutine of Run calls it, after its status says that the
// informer has stopped and before Run returns, so it must not wait for Run. It is not called when
// Run's context ends.
func WithStopHandler(handle func(ctx context.Context, err error)) Option {
	return func(c *informerConfig) { c.reflector.OnStop = handle }
}

// WithListMode sets how the informer requests the whole state. The default is ListModeAuto.
func WithListMode(mode ListMode) Option {
	return func(c *informerConfig) { c.reflector.Mode = reflector.Mode(mode) }
}

// WithStreamSilence sets how long a watch-list may send nothing before the informer ends it and
// uses LIST. The default, also for 0, is 2 minutes. It cannot be combined with ListModeList.
func WithStreamSilence(limit time.Duration) Option {
	return func(c *informerConfig) { c.reflector.StreamSilence = limit }
}

// WithIdleTimeout makes the informer open its watch again, where it left off, if neither an event
// nor a bookmark has come for limit, or up to one and a half times that. A connection that a
// middlebox has dropped looks like a quiet one. The informer begins to look after the first
// bookmark. Servers that send bookmarks send one each minute, so limit should be several minutes.
// Time in which the informer itself was held up does not count. The default, 0, is never.
func WithIdleTimeout(limit time.Duration) Option {
	return func(c *informerConfig) { c.reflector.IdleTimeout = limit }
}

// WithBackoff sets the delays between failed requests; those that no server answers have a series
// of their own. A series starts again after 2 minutes without failure. The default, also for the
// zero value, grows from 0.8 s to 30 s, plus a random part of up to the same length; if no server
// answers, up to 90 s. A longer Retry-After of the server goes first, up to 5 minutes.
func WithBackoff(backoff wait.Backoff) Option {
	return func(c *informerConfig) {
		if c.reflector.Backoff = &backoff; backoff == (wait.Backoff{}) {
			c.reflector.Backoff = nil
		}
	}
}

// WithPageSize makes the informer list in pages of that many objects. That keeps its peak of memory
// low, but the server then reads the list from its storage instead of its cache, which costs it
// much more. By default, and with 0, the informer asks for pages only where the server ignores that
// or has no cache. It cannot be combined with ListModeWatchList.
func WithPageSize(objects int64) Option {
	return func(c *informerConfig) { c.reflector.PageSize = objects }
}

// WithExpectedNamespace tells the informer that its ListerWatcher requests the objects of one
// namespace; the informer cannot know otherwise. It reports objects of any other namespace that
// come in a list or a watch, leaves them out, and counts them in inspect.Status.Dropped, as it does with
// objects of another type. Requests stay as they are. The default, "", is any namespace.
func WithExpectedNamespace(namespace string) Option {
	return func(c *informerConfig) { c.reflector.Namespace = namespace }
}

// WithStartJitter delays the first request, and the return after an outage, by a random part of
// span, so that a fleet does not list at once. By default only the return is, by up to a second.
func WithStartJitter(span time.Duration) Option {
	return func(c *informerConfig) { c.reflector.Spread = span }
}

// Decoding says how an informer decodes what the server sends. If that comes through a transport of
// package direct, the informer decodes it itself, straight into the Go type, at a fraction of the
// cost of client-go's decoders. The zero value works.
type Decoding struct {
	// Off leaves all decoding to the client.
	Off bool
	// ReadAhead is how many bytes of a list may wait to be decoded in the first 20 s, unless its
	// request has a deadline: see docs/direct.md. 0 means 32 MiB.
	ReadAhead int64
	// Verify makes the client also decode one object in so many, beside others that docs/direct.md
	// names, for comparison. If the two differ, the informer leaves all decoding to the client for
	// good, and lists again; handlers are called for what that corrects. 0 means 4096.
	Verify int64
	// Share says what the objects of informers share with each other. ShareTexts, the default, is
	// safe. ShareEqual saves the most memory and CPU time, and is only for programs that never
	// write to objects of an informer.
	Share ShareMode
	// TransformCopies promises that the transform function changes only fields of an object's
	// topmost struct, or keys of its topmost map, and copies what is below before it changes that.
	// Without the promise, an informer with a transform function decodes as with ShareTexts.
	TransformCopies bool
	// Drop lists what is left out of all objects: "metadata.managedFields", and
	// "metadata.annotations[KEY]" for a key such as
	// kubectl.kubernetes.io/last-applied-configuration. Transform functions do not see it either.
	// Drop concerns the objects' own metadata, not that of templates in them. The informer removes
	// it from the objects that it receives, also without a transport of package direct. If no other
	// annotation remains, the map is nil. See package trim, too.
	Drop []string
}

// ShareMode says what directly decoded objects share.
type ShareMode string

const (
	// ShareTexts: strings, such as those of labels and names. Nobody can write to them.
	ShareTexts ShareMode = ""
	// ShareEqual: also equal maps, lists and structs behind pointers, as most of the pods of a
	// replica set have. Two are equal if the server wrote them with the same bytes. A write to such
	// a part of one object changes other objects, and races with their readers. So this is for
	// programs that keep the rule of all informers: never write to a cached object. The informer
	// checks about one in a thousand of the shared parts, and inspect.Sharing tells of those that were
	// written to; the mutation detector (KUBE_CACHE_MUTATION_DETECTOR), for tests, finds all. A
	// shared list has no more capacity than elements, so append copies it. Data of Secrets is never
	// shared.
	//
	// An informer without a transform function also keeps whole objects: what a relist brings with
	// the same bytes as before, at least 1 KiB, is not decoded. The old and the new object of the
	// update are the cached one. kinformer.Relist and repairs replace all objects.
	ShareEqual ShareMode = "equal"
)

// WithDecoding sets how the informer decodes. Except for Drop, it has no effect without a transport
// of package direct. KINFORMER_DIRECT=off in the environment turns direct decoding off for the
// process. inspect.Status.Decoding says whether it is on, and why not.
func WithDecoding(decoding Decoding) Option {
	return func(c *informerConfig) {
		o := &c.reflector.Decoding
		o.Off, o.Ahead, o.Verify = decoding.Off, decoding.ReadAhead, decoding.Verify
		c.decoding = decoding
		o.Share = decoding.Share == ShareEqual
		o.Remember = o.Share
		c.undroppable = o.DropOf(decoding.Drop)
	}
}

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

// turns returns what reflectors wait for: nil without slots, and a channel without room for invalid
// slots.
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

// WithListSlots makes the informer wait for one of the slots before it requests the whole state.
// Give the same slots to all informers of a program to limit the program. The default, nil, is no
// limit.
func WithListSlots(slots *ListSlots) Option {
	return func(c *informerConfig) { c.reflector.Turns = slots.turns() }
}
