// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"reflect"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientfeatures "k8s.io/client-go/features"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
)

// memory is what a reflector is made of and has learned: what outlives a round.
type memory struct {
	reader  reader
	lists   *tap.Source
	opening Phase // how a round begins: streaming or listing; but see begin

	// paging says that a list from the server's cache came in pages although one page was possible:
	// that server has no watch cache, and paging costs it nothing.
	paging bool
	// again says why the whole state is asked for again; "": it was not asked for yet.
	again string
	// short says that the last watch was closed at once, as busy servers do, but not the one
	// before: the next round begins with another watch.
	short bool
	// unserved says that the whole state is asked for because watches were not served.
	unserved bool
	// newest says that the next whole state must be the server's newest, because it does not know
	// the reflector's version any more, or not yet, or somebody doubts that version.
	newest bool
	// synced says that a whole state was published; it stays so.
	synced bool
	// waitsOut says that an expected error was logged and is not over.
	waitsOut bool
	// degradedAt is since when requests fail although the server answers, as the log was told by
	// lines of degradedLevel; zero: they do not.
	degradedAt    time.Time
	degradedLevel int
	// indirect says that the log was told why the client decodes.
	indirect bool
	// told is how and why the whole state is asked for, as the log was told; "": it is not.
	told string
	// distrusts says that the sink may have wrong objects under the right versions, see distrust.
	distrusts bool
}

// newMemory is that of a reflector that has done nothing yet. The options have their defaults.
func newMemory(o Options) *memory {
	m := &memory{
		reader:  reader{options: o},
		lists:   o.lists(),
		opening: openingPhase(o),
	}
	m.reader.expects = m.reader.options.expectation()
	m.reader.options.Journal.write(func(p *pages) { p.clock, p.Version = o.Clock, o.Reached })
	return m
}

// expectation returns which objects a reflector of these options admits.
func (o *Options) expectation() expectation {
	example := o.ExpectedType
	_, generic := example.(runtime.Unstructured)
	_, part := shard.Of(o.ListerWatcher)
	return expectation{reflect.TypeOf(example), unstructuredKind(example), o.Namespace, part, example != nil && !generic, &o.Decoding}
}

// lists returns what is asked.
func (o *Options) lists() *tap.Source {
	all, part := shard.Of(o.ListerWatcher)
	decoding := o.Decoding
	decoding.Part, decoding.Ledger = part, &o.Journal.decoding
	return tap.New(clientgo.ToListerWatcherWithContext(all), o.ExpectedType, decoding)
}

// distrust has the sink's objects, and the parts that they share, taken for what somebody may have
// written to, until it is called with false.
func (m *memory) distrust(them bool) {
	m.distrusts = them
	m.lists.Check(them)
}

// Version is that of a Reflector.
func (m *memory) Version() (version string) {
	m.reader.options.Journal.write(func(p *pages) { version = p.Version })
	return version
}

// serves notes whether the server that has sent the list divides what it sends, if it is asked to.
func (m *memory) serves(list metav1.ListInterface) {
	unsharded := !m.reader.expects.part.IsServed(list)
	m.reader.options.Journal.write(func(p *pages) { p.Unsharded = unsharded })
}

// openingPhase is what the options ask for; left to choose, streaming if the gate is on and the
// ListerWatcher does not deny it, else listing.
func openingPhase(o Options) Phase {
	switch o.Mode {
	case ByList:
		return Listing
	case ByWatchList:
		return Streaming
	}
	if !clientfeatures.FeatureGates().Enabled(clientfeatures.WatchListClient) {
		return Listing
	}
	if watchlist.DoesClientNotSupportWatchListSemantics(o.ListerWatcher) {
		logger := klog.LoggerWithName(*o.Logger, o.Name)
		logger.V(2).Info("The client cannot stream lists, using LIST. Expected of fake clients only.",
			"feature", clientfeatures.WatchListClient)
		return Listing
	}
	return Streaming
}

// begin is the phase in which a round begins now.
func (m *memory) begin() Phase {
	if m.short {
		return Watching
	}
	if m.opening == Streaming && !m.reader.options.Journal.Status().ListUntil.IsZero() {
		return Listing
	}
	return m.opening
}

