// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
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

// condition is a state that a reflector is in or not. Each begins and ends independently of the others:
//
//	condition    begins with                              ends with
//	published    the first state in the sink              -
//	paging       a list at "0" that came in pages         -
//	newest       a version that the server refused, or    a state in the sink
//	             RelistNewest
//	distrusting  a *tap.Doubt, or Relist                  a state in the sink
//	short        a watch that was closed at once, unless  the next watch, a relist, a new run
//	             the one before was, too
//	unserved     a round that ended after watchMisses     a state in the sink, another round's end
//	             watches in a row were not served
//	expecting    the log line about an expected error     an open watch, an unexpected error
type condition uint8

const (
	published   condition = 1 << iota
	paging                // the server has no watch cache, so paging costs it nothing
	newest                // the next list must return the server's most recent state
	distrusting           // the sink may have wrong objects under the right versions; see distrust
	short                 // the next round begins with another watch, as after a busy server's
	unserved              // the round relists because watches were not served
	expecting             // an expected error was logged, and persists
)

// conditions are those that a reflector is in. Only its own goroutine may use them, not those of its requests.
type conditions struct{ set condition }

func (c *conditions) is(one condition) bool { return c.set&one != 0 }

// become makes the reflector be in a condition, or not.
func (c *conditions) become(one condition, on bool) {
	if c.set &^= one; on {
		c.set |= one
	}
}

// persistentState is the state of a reflector that outlives a round.
type persistentState struct {
	reader  watchReader
	lists   *tap.Source
	opening Phase // how a round begins: Streaming or Listing; see begin
	conditions

	// again is the reason for the next relist; "" before the first list.
	again string
	// listKind is the kind of the last page that has one; "" before, and after an answer that the resource is not served.
	listKind string
	// confirms is set if the next list confirms that most objects are to be removed.
	confirms *loss
	// degraded is the time in which requests fail although the server answers. Outages have their own lines.
	degraded spell
	// explained is set once the log says why the client decodes. The goroutines of requests use it.
	explained atomic.Bool
	// loggedList is the mode and reason of the current list as logged, or "".
	loggedList string
}

