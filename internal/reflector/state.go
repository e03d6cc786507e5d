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

// persistentState is the state of a reflector that outlives a round.
type persistentState struct {
	reader  watchReader
	lists   *tap.Source
	opening Phase // how a round begins: Streaming or Listing; see begin

	// paging is set if a list at version "0" came in pages although one page was possible. Such a
	// server has no watch cache, so paging costs it nothing.
	paging bool
	// again is the reason for the next relist; "" before the first list.
	again string
	// short is set if the last watch was closed at once, as busy servers do, and the one before was
	// not. The next round then begins with another watch.
	short bool
	// unserved is set while the reflector relists because watches were not served.
	unserved bool
	// newest is set if the next list must return the server's most recent state: the server does
	// not know the reflector's version, or a caller of Relister does not trust it.
	newest bool
	// synced is set once a state was published, and stays set.
	synced bool
	// listKind is the kind of the last page that has one; "" before.
	listKind string
	// confirms is set if the next list confirms that most objects are to be removed.
	confirms *loss
	// waitsOut is set if an expected error was logged and still persists.
	waitsOut bool
	// degradedAt is the time since which requests fail although the server answers, or zero.
	// degradedLevel is the verbosity at which this was logged.
	degradedAt    time.Time
	degradedLevel int
	// indirect is set once the log has a line that says why the client decodes.
	indirect bool
	// loggedList is the mode and reason of the current list as logged, or "".
	loggedList string
	// distrusts is set if the sink may have wrong objects under the right versions; see distrust.
	distrusts bool
}

// newPersistentState returns the state of a reflector that has not run. o must have its defaults.
func newPersistentState(o Options) *persistentState {
	m := &persistentState{
		reader:  watchReader{options: o},
		lists:   o.lists(),
		opening: openingPhase(o),
	}
	m.reader.expects = m.reader.options.expectation()
	m.reader.options.Journal.write(func(p *journalState) { p.clock = o.Clock; p.reach(o.Reached) })
	return m
}

// expectation returns the conditions for objects that a reflector of these options admits.
func (o *Options) expectation() expectation {
	example := o.ExpectedType
	_, generic := example.(runtime.Unstructured)
	_, part := o.Shard()
	return expectation{reflect.TypeOf(example), unstructuredKind(example), o.Namespace, part, example != nil && !generic, &o.Decoding}
}

// Shard returns the ListerWatcher of all objects, and the shard to request.
func (o *Options) Shard() (all clientgo.ListerWatcher, part *shard.Range) {
	all, part = shard.Of(o.ListerWatcher)
	return all, o.Part.Within(part)
}

// lists returns the source of lists and watches.
func (o *Options) lists() *tap.Source {
	all, part := o.Shard()
	decoding := o.Decoding
	decoding.Part, decoding.Ledger = part, &o.Journal.decoding
	return tap.New(clientgo.ToListerWatcherWithContext(all), o.ExpectedType, decoding)
}

// distrust sets whether a caller may have modified the sink's objects and the parts that they share.
// While set, shared parts are checked before use, and no remembered object is returned.
func (m *persistentState) distrust(them bool) {
	m.distrusts = them
	m.lists.Check(them)
}

// Version returns the resource version that the reflector has reached.
func (m *persistentState) Version() (version string) {
	m.reader.options.Journal.write(func(p *journalState) { version = p.Version })
	return version
}

// otherKind returns the kind of a page without items if it is another one than that of the page before, as
// far as kinds are known: from the bytes of the page, or from the client of unstructured objects.
func (m *persistentState) otherKind(page runtime.Object, n int) string {
	kind := page.GetObjectKind().GroupVersionKind().Kind
	if direct, is := page.(*tap.Page); is {
		kind = direct.Kind
	}
	switch {
	case kind == "":
	case m.listKind == "" || n > 0:
		m.listKind = kind
	case kind != m.listKind:
		return kind
	}
	return ""
}

// versioned reports whether the reflector has ever had a version.
func (m *persistentState) versioned() (is bool) {
	m.reader.options.Journal.write(func(p *journalState) { is = p.versioned })
	return is
}

// serves records whether the server that sent the list restricts it to the requested shard. It returns
// an error if the server restricts it to another one.
func (m *persistentState) serves(list metav1.ListInterface) error {
	served, err := m.reader.expects.part.Serves(list)
	m.reader.options.Journal.write(func(p *journalState) { p.Unsharded = !served })
	return err
}

// openingPhase returns the first phase of a round: the one for o.Mode or, with ByChoice, Streaming
// if the gate is on and the ListerWatcher does not deny support, else Listing.
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

