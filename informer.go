// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/pipeline"
	"github.com/kinformer/cache/internal/provider"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/switched"
)

// NewInformerWithOptions returns a Store, and a Controller that fills it with the objects of
// options.ListerWatcher. The Controller calls options.Handler for each change after the store has the
// change, and before the store has a later change of the same object. The handler runs in the
// controller's goroutine: while it is busy, changes wait in the queue, and while 2000 wait, the watch is not
// read. A panic of the handler is reported, and unless utilruntime.ReallyCrash is set the next change
// follows. The Store is for reading only; it is also an Indexer.
//
// With KINFORMER=off in the environment both are client-go's; see docs/operating.md.
//
// To add and remove several handlers, use NewSharedIndexInformer.
func NewInformerWithOptions(options InformerOptions) (Store, Controller) { return newInformer(options) }

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

func newInformer(options InformerOptions) (Indexer, Controller) {
	of := switched.SubjectOf(options.Identifier, options.ObjectType)
	if why := switched.Decide(options.ListerWatcher, of, ""); why != "" && !switched.HasNil(options.Indexers) && !fanout.HasDelivered(options.Handler) {
		return newClientGo(options, of, why)
	}
	state := newStore(DeletionHandlingMetaNamespaceKeyFunc, options.Indexers,
		storeOptions{identifier: options.Identifier, metrics: options.InformerMetricsProvider})
	handler, bad := options.Handler, door.Faults{}
	if handler == nil {
		handler = ResourceEventHandlerFuncs{}
	}
	fanout.WarnOfTypedNil(ptr.Deref(options.Logger, klog.Background()), handler)
	if fanout.HasDelivered(handler) {
		bad.Add("Deliver is for AddEventHandler of a shared informer: this one calls its handler itself")
	}
	checkIndexers(options.Indexers, &bad)
	handler = fanout.AsWhole(handler)
	failures := &queue.Failures{}
	p := pipeline.New(pipeline.Options{
		Contents: &state.contents,
		Failures: failures,
		Deliver: func(changes []event.Change) {
			for i := range changes {
				fanout.CallIsolated(&changes[i], handler)
			}
		},
	})
	report, known := reflector.NewJournal(), about(reflector.Options{}, options.Identifier, "", options.ObjectType)
	known.Describe(report)
	handle := p.Handle // once: each method value is an allocation
	p.Open(report.Name(), options.InformerMetricsProvider, queue.Options{Logger: options.Logger, Transform: options.Transform, Identifier: options.Identifier})
	p.Queue.SetLimit(queue.UnlockedLimit)
	return state, newController(parts{
		config: Config{
			ListerWatcher:    options.ListerWatcher,
			ObjectType:       options.ObjectType,
			FullResyncPeriod: options.ResyncPeriod,
			MinWatchTimeout:  options.MinWatchTimeout,
		},
		identity: options.Identifier, report: report,
		pipeline: p, sink: p, queue: p.Queue,
		take:     func() error { return p.Queue.PopUnique(handle) },
		failures: failures,
		calls:    "event handler " + fanout.NameOf(handler) + ", the transform or an index function",
		unfit:    bad.As(door.ErrBadOptions),
	})
}

// newClientGo is newInformer with client-go's store and controller.
func newClientGo(options InformerOptions, of switched.Subject, why string) (Indexer, Controller) {
	if options.Handler == nil {
		options.Handler = ResourceEventHandlerFuncs{}
	}
	options.Indexers = switched.Copied(options.Indexers)
	store, controller := clientgo.NewInformerWithOptions(options)
	return store.(Indexer), switched.NewController(controller, store, of, why)
}

// SetInformerMetricsProvider sets the default provider of metrics for queues and stores made afterwards.
// The first call in the process wins; later calls, and nil, do nothing. It may be called from any
// goroutine.
//
// The call is forwarded to client-go, so that informers of both libraries report to the same
// provider. A program that sets its provider on client-go alone, as importing
// k8s.io/component-base/metrics/prometheus/clientgo does, need not call it: queues and stores without a
// provider report to client-go's. The log says once if an informer has a name for metrics and there is no
// provider anywhere.
func SetInformerMetricsProvider(given InformerMetricsProvider) { provider.Set(given) }
