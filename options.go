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
	"github.com/kinformer/cache/internal/store"
)

// ErrorPolicy decides what an informer does after an error of a list or watch, before it would
// wait. Attempts is the number of errors since the last success, this one included; a watch-list
// and the list that replaces it count as one. It is called by the goroutine that lists and watches,
// before the watch-error handler, and must not wait. See WithErrorPolicy.
type ErrorPolicy func(ctx context.Context, err error, attempts int) ErrorDecision

// ErrorDecision is what an ErrorPolicy returns. The zero value tries again after the informer's
// backoff, as without a policy.
type ErrorDecision struct {
	// Stop ends the informer if it does not have its first list yet. It is for programs that should
	// fail at their start instead of waiting. An informer that has its first list goes on, after
	// its backoff or After: it is in use, and the error may pass in seconds.
	//
	// An informer that was stopped never starts again. Its Run returns, as if its context had
	// ended, and the error is the LastError of its Status. What WaitForSync and WaitForVersion
	// still wait for fails with it. That it has stopped is reported to
	// k8s.io/apimachinery/pkg/util/runtime.HandleError, and to the handler of WithStopHandler.
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
// tries again. WaitForSync returns as soon as the informer has stopped. A framework that waits in
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

// Option sets a property of an informer that no parameter of client-go's constructors is for. Of
// several that set the same property the last one counts. See InformerFunc.
type Option func(*informerConfig)

// informerConfig is all that can be set when a shared informer is made. Its zero value is
// client-go's behavior.
type informerConfig struct {
	SharedIndexInformerOptions
	queue     queueConfig
	reflector reflector.Options // what is not set here the controller sets
	reuse     ReuseMode
	decoding  Decoding
	delivery  Delivery // of handlers without Deliver
	bad       faults   // of the options themselves

	undroppable []string // of decoding.Drop
}

// WithIdentifier names the informer for its metrics, which go to the given provider, or if that is
// nil to that of the process, see SetInformerMetricsProvider.
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
	coalesced      bool
	limit          int
	keepCached     bool
	onProcessError ProcessErrorHandler
}

func (c *queueConfig) check(bad *faults) {
	refuseNegative(bad, "WithQueueLimit", c.limit, "no bound")
}

// WithProcessErrorHandler sets what is called when a batch could not be brought into the store.
// Without it they are reported to k8s.io/apimachinery/pkg/util/runtime.HandleError. Either way they
// are counted; see QueueStatsOf.
func WithProcessErrorHandler(handler ProcessErrorHandler) Option {
	return func(c *informerConfig) { c.queue.onProcessError = handler }
}

// WithCachedOnTransformError makes a list succeed although the transform function fails for some of
// its objects: those keep their cached version, or stay out if there is none, until a later version
// passes. Each is reported, and counted in QueueStats.Untransformed. Without this option such a
// list fails as a whole, and is tried again after a backoff.
func WithCachedOnTransformError() Option {
	return func(c *informerConfig) { c.queue.keepCached = true }
}

// WithQueueLimit bounds what waits between the watch and the store at n changes, or objects
// WithCoalescedQueue: then the watch is read no further until some are in the store. See
// RealFIFO.SetLimit for what that means; QueueStatsOf returns depth and pauses. With n of 0 there
// is no bound, as in client-go.
func WithQueueLimit(n int) Option {
	return func(c *informerConfig) { c.queue.limit = n }
}

// WithCoalescedQueue merges changes of one object that wait together: they reach the store, and
// handlers, as one. Nothing waits as long as the store keeps up; then it is like the default, where
// each event is one notification. (For handlers that do not keep up there is Deliver:
// OverflowCoalesce does this for one handler, OverflowBlock holds up the watch before the queue.)
//
// While they do not, handlers get one update of an object from the state they know to its newest,
// so at least one notification for each object that changed and at most one for each event. A
// deletion is never merged with what came before or after it. Objects come in the order in which
// their first waiting change arrived, all before the next list.
//
// Every batch wakes the consumer up, where the default may bring it to the store at once.
func WithCoalescedQueue() Option {
	return func(c *informerConfig) { c.queue.coalesced = true }
}

// ListMode is how an informer takes over the whole state.
type ListMode string

