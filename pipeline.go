// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"runtime/trace"
	"sync"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
)

// pipeline is the way of a change through an informer: from the reflector, whose sink it is,
// through the queue into the store and on to the handlers.
//
//	reflector ──▶ put ──▶ reader ──▶ queue ──▶ handle ──▶ applier ──▶ deliver
//	          ──▶ stage ──────────────▲
//
// An idle queue hands a batch straight on to handle, in the reflector's goroutine; otherwise the
// controller's takes it.
type pipeline struct {
	contents *store.Contents // of the store
	applier  *store.Applier
	failures *processFailures
	// tells the handlers; the changes are the pipeline's again afterwards
	deliver func([]event.Change)
	// the room that handlers have; nil: always enough
	handlers func(inFlight func() int) (int, <-chan struct{})
	region   string       // what an execution trace calls a batch
	queue    *queue.Queue // nil until it is opened
	pending  func() int   // queue.pending

	// delivery is held while a batch goes into the store and on to the handlers, so that a handler
	// that joins sees each change either in its initial list or as a notification, never in both
	// and never in neither.
	delivery sync.Mutex
}

func newPipeline(s *keyedStore, failures *processFailures, deliver func([]event.Change)) *pipeline {
	c := &s.objects.contents
	return &pipeline{contents: c, applier: store.NewApplier(c), failures: failures, deliver: deliver}
}

// Put takes changes of a watch.
func (p *pipeline) Put(changes []event.Record) (refused []event.Refused) {
	return p.queue.PutBatch(changes)
}

// Stage returns the next state of the store. It gets into the store by way of the queue.
func (p *pipeline) Stage(size int, streamed bool) reflector.Stage {
	stored := p.contents.Table.Len()
	if streamed {
		size = stored
	}
	return store.NewStage(&p.queue.Reader, p.contents, size, stored > 0 && store.MemoryIsScarce(), p.queue.PutState)
}

// Resync brings up again all that is in the store.
func (p *pipeline) Resync() error { return p.queue.SyncAll() }

// Room is what both the queue and the handlers have room for.
func (p *pipeline) Room() (changes int, freed <-chan struct{}) {
	changes, freed = p.queue.Room()
	if freed != nil || p.handlers == nil {
		return changes, freed
	}
	most, freed := p.handlers(p.pending)
	return min(changes, most), freed
}

// handle brings a batch into the store and then to the handlers.
func (p *pipeline) handle(batch []event.Record, isInInitialList bool) error {
	p.delivery.Lock()
	defer p.delivery.Unlock()
	p.handleLocked(batch, isInInitialList, true)
	return nil
}

// handleNow is handle in the reflector's goroutine, while the controller's is idle: the batch need
// not wake another goroutine. It refuses where it would have to wait: for a handler that joins, for
// another writer of the store, or for slow index functions. A panic is reported like one of the
// controller's goroutine.
func (p *pipeline) handleNow(batch []event.Record, isInInitialList bool) (done bool) {
	if !p.delivery.TryLock() {
		return false
	}
	defer utilruntime.HandleCrash()
	defer p.delivery.Unlock()
	done = true // also after a panic: the batch is not tried again
	done = p.handleLocked(batch, isInInitialList, false)
	return done
}

// handleLocked returns false, and has done nothing, if it may not wait for other writers and would
// have to.
func (p *pipeline) handleLocked(batch []event.Record, isInInitialList, mayWait bool) (done bool) {
	if trace.IsEnabled() {
		defer trace.StartRegion(context.Background(), p.region).End()
	}
	defer p.reportPanic(batch)
	defer p.applier.Done()
	var changes []event.Change
	if mayWait {
		changes = p.applier.Apply(batch, isInInitialList)
	} else if changes, done = p.applier.TryApply(batch, isInInitialList); !done {
		return false
	}
	p.deliver(changes)
	return true
}

// reportPanic is deferred. It reports a panic, with what was processed, and lets it go on.
func (p *pipeline) reportPanic(batch []event.Record) {
	if thrown := recover(); thrown != nil {
		p.failures.reportPanic(event.Name(batch), thrown)
		panic(thrown)
	}
}

// queueOptions are what an informer's queue needs to know of the informer.
type queueOptions struct {
	logger     klog.Logger
	resource   string // what the queue is called, if the identifier has no name
	transform  TransformFunc
	identifier InformerNameAndResource
	metrics    InformerMetricsProvider
	limit      int  // 0: none
	keepCached bool // see door.Config
}

// open makes the queue: changes in order of arrival, a whole state as one.
func (p *pipeline) open(o queueOptions) {
	p.region = "kinformer batch of " + o.resource
	unnamed := "RealFIFO " + o.resource
	metrics := newQueueMetrics(o.identifier, o.metrics)
	p.queue = queue.New(queue.Options{
		Name: firstOf(o.identifier.Name(), unnamed), Logger: &o.logger,
		KeyFunc: MetaNamespaceKeyFunc, UsualKey: true, Opens: event.OpensDeltas, Stored: p.contents.Table,
		Transform: o.transform, KeepCached: o.keepCached, Order: &queue.Arrivals{}, Bookmarks: true, Unlocked: true,
		Identifier: o.identifier, Depth: metrics.depth, Latency: metrics.latency,
	})
	p.queue.SetLimit(o.limit)
	p.pending = p.queue.Pending
}

// distribute hands what has changed in the store to the handlers and to the detector of mutations.
func (s *sharedIndexInformer) distribute(changes []event.Change) {
	s.watchForMutations(changes)
	s.processor.Distribute(changes)
}
