// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"time"

	clientfeatures "k8s.io/client-go/features"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/watchlist"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/tap"
)

// asking is how and why the whole state is asked for.
type asking struct {
	how   Mode
	again string
}

// memory is what a reflector is made of and has learned: what outlives a round.
type memory struct {
	reader

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
	// told is how and why the whole state is asked for, as the log was told; zero: it is not.
	told asking
	// distrusts says that the sink may have wrong objects under the right versions, see distrust.
	distrusts bool
}

// newMemory is that of a reflector that has done nothing yet. The options have their defaults.
func newMemory(o Options) *memory {
	m := &memory{
		reader:  reader{Options: o, expects: expectationOf(o.ExpectedType)},
		lists:   tap.New(clientgo.ToListerWatcherWithContext(o.ListerWatcher), o.ExpectedType, o.decoding()),
		opening: openingPhase(o),
	}
	m.expects.namespace, m.expects.decoding = o.Namespace, &m.Decoding
	m.Journal.write(func(p *pages) { p.clock, p.Version = o.Clock, o.Reached })
	return m
}

// distrust has the sink's objects, and the parts that they share, taken for what somebody may have
// written to, until it is called with false.
func (m *memory) distrust(them bool) {
	m.distrusts = them
	m.lists.Check(them)
}

// Version returns the version that the reflector would watch from now; "" before the first list.
// The sink may still be busy with that version.
func (m *memory) Version() (version string) {
	m.Journal.write(func(p *pages) { version = p.Version })
	return version
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
	if m.opening == Streaming && !m.Journal.Status().ListUntil.IsZero() {
		return Listing
	}
	return m.opening
}

// degraded notes that requests fail although the server answers. That makes two lines in the log,
// one when it begins and one when it is over; an outage has its own.
func (m *memory) degraded(ctx context.Context, reason string) {
	if m.degradedAt.IsZero() {
		m.degradedAt, m.degradedLevel = time.Now(), m.stateLevel()
		m.tell(ctx, stateDegraded, "reason", reason)
	}
}

// succeeded notes that a watch is open, on a published state.
func (m *memory) succeeded(ctx context.Context) {
	if !m.degradedAt.IsZero() {
		m.tellAt(ctx, m.degradedLevel, stateRecovered, "degraded", time.Since(m.degradedAt).Round(time.Millisecond), "failures", m.Journal.Status().Failures)
	}
	m.degradedAt, m.waitsOut = time.Time{}, false
	m.Journal.succeeded()
}

// refuse records whether the server refused the position.
func (m *memory) refuse(refused bool) {
	if m.newest != refused {
		m.newest = refused
		m.Journal.write(func(p *pages) { p.Refused = refused })
	}
}
