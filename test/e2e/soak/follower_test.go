// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/audit"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit/checker"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/follow"
	"github.com/kinformer/cache/view"
)

const (
	shardIndex = "shard"
	shards     = 4
	// pageSize splits the lists of a server without a watch cache into pages.
	pageSize = 25
	// stopPatience bounds the time in which an informer stops, even on a busy machine.
	stopPatience = 2 * time.Minute
	// auditPause is the mean pause between two audits of an informer.
	auditPause = 2 * time.Second
)

// byShard indexes an object by its value, so that an update may move it to another shard.
func byShard(obj any) ([]string, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(m.GetLabels()[checker.ValueLabel])) // a hash never returns an error
	return []string{strconv.Itoa(int(h.Sum32() % shards))}, nil
}

// follower is a running informer with handlers and a reader.
type follower struct {
	name     string
	kind     *kind
	mode     follow.Mode
	informer cache.SharedIndexInformer
	source   *follow.Source
	report   *report
	tapped   bool        // the informer decodes directly
	shares   bool        // whether its objects share equal parts
	eager    atomic.Bool // the reader does not pause
	close    func()      // closes the resource

	cancel  context.CancelFunc
	running sync.WaitGroup

	mu       sync.Mutex
	handlers []*handler
}

// startFollower starts an informer with a handler of each kind, a reader and an auditor.
func (r *run) startFollower(ctx context.Context, k *kind, mode follow.Mode) (*follower, error) {
	number := uint64(r.informers.Add(1))
	random := rand.New(rand.NewPCG(*seed, 1<<32+number))
	f := &follower{
		name: fmt.Sprintf("%s/%s#%d", k.name, mode, number), kind: k, mode: mode, report: r.report,
		tapped: *library == ours && random.IntN(100) < *tapped,
	}
	f.shares = f.tapped && random.IntN(2) == 0
	resource, err := r.cluster.resource(k.name, f.tapped)
	if err != nil {
		return nil, err
	}
	f.close = resource.Close
	f.source = &follow.Source{
		ListWatch: resource.ListWatch, Mode: mode, PageSize: pageSize,
		WatchSeconds: func() int64 { return 2 + rand.Int64N(20) },
		Position:     func() string { return f.informer.LastSyncResourceVersion() },
		Skipped:      f.skipped,
	}
	resync := []time.Duration{0, 2 * time.Second}[random.IntN(2)]
	f.informer = f.library(random)(f.source, resource.Example, resync, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, shardIndex: byShard,
	})
	for _, kind := range handlerKinds {
		if err := f.join(kind); err != nil {
			return nil, err
		}
	}
	f.start(ctx, random)
	return f, nil
}

// library returns the constructor of the informer. An informer that decodes directly requests pages
// itself: it cannot decode the answer to a list whose limit its source has changed.
func (f *follower) library(random *rand.Rand) newInformer {
	if !f.tapped {
		return libraries[*library]
	}
	f.source.PageSize = 0
	options := kinformer.Options{Decoding: kinformer.Decoding{ShareParts: f.shares}}
	if random.IntN(2) == 0 {
		options.Requests.PageSize = pageSize
	}
	return kinformer.Constructor(options)
}

func (f *follower) start(ctx context.Context, random *rand.Rand) {
	ctx, f.cancel = context.WithCancel(ctx)
	f.running.Go(func() { f.informer.RunWithContext(ctx) })
	f.running.Go(func() { f.read(ctx, random) })
	if *library == ours {
		f.running.Go(func() { f.audit(ctx) })
	}
}

// skipped notifies the handlers' replicas of a list.
func (f *follower) skipped(from, to string) {
	for _, h := range f.current() {
		h.replica.Skipped(from, to)
	}
}

// current returns the handlers in the order in which they were added.
func (f *follower) current() []*handler {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.handlers)
}

// join adds a handler.
func (f *follower) join(kind handlerKind) (err error) {
	h := newHandler(kind, f.name, f.kind.ledger, f.report)
	f.mu.Lock()
	f.handlers = append(f.handlers, h) // before AddEventHandler: the replica must not miss a gap
	f.mu.Unlock()
	if h.registration, err = f.informer.AddEventHandler(kinformer.Deliver(h, kind.delivery)); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	// The initial list of h may be as new as the informer's current version.
	h.replica.Skipped("", f.informer.LastSyncResourceVersion())
	return nil
}