// newPersistentState returns the state of a reflector that has not run. o must have its defaults.
func newPersistentState(o Options) *persistentState {
	s := &persistentState{
		reader:  watchReader{options: o},
		lists:   o.lists(),
		opening: openingPhase(o),
	}
	s.reader.expects = s.reader.options.expectation()
	s.reader.options.Journal.write(func(p *journalState) { p.clock = o.Clock; p.listed(o.Reached) })
	return s
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
func (s *persistentState) distrust(them bool) {
	s.become(distrusting, them)
	s.lists.Check(them)
}

// Version returns the resource version that the reflector has reached.
func (s *persistentState) Version() (version string) {
	s.reader.options.Journal.write(func(p *journalState) { version = p.Version })
	return version
}

// otherKind returns the kind of a page without items if it is another one than that of the page before, as
// far as kinds are known: from the bytes of the page, or from the client of unstructured objects.
func (s *persistentState) otherKind(page runtime.Object, n int) string {
	var kind string
	if direct, is := page.(*tap.Page); is {
		kind = direct.Kind
	} else if of := page.GetObjectKind(); of != nil { // a hand-written list may have none
		kind = of.GroupVersionKind().Kind
	}
	switch {
	case kind == "":
	case s.listKind == "" || n > 0:
		s.listKind = kind
	case kind != s.listKind:
		return kind
	}
	return ""
}

// undefined forgets the kind of lists if the server does not serve the resource: it may be defined anew, with another kind.
func (s *persistentState) undefined(err error) {
	if apierrors.IsNotFound(err) {
		s.listKind = ""
	}
}

// versioned reports whether the reflector, or the one that it replaces, has ever had a version.
func (s *persistentState) versioned() (is bool) {
	s.reader.options.Journal.write(func(p *journalState) { is = p.versioned })
	return is
}

// serves records whether the server that sent the list restricts it to the requested shard. It returns
// an error if the server restricts it to another one.
func (s *persistentState) serves(list metav1.ListInterface) error {
	served, err := s.reader.expects.part.Serves(list)
	s.reader.options.Journal.write(func(p *journalState) { p.Unsharded = !served })
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
func (s *persistentState) begin() Phase {
	if s.is(short) {
		return Watching
	}
	if s.opening == Streaming && !s.reader.options.Journal.Status().ListUntil.IsZero() {
		return Listing
	}
	return s.opening
}

// succeeded records that a watch is open, on a published state.
func (s *persistentState) succeeded(ctx context.Context, opened *stream) {
	s.degraded.end(ctx, &s.reader.options, time.Now(), stateRecovered, "degraded", "failures", s.reader.options.Journal.Status().Failures)
	s.become(expecting, false)
	s.reader.options.Journal.succeeded(opened.due, opened.lasts)
}

// refuse records whether the server refused the reflector's version.
func (s *persistentState) refuse(refused bool) {
	if s.is(newest) != refused {
		s.become(newest, refused)
		s.reader.options.Journal.write(func(p *journalState) { p.Refused = refused })
	}
}

// decideOn calls Options.Decide. Without an error or a Decide it returns the zero Decision.
func (s *persistentState) decideOn(ctx context.Context, err error) Decision {
	if err == nil || s.reader.options.Decide == nil {
		return Decision{}
	}
	decision := s.reader.options.Decide(ctx, Undecided{err, s.reader.options.Journal.Status().Failures, s.is(published), s.reader.options.Source})
	s.become(expecting, s.is(expecting) && decision.Expected)
	if decision.Expected {
		s.reader.options.Journal.write(func(p *journalState) { p.FailingSince = time.Time{} })
	}
	return decision
}

// announce reports an error that ends a round.
func (s *persistentState) announce(ctx context.Context, err error, decision Decision) {
	if s.reader.options.OnError != nil {
		s.reader.options.OnError(ctx, Failure{Err: err, Expected: decision.Expected, Of: &s.reader.options, Version: s.Version()})
	}
	if decision.Expected && !s.is(expecting) {
		s.become(expecting, true)
		s.reader.options.log(ctx, 0, "The server does not have the resource, as expected; asking again until it does", "period", decision.After, "err", err)
	}
}

// delayAfter returns the delay before the next attempt after err (which may be nil). wakes reports
// whether an answer of the server to another reflector ends the delay early. If a server that was
// out of reach has answered, the next request follows at once, apart from a random spread. A delay
// that the server asks for replaces the backoff if it is longer.
func (s *persistentState) delayAfter(err error, decision Decision) (length time.Duration, wakes bool) {
	suggested, asked := apierrors.SuggestsClientDelay(err)
	switch {
	case decision.After > 0:
		return decision.After, false
	case s.reader.timers.outage.err == nil && !asked && s.reader.timers.outage.returns():
		return s.reader.timers.outage.listDelay(), false
	case s.reader.timers.outage.err == nil || asked || apierrors.IsTooManyRequests(err):
		return max(s.reader.options.Delay(), min(time.Duration(suggested)*time.Second, maxRetryAfter)), false
	default:
		return s.reader.timers.outage.delay(), true
	}
}

// giveUp reports that a Decision has stopped the reflector.
func (s *persistentState) giveUp(ctx context.Context, err error) {
	kept := event.Retainable(err)
	s.reader.options.Journal.enter(Stopped)
	s.reader.options.Journal.write(func(p *journalState) { p.Err, p.Stopped = kept, true })
	event.Report(ctx, err, "The informer has stopped for good, because its error policy says so; its cache does not change any more",
		append(s.reader.options.about(), "state", stateStopped.word, "synced", s.is(published))...)
	s.reader.options.TellStopped(ctx, s.reader.options.Journal.Name(), err)
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