// begin returns the first phase of a round that begins now.
func (m *persistentState) begin() Phase {
	if m.short {
		return Watching
	}
	if m.opening == Streaming && !m.reader.options.Journal.Status().ListUntil.IsZero() {
		return Listing
	}
	return m.opening
}

// degraded records that requests fail although the server answers. The log has one line for the
// beginning and one for the end of this state. Outages have their own lines.
func (m *persistentState) degraded(ctx context.Context, reason string) {
	if m.degradedAt.IsZero() {
		m.degradedAt, m.degradedLevel = time.Now(), m.reader.options.stateLevel()
		m.reader.options.logState(ctx, stateDegraded, "reason", reason)
	}
}

// succeeded records that a watch is open, on a published state.
func (m *persistentState) succeeded(ctx context.Context, s *stream) {
	if !m.degradedAt.IsZero() {
		m.reader.options.logStateAt(ctx, m.degradedLevel, stateRecovered, "degraded", time.Since(m.degradedAt).Round(time.Millisecond), "failures", m.reader.options.Journal.Status().Failures)
	}
	m.degradedAt, m.waitsOut = time.Time{}, false
	m.reader.options.Journal.succeeded(s.due, s.lasts)
}

// refuse records whether the server refused the reflector's version.
func (m *persistentState) refuse(refused bool) {
	if m.newest != refused {
		m.newest = refused
		m.reader.options.Journal.write(func(p *journalState) { p.Refused = refused })
	}
}

// decideOn calls Options.Decide. Without an error or a Decide it returns the zero Decision.
func (m *persistentState) decideOn(ctx context.Context, err error) Decision {
	if err == nil || m.reader.options.Decide == nil {
		return Decision{}
	}
	decision := m.reader.options.Decide(ctx, Undecided{err, m.reader.options.Journal.Status().Failures, m.synced, m.reader.options.Source})
	m.waitsOut = m.waitsOut && decision.Expected
	if decision.Expected {
		m.reader.options.Journal.write(func(p *journalState) { p.FailingSince = time.Time{} })
	}
	return decision
}

// announce reports an error that ends a round.
func (m *persistentState) announce(ctx context.Context, err error, decision Decision) {
	if m.reader.options.OnError != nil {
		m.reader.options.OnError(ctx, Failure{Err: err, Expected: decision.Expected, Of: &m.reader.options, Version: m.Version()})
	}
	if decision.Expected && !m.waitsOut {
		m.waitsOut = true
		m.reader.options.log(ctx, 0, "The server does not have the resource, as expected; asking again until it does", "period", decision.After, "err", err)
	}
}

// delayAfter returns the delay before the next attempt after err (which may be nil). wakes reports
// whether an answer of the server to another reflector ends the delay early. If a server that was
// out of reach has answered, the next request follows at once, apart from a random spread. A delay
// that the server asks for replaces the backoff if it is longer.
func (m *persistentState) delayAfter(err error, decision Decision) (length time.Duration, wakes bool) {
	suggested, asked := apierrors.SuggestsClientDelay(err)
	switch {
	case decision.After > 0:
		return decision.After, false
	case m.reader.timers.outage.err == nil && !asked && m.reader.timers.outage.returns():
		return m.reader.timers.outage.listDelay(), false
	case m.reader.timers.outage.err == nil || asked || apierrors.IsTooManyRequests(err):
		return max(m.reader.options.Delay(), min(time.Duration(suggested)*time.Second, maxRetryAfter)), false
	default:
		return m.reader.timers.outage.delay(), true
	}
}

// giveUp reports that a Decision has stopped the reflector.
func (m *persistentState) giveUp(ctx context.Context, err error) {
	kept := event.Retainable(err)
	m.reader.options.Journal.enter(Stopped)
	m.reader.options.Journal.write(func(p *journalState) { p.Err, p.Stopped = kept, true })
	event.Report(ctx, err, "The informer has stopped for good, because its error policy says so; its cache does not change any more",
		append(m.reader.options.about(), "state", stateStopped.word, "synced", m.synced)...)
	m.reader.options.TellStopped(ctx, m.reader.options.Journal.Name(), err)
}

// TellStopped calls OnStop, if set, with an error that says that the objects are no longer
// followed, or never will be.
func (o *Options) TellStopped(ctx context.Context, objects string, err error) {
	if o.OnStop == nil {
		return
	}
	defer utilruntime.HandleCrashWithContext(ctx) // the reflector has stopped even if OnStop panics
	what := "the informer"
	if o.Source != "" {
		what = "the reflector" // the informer goes on
	}
	o.OnStop(ctx, Halted{o.Source, fmt.Errorf("%s of %s has stopped for good: %w", what, objects, err)})
}
