// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"
)

// reflector keeps a sink equal, eventually, to a collection on the server: it takes the whole state by a list or a
// watch-list stream, then follows it by watches, and starts over when it loses the thread. The machine of
// reflector_machine.go does the work; this type holds what outlives a round.
//
// Guarantees:
//   - The sink is called by one goroutine at a time, in the order of the server's events.
//   - Every wait ends at once when the context does. A ListerWatcher that ignores its context is left behind: what it
//     returns later is dropped, a watch is stopped. None of its methods is called after run has returned.
//   - Nothing that the server or the ListerWatcher sends makes the reflector panic, except that a panic inside the
//     ListerWatcher is thrown again in the goroutine that runs the reflector.
//   - Objects never appear in logs or errors, only their types and keys.
//
// At most one run or listAndWatch at a time; version may be called by anyone at any time.
type reflector struct {
	reflectorOptions

	lists    ListerWatcherWithContext
	expects  expectation
	timeouts watchTimeouts
	opening  reflectorPhase // how a round begins: streaming or listing; but see begin

	position position
	// paging is the engine's memory that a list from the server's cache came in pages although one page was possible:
	// that server has no watch cache, and paging costs it nothing.
	paging bool
	// listUntil is the time up to which LIST replaces watch-lists, because those did not come to their end.
	listUntil time.Time
	// synced tells that a whole state was published; it stays so.
	synced bool
	// waitsOut tells that an expected error was logged and is not over.
	waitsOut bool
	// bookmarked tells that a watch has brought a bookmark, so that silence means something.
	bookmarked bool
}

// newReflector makes a reflector that is not running yet. Whether rounds begin with a watch-list stream is decided
// here, by the WatchListClient gate as it is now and by what o.listerWatcher says about itself.
func newReflector(o reflectorOptions) *reflector {
	o = o.withDefaults()
	r := &reflector{
		reflectorOptions: o,
		lists:            ToListerWatcherWithContext(o.listerWatcher),
		expects:          expectationOf(o.expectedType),
		timeouts:         watchTimeoutsFrom(o.minWatchTimeout),
		opening:          openingPhase(o),
	}
	r.expects.namespace = o.namespace
	r.position.advance(o.reached)
	r.report.attach(o.clock)
	return r
}

// openingPhase is what the options ask for; left to choose, streaming if the gate is on and the ListerWatcher does not
// deny it, else listing.
func openingPhase(o reflectorOptions) reflectorPhase {
	switch o.mode {
	case byList:
		return listing
	case byWatchList:
		return streaming
	}
	if !clientfeatures.FeatureGates().Enabled(clientfeatures.WatchListClient) {
		return listing
	}
	if watchlist.DoesClientNotSupportWatchListSemantics(o.listerWatcher) {
		logger := klog.LoggerWithName(*o.logger, o.name)
		logger.V(2).Info("The client cannot stream lists, using LIST. Expected of fake clients only.",
			"feature", clientfeatures.WatchListClient)
		return listing
	}
	return streaming
}

// run reflects until ctx ends, and returns then without delay, whatever the ListerWatcher does, or until a decision
// stops it. Rounds that end are followed by another one after a backoff; errors go to onError.
func (r *reflector) run(ctx context.Context) {
	logger := klog.FromContext(ctx)
	logger.V(3).Info("Starting reflector", "reflector", r.name, "type", r.typeDescription, "resyncPeriod", r.resyncPeriod)
	m := newMachine(r)
	m.roundOver = m.scheduleRound
	defer r.report.enter(stopped)
	if r.startJitter > 0 {
		m.phase = m.restAfterRound(rand.N(r.startJitter))
	}
	defer m.outage.end()
	defer m.close()
	for m.phase != stopped {
		m.stepOrCrash(ctx)
	}
	logger.V(3).Info("Stopping reflector", "reflector", r.name, "type", r.typeDescription, "resyncPeriod", r.resyncPeriod)
}

// listAndWatch runs one round: the whole state, then watches until one ends in a way that needs the whole state again.
// It returns nil when ctx ended or an established watch broke, and an error when a list failed or a watch could not be
// started. It does not call onError.
func (r *reflector) listAndWatch(ctx context.Context) error {
	var result error
	m := newMachine(r)
	m.roundOver = func(_ context.Context, err error) reflectorPhase {
		result = err
		return stopped
	}
	defer m.outage.end()
	defer m.close()
	for m.phase != stopped {
		m.step(ctx)
	}
	return result
}

// streams reports whether rounds begin with a watch-list.
func (r *reflector) streams() bool { return r.opening == streaming }

// version returns the version that the reflector would watch from now; "" before the first list. The
// sink may still be busy with that version.
func (r *reflector) version() string {
	return r.position.version()
}

// begin is the phase in which a round begins now.
func (r *reflector) begin() reflectorPhase {
	if r.opening == streaming && r.clock.Now().Before(r.listUntil) {
		return listing
	}
	return r.opening
}

// succeeded records that a watch is open, on a published state.
func (r *reflector) succeeded() {
	r.waitsOut = false
	r.report.succeeded()
}

// preferLists remembers that watch-lists do not come to their end, unless they are what the user wants.
func (r *reflector) preferLists() {
	if r.mode == byChoice {
		r.listUntil = r.clock.Now().Add(listPreference)
		r.report.preferLists(r.listUntil)
	}
}

// refuse records whether the server refused the position.
func (r *reflector) refuse(refused bool) {
	if r.position.refused != refused {
		r.position.refused = refused
		r.report.refusal(refused)
	}
}

// position is where the reflector stands in the history of the collection.
type position struct {
	mu struct {
		sync.RWMutex
		version string
	}
	// refused records that the server no longer, or not yet, knows version, so that the next whole state must be its
	// newest. Only the engine's goroutine uses it.
	refused bool
}

func (p *position) version() string {
	p.mu.RLock()
	defer p.mu.RUnlock()
	return p.mu.version
}

func (p *position) advance(version string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.version = version
}

// forList is the version a list asks for: "" (the newest) after a refusal, "0" (whatever the server has in its cache)
// for the first one, else at least the last one seen, so that the store never goes back in time.
func (p *position) forList() string {
	version := p.version()
	switch {
	case p.refused:
		return ""
	case version == "":
		return "0"
	default:
		return version
	}
}

// forStream is the version a watch-list stream asks for: at least the last one seen, or the newest.
func (p *position) forStream() string {
	if p.refused {
		return ""
	}
	return p.version()
}