// leave removes a handler and reports calls after its end.
func (f *follower) leave(h *handler) error {
	if err := f.informer.RemoveEventHandler(h.registration); err != nil {
		return fmt.Errorf("%s: %w", h.name, err)
	}
	if r, ok := h.registration.(interface{ ShutdownChan() <-chan struct{} }); ok {
		select {
		case <-r.ShutdownChan():
			h.replica.Close()
		case <-time.After(stopPatience):
			f.report.violation("stop", h.name, "not shut down %v after its removal", stopPatience)
		}
	}
	h.count()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.handlers = slices.DeleteFunc(f.handlers, func(other *handler) bool { return other == h })
	return nil
}

// stop stops the informer, and reports if it does not end or calls handlers afterwards.
func (f *follower) stop() {
	f.cancel()
	late := time.AfterFunc(stopPatience, func() { f.report.violation("stop", f.name, "still running after %v", stopPatience) })
	f.running.Wait()
	late.Stop()
	for _, h := range f.current() {
		h.replica.Close()
		h.count()
	}
	f.source.Drain()
	f.close()
	s := f.source
	for name, n := range map[string]int64{
		"requests: lists": s.Lists.Load(), "requests: streams": s.Streams.Load(), "requests: watches": s.Watches.Load(),
		"requests failed": s.Failed.Load(), "requests failed: 410": s.Expired.Load(), "requests failed: 410 of pages": s.ExpiredPages.Load(),
		"requests failed: 429": s.Throttled.Load(), "watch events": s.Events.Load(),
	} {
		f.report.count(name, n)
	}
	if status, err := inspect.StatusOf(f.informer); err == nil && f.tapped {
		f.report.count("decoded directly", status.Decoding.Direct)
		f.report.count("decoded by both", status.Decoding.Verified.Objects)
		for why, n := range status.Decoding.GivenUp {
			f.report.count("not decoded directly: "+why, n)
		}
	}
}

// compare waits until handlers, store and indices equal want. The server must not change meanwhile.
func (f *follower) compare(ctx context.Context, want checker.Contents) {
	if !cache.WaitFor(ctx, f.name, f.informer.HasSyncedChecker()) {
		f.report.violation("differs", f.name, "not synced in time: %v", context.Cause(ctx))
		return
	}
	for _, h := range f.current() {
		h.compare(ctx, want)
	}
	status, err := inspect.StatusOf(f.informer)
	if d := checker.Compare(f.informer.GetIndexer(), want); d != nil {
		f.report.violation("differs", f.name, "%v; %v", d, status)
	}
	if d := status.Decoding; err == nil && f.tapped && (!d.On || d.Verified.Differences > 0 || d.Shared.On != f.shares || d.Shared.Parts.Bytes > d.Shared.Parts.Limit) {
		f.report.violation("decoding", f.name, "%+v", d)
	}
}

// audit audits the informer continuously, during all faults: an audit must never find a difference. An
// audit that fails, because the server is down or the version has expired, is counted.
func (f *follower) audit(ctx context.Context) {
	for n := 0; wait(ctx, time.Duration(rand.Int64N(int64(2*auditPause)))); n++ {
		report, err := audit.Once(ctx, f.informer, audit.Options{Content: n%2 == 1})
		switch {
		case ctx.Err() != nil:
			return
		case len(report.Found) > 0:
			f.report.violation("audit", f.name, "%v (error: %v)", report, err)
		case err != nil:
			f.report.count("audits: not possible", 1)
		default:
			f.report.count("audits", 1)
			f.report.count("audits: objects", int64(report.Digest.Objects))
		}
	}
}

// read reads all objects repeatedly until ctx is done, by a list, an index or a snapshot.
func (f *follower) read(ctx context.Context, random *rand.Rand) {
	report, n := f.report.of(f.name+" reader"), int64(0)
	r, indexer := checker.NewReads(f.kind.ledger, report), f.informer.GetIndexer()
	for f.eager.Load() && ctx.Err() == nil || wait(ctx, *pause) {
		at := r.Position(indexer.LastStoreSyncResourceVersion())
		switch random.IntN(3) {
		case 0:
			r.Whole(indexer.List(), at)
		case 1:
			objects, err := indexer.ByIndex(cache.NamespaceIndex, follow.Namespace)
			if err != nil {
				report("mixed", err.Error())
			}
			r.Whole(objects, at)
		default:
			if s, err := view.Of(indexer); err == nil { // client-go's indexer has no view
				r.Exactly(s)
				s.Close()
			}
		}
		n++
	}
	f.report.count("reads", n)
}