// degraded notes that requests fail although the server answers. That makes two lines in the log,
// one when it begins and one when it is over; an outage has its own.
func (m *memory) degraded(ctx context.Context, reason string) {
	if m.degradedAt.IsZero() {
		m.degradedAt, m.degradedLevel = time.Now(), m.reader.options.stateLevel()
		m.reader.options.tell(ctx, stateDegraded, "reason", reason)
	}
}

// succeeded notes that a watch is open, on a published state.
func (m *memory) succeeded(ctx context.Context) {
	if !m.degradedAt.IsZero() {
		m.reader.options.tellAt(ctx, m.degradedLevel, stateRecovered, "degraded", time.Since(m.degradedAt).Round(time.Millisecond), "failures", m.reader.options.Journal.Status().Failures)
	}
	m.degradedAt, m.waitsOut = time.Time{}, false
	m.reader.options.Journal.succeeded()
}

// refuse records whether the server refused the position.
func (m *memory) refuse(refused bool) {
	if m.newest != refused {
		m.newest = refused
		m.reader.options.Journal.write(func(p *pages) { p.Refused = refused })
	}
}

// decideOn asks what to do about an error, or nothing.
func (m *memory) decideOn(ctx context.Context, err error) Decision {
	if err == nil || m.reader.options.Decide == nil {
		return Decision{}
	}
	decision := m.reader.options.Decide(ctx, err, m.reader.options.Journal.Status().Failures, m.synced)
	m.waitsOut = m.waitsOut && decision.Expected
	if decision.Expected {
		m.reader.options.Journal.write(func(p *pages) { p.FailingSince = time.Time{} })
	}
	return decision
}

// announce tells who wants to know of an error that ends a round.
func (m *memory) announce(ctx context.Context, err error, decision Decision) {
	if m.reader.options.OnError != nil {
		m.reader.options.OnError(ctx, Failure{Err: err, Expected: decision.Expected, Of: &m.reader.options, Version: m.Version()})
	}
	if decision.Expected && !m.waitsOut {
		m.waitsOut = true
		m.reader.options.say(ctx, 0, "The server does not have the resource, as expected; asking again until it does", "period", decision.After, "err", err)
	}
}

// delayAfter returns how long to wait after an error, or nothing, until the next attempt, and
// whether that comes sooner if the server answers another reflector. A server that was out of reach
// and has answered is there: the next request follows at once, spread over a while. A longer delay
// that the server asks for goes before the backoff.
func (m *memory) delayAfter(err error, decision Decision) (length time.Duration, wakes bool) {
	suggested, asked := apierrors.SuggestsClientDelay(err)
	switch {
	case decision.After > 0:
		return decision.After, false
	case m.reader.timers.outage.err == nil && !asked && m.reader.timers.outage.returns():
		if m.reader.timers.outage.member.woken.Load() { // which has spread it
			return 0, false
		}
		return m.reader.options.spread(), false
	case m.reader.timers.outage.err == nil || asked || apierrors.IsTooManyRequests(err):
		return max(m.reader.options.Delay(), min(time.Duration(suggested)*time.Second, maxRetryAfter)), false
	default:
		return m.reader.timers.outage.delay(m.synced), true
	}
}

// giveUp makes it known that a decision has stopped the reflector.
func (m *memory) giveUp(ctx context.Context, err error) {
	kept := event.Kept(err)
	m.reader.options.Journal.enter(Stopped)
	m.reader.options.Journal.write(func(p *pages) { p.Err, p.Stopped = kept, true })
	event.Report(ctx, err, "The informer has stopped for good, because its error policy says so; its cache does not change any more",
		append(m.reader.options.about(), "state", stateStopped.word, "synced", m.synced)...)
	m.reader.options.TellStopped(ctx, m.reader.options.Journal.Name(), err)
}

// TellStopped tells the program, if it wants to know, that objects are followed no more, or never
// will be.
func (o *Options) TellStopped(ctx context.Context, objects string, err error) {
	if o.OnStop == nil {
		return
	}
	defer utilruntime.HandleCrashWithContext(ctx) // and the reflector has stopped all the same
	o.OnStop(ctx, fmt.Errorf("the informer of %s has stopped for good: %w", objects, err))
}