const (
	// ListModeAuto: by watch-list if the feature gate WatchListClient is on and the client does not
	// deny it, else by LIST. Watch-lists that do not come to their end mark, three in a row or one
	// that is silent, lead to LIST for 10 minutes.
	ListModeAuto ListMode = ""
	// ListModeList: by LIST.
	ListModeList ListMode = "list"
	// ListModeWatchList: by watch-list, whatever the gate and the client say. Where it does not
	// come to its end mark, or fails, LIST is used, but only for that round.
	ListModeWatchList ListMode = "watch-list"
)

// checkReflector notes what is wrong with the options of the reflector.
func (c *informerConfig) checkReflector(bad *faults) {
	o := &c.reflector
	if mode := ListMode(o.Mode); !slices.Contains([]ListMode{ListModeAuto, ListModeList, ListModeWatchList}, mode) {
		bad.add("WithListMode: there is no mode %q: use ListModeAuto, ListModeList or ListModeWatchList", mode)
	}
	if !slices.Contains([]ReuseMode{ReuseAuto, ReuseAlways, ReuseNever}, c.reuse) {
		bad.add("WithReuse: there is no mode %q: use ReuseAuto, ReuseAlways or ReuseNever", c.reuse)
	}
	refuseNegative(bad, "WithPageSize", o.PageSize, "the default")
	refuseNegative(bad, "WithStreamSilence", o.StreamSilence, "the default")
	refuseNegative(bad, "WithIdleTimeout", o.IdleTimeout, "never")
	refuseNegative(bad, "WithStartJitter", o.StartJitter, "no wait")
	refuseNegative(bad, "WithDecoding: ReadAhead", o.Decoding.Ahead, "the default")
	refuseNegative(bad, "WithDecoding: Verify", o.Decoding.Verify, "the default")
	if mode := c.decoding.Share; mode != ShareTexts && mode != ShareEqual {
		bad.add("WithDecoding: Share: there is no mode %q: use ShareTexts or ShareEqual", mode)
	}
	for _, path := range c.undroppable {
		bad.add(`WithDecoding: Drop: %q cannot be left out: use "metadata.managedFields", or "metadata.annotations[KEY]" of a KEY but k8s.io/initial-events-end`, path)
	}
	if o.Backoff != nil {
		checkBackoff("WithBackoff", *o.Backoff, bad)
	}
	if o.Turns != nil && cap(o.Turns) == 0 {
		bad.add("WithListSlots: the slots are none of NewListSlots, or it was given a negative number")
	}
	checkPairs(o, bad)
}

// checkPairs notes options that exclude each other.
func checkPairs(o *reflector.Options, bad *faults) {
	if o.Mode == reflector.ByWatchList && o.PageSize > 0 {
		bad.add("WithPageSize is for lists, and WithListMode(ListModeWatchList) wants none: leave out one of them")
	}
	if o.Mode == reflector.ByList && o.StreamSilence > 0 {
		bad.add("WithStreamSilence is for watch-lists, and WithListMode(ListModeList) wants none: leave out one of them")
	}
}

// checkBackoff notes what has delays of no length, or negative ones: requests would follow each
// other at once.
func checkBackoff(name string, b wait.Backoff, bad *faults) {
	if b.Duration <= 0 {
		bad.add("%s: Duration is %v: the first delay must be positive", name, b.Duration)
	}
	if !(b.Factor >= 0 && b.Jitter >= 0) || math.IsInf(b.Factor+b.Jitter, 1) || b.Steps < 0 || b.Cap < 0 {
		bad.add("%s: Factor %v, Jitter %v, Steps %d, Cap %v: none may be negative or no number",
			name, b.Factor, b.Jitter, b.Steps, b.Cap)
	}
}

// WithErrorPolicy makes the informer ask policy what to do about each error of a list or watch
// after which it would wait. The default is to try again with backoff, for ever. See ErrorDecision,
// StopOnForbidden and WaitForResource.
func WithErrorPolicy(policy ErrorPolicy) Option {
	return func(c *informerConfig) { c.reflector.Decide = decisionsBy(policy) }
}

// WithStopHandler sets a function that is called when the informer stops for good by itself:
// because its error policy says so, or because its options are invalid. The error names the
// informer's objects and wraps the reason. The function may end the program, for instance by
// canceling the context of its manager. A goroutine of Run calls it, after the Status says that the
// informer has stopped and before Run returns, so it must not wait for Run. It is not called when
// Run's context ends.
func WithStopHandler(handle func(ctx context.Context, err error)) Option {
	return func(c *informerConfig) { c.reflector.OnStop = handle }
}

