// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
)

const (
	shardIndex = "shard"
	shards     = 4
	// pageSize makes pages of what a server without a watch cache lists.
	pageSize = 25
	// stopPatience is how long an informer may take to stop, on a machine that is busy with
	// something else, too.
	stopPatience = 2 * time.Minute
)

// shardOf is the value of an object in the shard index. It changes with the object's value.
func shardOf(value string) string {
	h := fnv.New32a()
	// A hash never fails to take bytes.
	_, _ = h.Write([]byte(value))
	return fmt.Sprint(h.Sum32() % shards)
}

func byShard(obj any) ([]string, error) {
	m, err := meta.Accessor(obj)
	if err != nil {
		return nil, err
	}
	return []string{shardOf(m.GetLabels()[follow.ValueLabel])}, nil
}

// follower is a running informer with handlers and a reader.
type follower struct {
	name     string
	number   uint64 // of the informers of the run
	kind     string
	mode     follow.Mode
	informer cache.SharedIndexInformer
	source   *follow.Source
	ledger   *ledger
	report   *report
	versions versioned
	tapped   bool        // decodes directly
	shares   bool        // so that its objects share equal parts
	eager    atomic.Bool // the reader makes no pause
	close    func()      // of the resource

	cancel  context.CancelFunc
	ended   chan struct{} // closed when Run has returned
	listed  chan struct{} // holds an element when a list is about to become the content of the store
	readers sync.WaitGroup

	mu struct {
		sync.Mutex
		handlers []*handler
	}
}

// startFollower makes an informer with a handler of each of kinds, and a reader, and runs it.
func (r *run) startFollower(ctx context.Context, kind string, mode follow.Mode, kinds []handlerKind) (*follower, error) {
	f, random, err := r.newFollower(kind, mode, kinds, nil)
	if err != nil {
		return nil, err
	}
	ctx = f.start(ctx)
	reader := newReader(f, random, r.config.Pause)
	f.readers.Go(func() { reader.read(ctx) })
	f.readers.Go(func() { f.versions.hunt(ctx, f.listed) })
	if r.config.Library == Kinformer {
		f.readers.Go(func() { f.audit(ctx, rand.New(rand.NewPCG(r.config.Seed, 3<<32+f.number))) })
	}
	return f, nil
}

// newFollower makes an informer with a handler of each of kinds, whose watches tell what a liar
// tells, if that is not nil. The index function of one that is told the truth looks at the store.
func (r *run) newFollower(kind string, mode follow.Mode, kinds []handlerKind, l *liar) (*follower, *rand.Rand, error) {
	number := uint64(r.informers.Add(1))
	random := rand.New(rand.NewPCG(r.config.Seed, 1<<32+number))
	tapped := r.config.tapped(random)
	resource, err := r.resource(kind, tapped, l)
	if err != nil {
		return nil, nil, err
	}
	f := &follower{
		name: fmt.Sprintf("%s/%s#%d", kind, mode, number), number: number, kind: kind, mode: mode,
		ledger: r.ledgers[kind], report: r.report, close: resource.Close, ended: make(chan struct{}), listed: make(chan struct{}, 1),
		tapped: tapped, shares: tapped && random.IntN(100) < r.config.Shared,
	}
	f.source = &follow.Source{
		ListWatch: resource.ListWatch, Mode: mode, PageSize: pageSize,
		WatchSeconds: func() int64 { return 2 + rand.Int64N(20) },
		Position:     func() string { return f.informer.LastSyncResourceVersion() },
		Skipped:      f.skipped,
	}
	index := f.byShard
	if l != nil {
		index = byShard
	}
	resync := []time.Duration{0, 2 * time.Second}[random.IntN(2)]
	f.informer = f.decoding(libraries[r.config.Library], random)(f.source, resource.Example, resync, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc, shardIndex: index,
	})
	f.versions = versioned{name: f.name + " versions", indexer: f.informer.GetIndexer(), history: f.ledger.history, report: r.report}
	for _, k := range kinds {
		if _, err = f.join(k); err != nil {
			return nil, nil, err
		}
	}
	return f, random, nil
}

// start runs the informer. What looks at it ends with the context that is returned.
func (f *follower) start(ctx context.Context) context.Context {
	ctx, f.cancel = context.WithCancel(ctx)
	go func() { defer close(f.ended); f.informer.RunWithContext(ctx) }()
	return ctx
}

// byShard looks at the store, too: it is called in the middle of what is on its way into it.
func (f *follower) byShard(obj any) ([]string, error) {
	f.versions.glance()
	return byShard(obj)
}

// current returns the handlers, in the order in which they came.
func (f *follower) current() []*handler {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.mu.handlers)
}

