// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"sync"
	"time"

	clientfeatures "k8s.io/client-go/features"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/tap"
)

// memory is what a reflector is made of and has learned: what outlives a round. The machine's goroutine uses it, but position may be read by anyone.
type memory struct {
	Options

	lists    *tap.Source
	expects  expectation
	timeouts watchTimeouts
	opening  Phase // how a round begins: streaming or listing; but see begin

	position position
	// paging is the engine's memory that a list from the server's cache came in pages although one page was possible:
	// that server has no watch cache, and paging costs it nothing.
	paging bool
	// ListUntil is the time up to which LIST replaces watch-lists, because those did not come to their end.
	listUntil time.Time
	// synced tells that a whole state was published; it stays so.
	synced bool
	// waitsOut tells that an expected error was logged and is not over.
	waitsOut bool
	// bookmarked tells that a watch has brought a bookmark, so that silence means something.
	bookmarked bool
	// distrusts tells that the sink may have wrong objects under the right versions.
	distrusts bool
}

// newMemory is that of a reflector that has done nothing yet. The options have their defaults.
func newMemory(o Options) *memory {
	m := &memory{
		Options:  o,
		lists:    tap.New(clientgo.ToListerWatcherWithContext(o.ListerWatcher), o.ExpectedType, o.decoding()),
		expects:  expectationOf(o.ExpectedType),
		timeouts: watchTimeoutsFrom(o.MinWatchTimeout),
		opening:  openingPhase(o),
	}
	m.expects.namespace = o.Namespace
	m.position.advance(o.Reached)
	m.Report.attach(o.Clock)
	return m
}

// openingPhase is what the options ask for; left to choose, streaming if the gate is on and the ListerWatcher does not
// deny it, else listing.
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
	if m.opening == Streaming && m.Clock.Now().Before(m.listUntil) {
		return Listing
	}
	return m.opening
}

// succeeded records that a watch is open, on a published state.
func (m *memory) succeeded() {
	m.waitsOut = false
	m.Report.succeeded()
}

// preferLists remembers that watch-lists do not come to their end, unless they are what the user wants.
func (m *memory) preferLists() {
	if m.Mode == ByChoice {
		m.listUntil = m.Clock.Now().Add(listPreference)
		m.Report.preferLists(m.listUntil)
	}
}

// refuse records whether the server refused the position.
func (m *memory) refuse(refused bool) {
	if m.position.refused != refused {
		m.position.refused = refused
		m.Report.refusal(refused)
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