// handlerKind is a way to deliver notifications. Every informer has a handler of each kind. Client-go's
// informers ignore the kind.
type handlerKind struct {
	name     string
	delivery kinformer.Delivery
	lossless bool // every state is delivered, not only the last one
}

var handlerKinds = []handlerKind{
	{"lossless", kinformer.Delivery{}, true},
	{"coalesce", kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}, false},
	{"block", kinformer.Delivery{Overflow: kinformer.OverflowBlock, Max: 64}, true},
	{"parallel", kinformer.Delivery{Parallel: 4}, true},
}

// hearPatience is how long the notifications of acknowledged writes may take once a handler's replica is
// equal: the replica does not show a missing object that was created and deleted at once.
const hearPatience = time.Minute

// behaviour is what a handler does besides recording the notification. The zero value does nothing.
type behaviour struct {
	delay      time.Duration   // each call takes that long
	until      <-chan struct{} // each call waits until it is closed
	panicEvery int64           // each call with a multiple of that number panics after recording
}

// handler is a handler of an informer: a replica, and a behaviour that faults change.
type handler struct {
	kind         handlerKind
	name         string
	replica      *checker.Replica
	report       *report
	registration cache.ResourceEventHandlerRegistration
	behaviour    atomic.Pointer[behaviour]
	calls        atomic.Int64
	panics       atomic.Int64
	lost         chan struct{} // closed before a call of the initial list panics
	lose         sync.Once
}

func newHandler(kind handlerKind, name string, ledger *checker.Ledger, r *report) *handler {
	h := &handler{kind: kind, name: name + " " + kind.name, report: r, lost: make(chan struct{})}
	h.behaviour.Store(&behaviour{})
	h.replica = checker.NewReplica(r.of(h.name))
	h.replica.Unordered, h.replica.Ledger = kind.delivery.Parallel > 1, ledger
	return h
}

// OnAdd implements ResourceEventHandler.
func (h *handler) OnAdd(obj any, isInInitialList bool) {
	h.call(isInInitialList, func() { h.replica.OnAdd(obj, isInInitialList) })
}

// OnUpdate implements ResourceEventHandler.
func (h *handler) OnUpdate(old, obj any) { h.call(false, func() { h.replica.OnUpdate(old, obj) }) }

// OnDelete implements ResourceEventHandler.
func (h *handler) OnDelete(obj any) { h.call(false, func() { h.replica.OnDelete(obj) }) }

func (h *handler) call(initial bool, note func()) {
	b := h.behaviour.Load()
	if b.until != nil {
		<-b.until
	}
	if b.delay > 0 {
		<-time.After(b.delay)
	}
	note()
	if n := h.calls.Add(1); b.panicEvery > 0 && n%b.panicEvery == 0 {
		h.panics.Add(1)
		if initial {
			h.lose.Do(func() { close(h.lost); h.report.count("registrations that never sync", 1) })
		}
		panic("soak: a handler panics, as it was told to")
	}
}

func (h *handler) count() {
	told, tombstones := h.replica.Notifications()
	h.report.count("notifications", int64(told))
	h.report.count("notifications: tombstones", int64(tombstones))
	h.report.count("notifications: panics", h.panics.Load())
}

// compare waits until the replica equals want and every acknowledged state was delivered. Writers must
// be paused.
func (h *handler) compare(ctx context.Context, want checker.Contents) {
	defer h.replica.StartAnew()
	if err := h.replica.AwaitEqual(ctx, want); err != nil {
		h.report.violation("differs", h.name, "%v", err)
		return
	}
	h.awaitSynced(ctx)
	if !h.kind.lossless {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, hearPatience)
	defer cancel()
	lost := h.replica.Lost()
	for len(lost) > 0 && wait(ctx, 10*time.Millisecond) {
		lost = h.replica.Lost()
	}
	if len(lost) > 0 {
		h.report.violation("lost", h.name, "acknowledged, skipped by no list: %v", lost[:min(len(lost), 20)])
	}
}

// awaitSynced waits until the registration is synced. A panic in a call of its initial list may prevent
// that forever.
func (h *handler) awaitSynced(ctx context.Context) {
	synced := h.registration.HasSyncedChecker()
	select {
	case <-synced.Done():
	case <-h.lost:
	case <-ctx.Done():
	}
	select {
	case <-h.lost:
		if cache.IsDone(synced) {
			h.report.violation("synced", h.name, "the registration has synced, although a call of its initial list panicked")
		}
	default:
		if !cache.IsDone(synced) {
			h.report.violation("synced", h.name, "the registration has not synced: %v", context.Cause(ctx))
		}
	}
}