// WithListMode sets how the informer takes over the whole state. The default is ListModeAuto.
func WithListMode(mode ListMode) Option {
	return func(c *informerConfig) { c.reflector.Mode = reflector.Mode(mode) }
}

// WithStreamSilence sets how long a watch-list stream may send nothing until the informer gives it
// up and uses LIST. The default, also for 0, is 2 minutes. Together with ListModeList it is
// refused.
func WithStreamSilence(limit time.Duration) Option {
	return func(c *informerConfig) { c.reflector.StreamSilence = limit }
}

// WithIdleTimeout makes the informer open its watch anew, from where it is, when neither an event
// nor a bookmark came for at least limit and at most one and a half times that: a connection that a
// middlebox has dropped looks like a quiet one. It begins to look after the first bookmark, because
// servers that send bookmarks send one each minute: limit should be several minutes. Time in which
// the informer itself was held up does not count. The default, 0, is never.
func WithIdleTimeout(limit time.Duration) Option {
	return func(c *informerConfig) { c.reflector.IdleTimeout = limit }
}

// WithBackoff sets the delays between failed requests. The series starts again after 2 minutes
// without a failure. The default, also for the zero value, grows from 0.8 s to 30 s, plus a random
// part of up to the same length. A longer Retry-After of the server takes precedence, up to 5
// minutes.
func WithBackoff(backoff wait.Backoff) Option {
	return func(c *informerConfig) {
		if c.reflector.Backoff = &backoff; backoff == (wait.Backoff{}) {
			c.reflector.Backoff = nil
		}
	}
}

// WithPageSize makes the informer list in pages of that many objects, which keeps the peak of its
// memory low but takes lists from the server's cache to its storage, which costs the server much
// more. The default, 0, asks for pages only where the server ignores that or has no cache. Together
// with ListModeWatchList it is refused.
func WithPageSize(objects int64) Option {
	return func(c *informerConfig) { c.reflector.PageSize = objects }
}

// WithExpectedNamespace says that the informer's ListerWatcher asks for the objects of one
// namespace, which the informer has no other way to know. Objects of another one that come all the
// same, in a list or a watch, are reported and left out, as those of another type are, and show in
// the Status. It changes no request. The default, "", is any namespace.
func WithExpectedNamespace(namespace string) Option {
	return func(c *informerConfig) { c.reflector.Namespace = namespace }
}

// WithStartJitter makes the informer wait for a random part of span before its first request, so
// that the informers of a fleet that starts do not all list at once. The default, 0, is no wait.
func WithStartJitter(span time.Duration) Option {
	return func(c *informerConfig) { c.reflector.StartJitter = span }
}

// Decoding is how an informer makes objects of what the server sends, if that comes by a
// transport of package direct: it decodes it itself, straight into the type, at a fraction of the
// cost of client-go's decoders. The zero value works.
type Decoding struct {
	// Off leaves all decoding to the client.
	Off bool
	// ReadAhead is how many bytes of a list may wait to be decoded, so that the server is not
	// held up: what comes without a pause is read first. 0 stands for 32 MiB.
	ReadAhead int64
	// Verify has one object in so many decoded by the client as well, beside the first 8. If
	// both are not the same the informer leaves all decoding to the client, for good, and
	// takes its whole state over again; handlers hear of what that corrects. 0 stands for
	// 4096.
	Verify int64
	// Share says what the objects of informers share with each other. ShareTexts, the default, is
	// safe. ShareEqual saves the most, in memory and in CPU time, and is for programs that never
	// write to what they got from an informer: see there.
	Share ShareMode
	// TransformCopies vouches that the transform function of the informer changes no more of an
	// object than fields of its topmost struct, or keys of its topmost map: that it copies what is
	// below before it changes that. Without it an informer with a transform function decodes as
	// with ShareTexts.
	TransformCopies bool
	// Drop leaves out of all objects, before a transform function gets them, what nobody reads:
	// "metadata.managedFields", and "metadata.annotations[KEY]" by its key, as of
	// kubectl.kubernetes.io/last-applied-configuration. It is about the objects' own metadata, not
	// that of templates in them. What the informer decodes itself never has it, which saves time
	// beside the memory; what the client has decoded is trimmed, also without a transport of
	// package direct. Where no other annotation is left the map is nil. See package trim, too.
	Drop []string
	// PreferProtobuf has the informer ask for protobuf where its client accepts "application/json,
	// */*", which is what one of client-go's does whose encoding nobody has chosen, and its objects
	// are of k8s.io/api: that is cheaper, for the server as well. Nothing else of the requests
	// changes. A client that cannot take it is asked for once more, in JSON, and left alone
	// from then on. What is an empty list or map in JSON is nil, as for any client by protobuf.
	PreferProtobuf bool
}

