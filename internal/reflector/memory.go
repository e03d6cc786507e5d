// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"time"

	clientfeatures "k8s.io/client-go/features"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/tap"
)

// memory is what a reflector is made of and has learned: what outlives a round.
type memory struct {
	reader

	lists    *tap.Source
	timeouts watchTimeouts
	opening  Phase // how a round begins: streaming or listing; but see begin

	// paging says that a list from the server's cache came in pages although one page was possible:
	// that server has no watch cache, and paging costs it nothing.
	paging bool
	// ListUntil is the time up to which LIST replaces watch-lists, because those did not come to
	// their end.
	listUntil time.Time
	// again says why the whole state is asked for again; "": it was not asked for yet.
	again string
	// short says that the last watch was closed at once, as busy servers do, but not the one
	// before: the next round begins with another watch.
	short bool
	// unserved says that the whole state is asked for because watches were not served.
	unserved bool
	// synced says that a whole state was published; it stays so.
	synced bool
	// waitsOut says that an expected error was logged and is not over.
	waitsOut bool
	// trouble is what the log was told, and not that it is over.
	trouble trouble
	// told is how and why the whole state is asked for, as the log was told; zero: it is not.
	told asking
	// distrusts says that the sink may have wrong objects under the right versions, see distrust.
	distrusts bool
}

// newMemory is that of a reflector that has done nothing yet. The options have their defaults.
func newMemory(o Options) *memory {
	m := &memory{
		reader:   reader{Options: o, expects: expectationOf(o.ExpectedType)},
		lists:    tap.New(clientgo.ToListerWatcherWithContext(o.ListerWatcher), o.ExpectedType, o.decoding()),
		timeouts: watchTimeoutsFrom(o.MinWatchTimeout),
		opening:  openingPhase(o),
	}
	m.trouble.Options = &m.Options
	m.expects.namespace, m.expects.decoding = o.Namespace, &m.Decoding
	m.position.advance(o.Reached)
	m.Report.attach(o.Clock)
	return m
}

// distrust has the sink's objects, and the parts that they share, taken for what somebody may have
// written to, until it is called with false.
func (m *memory) distrust(them bool) {
	m.distrusts = them
	m.lists.Check(them)
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

// preferLists remembers that watch-lists do not come to their end, unless they are what the user
// wants.
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
