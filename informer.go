// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/reflector"
)

// NewInformerWithOptions returns a Store that follows the objects of options.ListerWatcher while
// the Controller runs, and calls options.Handler for each change after the store has it, and before
// the store has a later one of the same object. The handler runs in the controller's goroutine:
// while it is busy, changes wait in the queue. A panic of the handler is reported, and unless
// utilruntime.ReallyCrash is set the next change follows. The Store is for reading only; it is an
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
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Indexers: indexers,
	})
}

// NewTransformingInformer is NewInformerWithOptions with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewTransformingInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, transformer TransformFunc) (Store, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Transform: transformer,
	})
}

// NewTransformingIndexerInformer is NewInformerWithOptions with these options.
//
// Deprecated: use NewInformerWithOptions.
func NewTransformingIndexerInformer(lw ListerWatcher, objType runtime.Object, resyncPeriod time.Duration, h ResourceEventHandler, indexers Indexers, transformer TransformFunc) (Indexer, Controller) {
	return newInformer(InformerOptions{
		ListerWatcher: lw, ObjectType: objType, ResyncPeriod: resyncPeriod, Handler: h, Indexers: indexers,
		Transform: transformer,
	})
}

func newInformer(options InformerOptions) (*keyedStore, Controller) {
	state := newStore(DeletionHandlingMetaNamespaceKeyFunc, options.Indexers,
		WithStoreMetrics(options.Identifier, options.InformerMetricsProvider))
	handler, bad := options.Handler, door.Faults{}
	if handler == nil {
		handler = ResourceEventHandlerFuncs{}
	}
	fanout.WarnOfTypedNil(ptr.Deref(options.Logger, klog.Background()), handler)
	if fanout.HasDelivered(handler) {
		bad.Add("Deliver is for AddEventHandler of a shared informer: this one calls its handler itself")
	}
	checkIndexers(options.Indexers, &bad)
	failures := &processFailures{}
	p := newPipeline(state, failures, func(changes []event.Change) {
		for i := range changes {
			fanout.CallIsolated(&changes[i], handler)
		}
	})
	p.open(queueOptions{
		logger:     ptr.Deref(options.Logger, klog.Background()),
		resource:   reflector.ResourceName(options.Identifier.GroupVersionResource(), "", options.ObjectType),
		transform:  options.Transform,
		identifier: options.Identifier,
		metrics:    options.InformerMetricsProvider,
	})
	c := newController(Config{
		ListerWatcher:    options.ListerWatcher,
		ObjectType:       options.ObjectType,
		FullResyncPeriod: options.ResyncPeriod,
		MinWatchTimeout:  options.MinWatchTimeout,
	}, failures, func() error { return p.queue.PopUnique(p.handle) })
	c.sink, c.queue = p, p.queue
	c.identity = options.Identifier
	c.calls = "event handler " + fanout.NameOf(handler) + ", the transform or an index function"
	if c.unfit = bad.As(door.ErrBadOptions); c.unfit != nil {
		c.report.Refuse(c.unfit)
	}
	return state, c
}