// ShareMode is what objects that were decoded directly share.
type ShareMode string

const (
	// ShareTexts: texts, as of labels and names. Nobody can write to them.
	ShareTexts ShareMode = ""
	// ShareEqual: also maps, lists and structs behind pointers that were written alike on the
	// wire, as most of the pods of a replica set. Who writes to such a part of one object writes
	// to that of others, and races with whoever reads it, so it takes programs that keep the
	// rule of all informers, that cached objects are not written to. Of the parts that
	// objects share one in some thousand is looked at again: Status tells of those that were
	// written to; the mutation detector (KUBE_CACHE_MUTATION_DETECTOR), for tests, finds all. A
	// list has no more capacity than elements, so append copies it. Nothing of the data of a
	// Secret is shared.
	ShareEqual ShareMode = "equal"
)

// WithDecoding sets how the informer decodes. Without a transport of package direct it has no
// effect, but for that of Drop: who wraps that has opted in. KINFORMER_DIRECT=off in the
// environment turns it off for the process. The Status tells what is on, and why not.
func WithDecoding(decoding Decoding) Option {
	return func(c *informerConfig) {
		o := &c.reflector.Decoding
		o.Off, o.Ahead, o.Verify = decoding.Off, decoding.ReadAhead, decoding.Verify
		c.decoding = decoding
		o.Share, o.PreferProtobuf = decoding.Share == ShareEqual, decoding.PreferProtobuf
		c.undroppable = o.DropOf(decoding.Drop)
	}
}

// ListSlots limits how many informers request their whole state at the same time, which bounds the
// peak of the memory. It applies to informers that have the same ListSlots; the others of them wait
// for their turn.
type ListSlots struct{ free chan struct{} }

// NewListSlots returns slots for n informers at the same time; 0 stands for 1. With a negative n
// the informers that get it do not run.
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

// WithListSlots makes the informer wait for one of the slots before it lists, or streams the whole
// state. A program that gives the same to all its informers has a cap for the process. The default,
// nil, is no cap.
func WithListSlots(slots *ListSlots) Option {
	return func(c *informerConfig) { c.reflector.Turns = slots.turns() }
}

// ReuseMode is when an informer that takes over the whole state again keeps the objects that it has
// in place of identical ones that it receives. These are garbage at once then, so that a relist
// does not double the memory; but each takes a deep comparison, of 5 to 20 µs for a pod, a tenth to
// a third of what it costs to decode it.
//
// An object that says of itself, by UID and resourceVersion, that it is unchanged is still
// compared: a server that was upgraded may send other content under the same version. Handlers are
// called the same either way, but for an update that says nothing new the old and the new object
// are one. Two ways to write one resource.Quantity, as "100m" and "+100m", count as identical.
//
// Comparing reads the cached objects, in a goroutine of the informer. Programs that write to cached
// objects, which is forbidden, get away with it less often.
type ReuseMode string

const (
	// ReuseAuto: if the Go runtime has a memory limit (GOMEMLIMIT) of which more than half is in
	// use when a relist begins, for without one the garbage collector lets the heap grow to the
	// double anyhow.
	ReuseAuto ReuseMode = ""
	// ReuseAlways: in every relist.
	ReuseAlways ReuseMode = "always"
	// ReuseNever: what is received is stored.
	ReuseNever ReuseMode = "never"
)

// WithReuse sets when a relist keeps cached objects in place of identical ones. The default is
// ReuseAuto.
func WithReuse(mode ReuseMode) Option {
	return func(c *informerConfig) { c.reuse = mode }
}

// wanted reports whether the relist that begins now is to keep what is identical.
func (m ReuseMode) wanted() bool {
	switch m {
	case ReuseAlways:
		return true
	case ReuseNever:
		return false
	default:
		return store.MemoryIsScarce()
	}
}
