// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
)

// NewInformerWithOptions returns a Store that follows the objects of options.ListerWatcher while the Controller runs, and
// calls options.Handler for each change after the store has it, and before the store has a later one of the same object. The
// handler runs in the controller's goroutine: while it is busy, changes wait in the queue. A panic of the handler is
// reported, and unless utilruntime.ReallyCrash is set the next change follows. The Store is for reading only; it is an
// Indexer as well.
//
// A handler that is to be shared, added or removed later needs NewSharedIndexInformer.
func NewInformerWithOptions(options InformerOptions) (Store, Controller) {
	return newInformer(options)
}

// NewInformer is NewInformerWithOptions with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler) (Store, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h})
}

// NewIndexerInformer is NewInformerWithOptions with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers) (Indexer, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Indexers: indexers})
}

// NewTransformingInformer is NewInformerWithOptions with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewTransformingInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, transformer TransformFunc) (Store, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Transform: transformer})
}

// NewTransformingIndexerInformer is NewInformerWithOptions with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewTransformingIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers, transformer TransformFunc) (Indexer, Controller) {
	return newInformer(InformerOptions{ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Indexers: indexers, Transform: transformer})
}

func newInformer(options InformerOptions) (*store, Controller) {
	state := newStore(DeletionHandlingMetaNamespaceKeyFunc, options.Indexers,
		WithStoreMetrics(options.Identifier, options.InformerMetricsProvider))
	queue := newInformerFIFO(queueOptions{
		logger:     ptr.Deref(options.Logger, klog.Background()),
		resource:   resourceName(options.Identifier.GroupVersionResource(), "", options.ObjectType),
		store:      state,
		transform:  options.Transform,
		identifier: options.Identifier,
		metrics:    options.InformerMetricsProvider,
	})
	handler, bad := options.Handler, faults{}
	if handler == nil {
		handler = ResourceEventHandlerFuncs{}
	}
	warnOfTypedNil(ptr.Deref(options.Logger, klog.Background()), handler)
	if wrapsDelivery(handler) {
		bad.add("Deliver is for AddEventHandler of a shared informer: this one calls its handler itself")
	}
	checkIndexers(options.Indexers, &bad)
	applier, fresh := newApplier(state), &freshness{}
	failures := &processFailures{}
	deliver := func(batch []record, isInInitialList bool) error {
		defer failures.panickingBatch(batch)
		defer applier.done()
		changes := applier.apply(batch, isInInitialList)
		fresh.note(batch)
		for i := range changes {
			changes[i].deliverIsolated(handler)
		}
		return nil
	}
	c := newController(Config{
		Queue:            queue,
		ListerWatcher:    options.ListerWatcher,
		ObjectType:       options.ObjectType,
		FullResyncPeriod: options.ResyncPeriod,
		MinWatchTimeout:  options.MinWatchTimeout,
	}, failures, func() error { return queue.popUnique(deliver) })
	c.store, c.fresh, c.identity = state, fresh, options.Identifier
	c.calls = "event handler " + nameForHandler(handler) + ", the transform or an index function"
	if c.unfit = bad.as(errBadOptions); c.unfit != nil {
		c.report.refuse(c.unfit)
	}
	return state, c
}

// queueOptions are what an informer's queue needs to know of the informer.
type queueOptions struct {
	logger     klog.Logger
	resource   string // what the queue is called, if the identifier has no name
	store      *store // where what comes out of the queue goes; its keys are used again. May be nil
	transform  TransformFunc
	identifier InformerNameAndResource
	metrics    InformerMetricsProvider
	queueConfig
}

// informerQueue is a queue as our own informers use it.
type informerQueue interface {
	Queue
	ReflectorBookmarkStore
	boundedStore
	queueStats() (QueueStats, bool)
	popAll(process processFunc) error
	core() *recordQueue
}

// newInformerQueue returns the queue of our own informers, a Replace as one: changes in order of arrival, or coalesced.
func newInformerQueue(o queueOptions) informerQueue {
	if o.coalesced {
		queue := newCoalescedFIFO(o.logger, "CoalescedFIFO "+o.resource, o.identifier, o.metrics)
		o.applyTo(queue.core())
		return queue
	}
	return newInformerFIFO(o)
}

// newInformerFIFO is newInformerQueue for changes in order of arrival.
func newInformerFIFO(o queueOptions) *RealFIFO {
	queue := NewRealFIFOWithOptions(RealFIFOOptions{
		Logger:                &o.logger,
		Name:                  "RealFIFO " + o.resource,
		KeyFunction:           MetaNamespaceKeyFunc,
		Identifier:            o.identifier,
		MetricsProvider:       o.metrics,
		AtomicEvents:          true,
		UnlockWhileProcessing: true,
		EmitDeltaTypeBookmark: true,
	})
	o.applyTo(queue.core())
	return queue
}

func (o queueOptions) applyTo(core *recordQueue) {
	core.transform.function, core.transform.keepCached = o.transform, o.keepCached
	core.SetLimit(o.limit)
	if o.store != nil {
		core.keys.store = o.store.table
	}
}
