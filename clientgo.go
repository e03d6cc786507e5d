// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/minor"
)

// The border: every name of client-go that this package offers without an engine of its own. A type
// here is an alias of client-go's type, so values cross between the two packages in both directions; a
// function here calls its namesake. This file has the names around an informer, clientgo_store.go those
// around a store or a queue, clientgo_listwatch.go those around the API server. All other names of client-go
// have an engine in this package. TestSurface compares the sum of both with client-go.

// Handlers receive objects from informers. The objects are the cached ones, shared with every
// other reader, and must not be changed. Callbacks of one handler never run concurrently, and
// events of one key arrive in the order in which the cache went through them.
type (
	// ResourceEventHandler receives additions, updates and deletions. OnAdd learns whether the
	// object belongs to the initial list of this handler; OnDelete may receive a
	// DeletedFinalStateUnknown value in the object's place.
	ResourceEventHandler = clientgo.ResourceEventHandler

	// ResourceEventHandlerFuncs makes a ResourceEventHandler of up to three functions; a nil one
	// ignores its events.
	ResourceEventHandlerFuncs = clientgo.ResourceEventHandlerFuncs

	// ResourceEventHandlerDetailedFuncs is ResourceEventHandlerFuncs with the initial-list flag
	// handed to AddFunc.
	ResourceEventHandlerDetailedFuncs = clientgo.ResourceEventHandlerDetailedFuncs

	// FilteringResourceEventHandler passes on the objects that FilterFunc accepts. An update by which an object
	// starts to be accepted is passed on as an addition, one by which it stops as a deletion.
	// Deletions reach FilterFunc as they came, a DeletedFinalStateUnknown included.
	FilteringResourceEventHandler = clientgo.FilteringResourceEventHandler

	// DeletedFinalStateUnknown stands for an object whose deletion was noticed by its absence from
	// a list instead of by an event. Key is always set; Obj is the last state that was known and
	// may be old or nil. Handlers receive it by value.
	DeletedFinalStateUnknown = clientgo.DeletedFinalStateUnknown

	// HandlerOptions are the options of one handler registration. The zero value takes the
	// informer's resync period and the global logger.
	HandlerOptions = clientgo.HandlerOptions

	// ResourceEventHandlerRegistration is the receipt for a registered handler. It removes the
	// handler again and reports when the informer has synced and all initial additions have
	// returned from this handler.
	ResourceEventHandlerRegistration = clientgo.ResourceEventHandlerRegistration
)

// ShutDownEventHandler removes a handler from its informer and returns after its last callback has.
// It may be called again, and from several goroutines, but never from within the handler's own
// callbacks: it would wait for itself. The error says that the informer refused the handle or that
// the handle cannot be waited for.
func ShutDownEventHandler(informer SharedInformer, handle ResourceEventHandlerRegistration) error {
	return minor.ShutDownEventHandler(informer, handle)
}

// Informers: a local copy of a collection on the server, kept current, with handlers that are
// called for each change.
type (
	// SharedInformer keeps a Store equal, eventually, to a collection on the server, and calls any
	// number of handlers. The Store has a change before a handler is called for it. It runs once
	// and is never restarted. Every method may be called concurrently.
	SharedInformer = clientgo.SharedInformer

	// SharedIndexInformer is a SharedInformer whose Store is an Indexer. Indexers may be added at
	// any time before the informer is stopped.
	SharedIndexInformer = clientgo.SharedIndexInformer

	// SharedIndexInformerOptions are the options of NewSharedIndexInformerWithOptions; the zero
	// value works and means no resync, no index and no metrics.
	SharedIndexInformerOptions = clientgo.SharedIndexInformerOptions

	// InformerOptions are the settings of NewInformerWithOptions. ListerWatcher and ObjectType are
	// required.
	InformerOptions = clientgo.InformerOptions

	// TransformFunc rewrites an object before it is stored, commonly to drop unused fields. It may change the
	// object in place. It must give the same result when it is applied to
	// its own result, and be quick: it runs once or more often for every event.
	TransformFunc = clientgo.TransformFunc

	// MutationDetector finds objects that were changed while they were cached. Run checks until its
	// channel is closed, and panics on a finding.
	MutationDetector = clientgo.MutationDetector
)

// NewCacheMutationDetector returns a detector that names itself in its findings. It watches only if
// the environment variable KUBE_CACHE_MUTATION_DETECTOR was true when the process started, and
// otherwise costs nothing.
func NewCacheMutationDetector(name string) MutationDetector {
	return clientgo.NewCacheMutationDetector(name)
}

// A controller runs a reflector, a queue and a function that processes popped items.
type (
	// Controller moves events from a ListerWatcher through a queue to a processing function until
	// its context ends. It runs once, and blocks while it does.
	Controller = clientgo.Controller

	// Config holds the parts and settings of a Controller. Queue, ListerWatcher and Process are
	// required.
	Config = clientgo.Config

	// ProcessFunc processes one item of a queue, a Deltas for the queues of this package. The flag
	// says that the item belongs to the first list.
	ProcessFunc = clientgo.ProcessFunc

	// ProcessBatchFunc processes deltas of pairwise different objects together. If some of them
	// fail it returns a *TransactionError with the indices of those that succeeded.
	ProcessBatchFunc = clientgo.ProcessBatchFunc

	// ShouldResyncFunc is asked at each end of a resync period whether a resync is due.
	ShouldResyncFunc = clientgo.ShouldResyncFunc
)