// join adds a handler.
func (f *follower) join(kind handlerKind) (h *handler, err error) {
	h = newHandler(kind, f.name, f.report)
	f.ledger.listen(h.coverage, true)
	f.mu.Lock()
	f.mu.handlers = append(f.mu.handlers, h) // before it is added: it must not miss a gap
	f.mu.Unlock()
	if h.registration, err = f.informer.AddEventHandler(kind.wrap(h)); err != nil {
		return nil, fmt.Errorf("%s: %w", h.name, err)
	}
	// What it got as a list may be as new as the informer is now.
	h.coverage.skipped("", f.informer.LastSyncResourceVersion())
	return h, nil
}

// leave removes a handler, and notes calls after the end of it.
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
	f.forget(h)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.mu.handlers = slices.DeleteFunc(f.mu.handlers, func(other *handler) bool { return other == h })
	return nil
}

func (f *follower) forget(h *handler) {
	f.ledger.listen(h.coverage, false)
	told, tombstones := h.replica.Told()
	f.report.count("notifications", int64(told))
	f.report.count("notifications: tombstones", int64(tombstones))
	f.report.count("notifications: panics", h.panics.Load())
}

func (f *follower) skipped(from, to string) {
	for _, h := range f.current() {
		h.coverage.skipped(from, to)
	}
	select {
	case f.listed <- struct{}{}:
	default:
	}
}

// stop ends the informer, and notes if it does not end or calls handlers afterwards.
func (f *follower) stop() {
	f.cancel()
	select {
	case <-f.ended:
	case <-time.After(stopPatience):
		f.report.violation("stop", f.name, "Run has not returned after %v", stopPatience)
		<-f.ended
	}
	for _, h := range f.current() {
		h.replica.Close()
		f.forget(h)
	}
	f.readers.Wait()
	f.source.Drain()
	f.close()
	f.countRequests()
	f.countDecoded()
}

func (f *follower) countRequests() {
	s := f.source
	for name, n := range map[string]int64{
		"requests: lists": s.Lists.Load(), "requests: streams": s.Streams.Load(), "requests: watches": s.Watches.Load(),
		"requests failed": s.Failed.Load(), "requests failed: 410": s.Expired.Load(), "requests failed: 410 of pages": s.ExpiredPages.Load(), "requests failed: 429": s.Throttled.Load(),
		"watch events": s.Events.Load(),
	} {
		f.report.count(name, n)
	}
}

// compare waits until handlers, store and indices equal want, which the server does not change
// meanwhile.
func (f *follower) compare(ctx context.Context, want follow.Contents) {
	if !cache.WaitFor(ctx, f.name, f.informer.HasSyncedChecker()) {
		f.report.violation("differs", f.name, "not synced in time: %v", context.Cause(ctx))
		return
	}
	f.checkDecoding()
	for _, h := range f.current() {
		if err := h.replica.AwaitEqual(ctx, want); err != nil {
			f.report.violation("differs", h.name, "%v", err)
			continue
		}
		h.awaitSynced(ctx)
		if unheard := h.unheard(ctx); len(unheard) > 0 {
			f.report.violation("unheard", h.name, "acknowledged, skipped by no list: %v", unheard[:min(len(unheard), 20)])
		}
	}
	if err := f.compareStore(want); err != nil {
		f.report.violation("differs", f.name, "%v; %s", err, f.status())
	}
}

// status is what the informer says of itself, if it does, and what was asked of its source.
func (f *follower) status() string {
	text := fmt.Sprintf("%d lists, %d streams, %d watches, %d events, %d requests failed", f.source.Lists.Load(),
		f.source.Streams.Load(), f.source.Watches.Load(), f.source.Events.Load(), f.source.Failed.Load())
	if s, err := cache.StatusOf(f.informer); err == nil {
		text += "; " + s.String()
	}
	return text
}

func (f *follower) compareStore(want follow.Contents) error {
	var errs []error
	if d := follow.Difference(follow.ContentsOf(f.informer.GetStore().List()), want); d != "" {
		errs = append(errs, fmt.Errorf("the store: %s", d))
	}
	indexer := f.informer.GetIndexer()
	for name := range indexer.GetIndexers() {
		all := follow.Contents{}
		for _, value := range indexer.ListIndexFuncValues(name) {
			objects, err := indexer.ByIndex(name, value)
			errs = append(errs, err)
			maps.Copy(all, follow.ContentsOf(objects))
			if name == cache.NamespaceIndex {
				continue
			}
			for key, state := range follow.ContentsOf(objects) {
				if shardOf(state.Value) != value {
					errs = append(errs, fmt.Errorf("index %s has %s at %v under %s", name, key, state, value))
				}
			}
		}
		if d := follow.Difference(all, want); d != "" {
			errs = append(errs, fmt.Errorf("index %s: %s", name, d))
		}
	}
	if keys := indexer.ListKeys(); !slices.Equal(slices.Sorted(slices.Values(keys)), slices.Sorted(maps.Keys(want))) {
		errs = append(errs, fmt.Errorf("%d keys, want %d", len(keys), len(want)))
	}
	return errors.Join(errs...)
}