// Waiting for a cache to be filled. That a cache has synced says nothing of its handlers: each
// registration reports for itself.
type (
	// InformerSynced reports, when it is polled, whether something has synced; the method HasSynced
	// of an informer or of a registration fits.
	InformerSynced = clientgo.InformerSynced

	// DoneChecker is something that gets done once: its channel is closed then and stays so. Name
	// may be costly to compute.
	DoneChecker = clientgo.DoneChecker

	// SyncResult is the result of a shared informer factory's wait: which informers had synced and, if not
	// all had, why the wait ended.
	SyncResult = clientgo.SyncResult
)

// IsDone reports, without blocking, whether the checker's activity is done.
func IsDone(checker DoneChecker) bool { return clientgo.IsDone(checker) }

// WaitFor returns true once all checkers are done and false if ctx ends before. It does not poll.
// Unless what is empty the wait and each arrival are logged to the logger of ctx, as coming from
// the caller.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	helper, logger := klog.FromContext(ctx).WithCallStackHelper()
	helper()
	return clientgo.WaitFor(klog.NewContext(ctx, logger), what, checkers...)
}

// The typed views: handlers, informers and indexers that name the object's type, over the untyped
// ones.
type (
	// Object is the constraint of typed informers and indexers: a name, a namespace and comparability, by which
	// a missing object (the zero value) differs from a present one.
	Object = minor.Object

	// DeletedObject is the argument of a typed handler for a deletion. OptionalObj may be old, or the
	// zero value if no state was known; the key and the name are always right.
	DeletedObject[T Object] = minor.DeletedObject[T]

	// TypedResourceEventHandler is ResourceEventHandler for objects of type T.
	TypedResourceEventHandler[T Object] = minor.TypedResourceEventHandler[T]

	// TypedResourceEventHandlerFuncs is ResourceEventHandlerFuncs for objects of type T.
	TypedResourceEventHandlerFuncs[T Object] = minor.TypedResourceEventHandlerFuncs[T]

	// TypedResourceEventHandlerDetailedFuncs is ResourceEventHandlerDetailedFuncs for objects of
	// type T.
	TypedResourceEventHandlerDetailedFuncs[T Object] = minor.TypedResourceEventHandlerDetailedFuncs[T]

	// TypedFilteringResourceEventHandler is FilteringResourceEventHandler for objects of type T.
	// For a deletion FilterFunc receives OptionalObj, which may be the zero value.
	TypedFilteringResourceEventHandler[T Object] = minor.TypedFilteringResourceEventHandler[T]

	// TypedSharedIndexInformer is a SharedIndexInformer with further methods that speak of T.
	TypedSharedIndexInformer[T Object] = minor.TypedSharedIndexInformer[T]

	// TypedIndexer is an Indexer with further methods that speak of T. They panic on an object of
	// another type.
	TypedIndexer[T any] = minor.TypedIndexer[T]

	// TypedIndexFunc is IndexFunc for objects of type T.
	TypedIndexFunc[T any] = minor.TypedIndexFunc[T]

	// TypedIndexers maps the name of an index to the TypedIndexFunc that defines it.
	TypedIndexers[T any] = minor.TypedIndexers[T]
)

// NewTypedSharedIndexInformer returns a view of informer for objects of type T; everything it does
// is done by informer. T must be the type that informer holds.
func NewTypedSharedIndexInformer[T Object](informer SharedIndexInformer) TypedSharedIndexInformer[T] {
	return minor.NewTypedSharedIndexInformer[T](informer)
}

// TypedIndexerFuncToIndexerFunc returns indexer as an IndexFunc, for places that take untyped ones
// such as SharedIndexInformerOptions.Indexers.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) IndexFunc {
	return minor.TypedIndexerFuncToIndexerFunc(indexer)
}

// TypedIndexersToIndexers is TypedIndexerFuncToIndexerFunc for a whole map, which it copies.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) Indexers {
	return minor.TypedIndexersToIndexers(indexers)
}

// Identity: names under which informers publish metrics. The registry of names belongs to client-go
// and is one for the process, whichever of the two packages an informer comes from.
type (
	// InformerName is a name that the process holds until Release.
	InformerName = clientgo.InformerName

	// InformerNameAndResource is one resource under an InformerName. Only the first one for a
	// resource is Reserved, and only while its name is held; only a reserved one publishes metrics.
	// Reserved is one atomic load.
	InformerNameAndResource = clientgo.InformerNameAndResource
)

// NewInformerName takes a name for the process; the error says that it is taken. Release gives it
// back.
func NewInformerName(name string) (*InformerName, error) { return clientgo.NewInformerName(name) }

// ResetInformerNamesForTesting forgets all informer names of the process, client-go's included. For
// tests only.
func ResetInformerNamesForTesting() { clientgo.ResetInformerNamesForTesting() }

// A monitoring library implements these interfaces to receive metrics of informers.
type (
	// GaugeMetric is a number that goes up and down.
	GaugeMetric = clientgo.GaugeMetric

	// CounterMetric is a number that only grows.
	CounterMetric = clientgo.CounterMetric

	// SummaryMetric takes single observations.
	SummaryMetric = clientgo.SummaryMetric

	// HistogramMetric takes single observations and sorts them into buckets.
	HistogramMetric = clientgo.HistogramMetric

	// InformerMetricsProvider makes the metrics of an informer: queued items, seconds of
	// processing, and the store's resource version. A metric should publish only while its
	// identifier is Reserved.
	InformerMetricsProvider = clientgo.InformerMetricsProvider

	// MetricsProvider makes the metrics of a reflector, by the reflector's name.
	MetricsProvider = clientgo.MetricsProvider
)

// SetReflectorMetricsProvider hands the provider to client-go; the first call wins. client-go v0.37
// keeps it and never asks it for a metric.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	clientgo.SetReflectorMetricsProvider(metricsProvider)
}
