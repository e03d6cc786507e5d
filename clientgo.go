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
// events of one key arrive in the order of the changes of the cache.
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

	// FilteringResourceEventHandler passes on the objects that FilterFunc accepts. If FilterFunc accepts
	// only the new object of an update, the handler receives an addition; if only the old one, a deletion.
	// For a deletion, FilterFunc may receive a DeletedFinalStateUnknown.
	FilteringResourceEventHandler = clientgo.FilteringResourceEventHandler

	// DeletedFinalStateUnknown stands for an object whose deletion was noticed by its absence from
	// a list instead of by an event. Key is always set; Obj is the last known state, and may be old or
	// nil. Handlers receive a DeletedFinalStateUnknown by value.
	DeletedFinalStateUnknown = clientgo.DeletedFinalStateUnknown

	// HandlerOptions are the options of one handler registration. The zero value takes the
	// informer's resync period and, from Run on, the logger of Run's context.
	HandlerOptions = clientgo.HandlerOptions

	// ResourceEventHandlerRegistration is the receipt for a registered handler. It removes the
	// handler again and reports when the informer has synced and all initial additions have
	// returned from this handler.
	ResourceEventHandlerRegistration = clientgo.ResourceEventHandlerRegistration
)

// ShutDownEventHandler removes a handler from its informer and returns after the handler's last callback.
// It may be called again, and from several goroutines, but never from a callback of the handler: the
// call would wait for itself. It returns an error if the informer refuses the handle or the handle does
// not support waiting.
func ShutDownEventHandler(informer SharedInformer, handle ResourceEventHandlerRegistration) error {
	return minor.ShutDownEventHandler(informer, handle)
}

// Informers: a local copy of a collection on the server, kept current, with handlers that are
// called for each change.
type (
	// SharedInformer keeps a Store equal, eventually, to a collection on the server, and calls any
	// number of handlers. The Store has a change before a handler is called for it. An informer runs
	// once and is never restarted. Every method may be called concurrently.
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

	// TransformFunc rewrites an object before it is stored, commonly to drop unused fields. It may change
	// the object in place. It must be idempotent, because an object may be transformed twice, and fast.
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
	// its context ends. Run blocks until then, and must be called once.
	Controller = clientgo.Controller

	// Config holds the parts and settings of a Controller. Queue, ListerWatcher and Process are
	// required.
	Config = clientgo.Config

	// ProcessFunc processes one item of a queue, a Deltas for the queues of this package. isInInitialList
	// reports whether the item belongs to the first list.
	ProcessFunc = clientgo.ProcessFunc

	// ProcessBatchFunc processes deltas of pairwise different objects together. If some of them
	// fail it returns a *TransactionError with the positions of the others.
	ProcessBatchFunc = clientgo.ProcessBatchFunc

	// ShouldResyncFunc reports, at each end of a resync period, whether a resync is due.
	ShouldResyncFunc = clientgo.ShouldResyncFunc
)

// Waiting for a cache to be filled. When a cache has synced, its handlers may be behind: each
// registration reports the state of its handler.
type (
	// InformerSynced reports whether a cache has synced, such as the method HasSynced of an informer or
	// of a registration. Waits poll it.
	InformerSynced = clientgo.InformerSynced

	// DoneChecker reports the completion of one activity by closing a channel. Name may be costly to
	// compute.
	DoneChecker = clientgo.DoneChecker

	// SyncResult is the result of a shared informer factory's wait: which informers had synced and, if not
	// all had, why the wait ended.
	SyncResult = clientgo.SyncResult
)

// IsDone reports, without blocking, whether the checker's activity is done.
func IsDone(checker DoneChecker) bool { return clientgo.IsDone(checker) }

// WaitFor returns true once all checkers are done, and false if ctx ends before. It does not poll.
// If what is not empty, WaitFor logs the wait and each completion to the logger of ctx, with the
// caller's position.
func WaitFor(ctx context.Context, what string, checkers ...DoneChecker) bool {
	helper, logger := klog.FromContext(ctx).WithCallStackHelper()
	helper()
	return clientgo.WaitFor(klog.NewContext(ctx, logger), what, checkers...)
}

// Typed views of handlers, informers and indexers.
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

	// TypedSharedIndexInformer is a SharedIndexInformer with further methods for objects of type T.
	TypedSharedIndexInformer[T Object] = minor.TypedSharedIndexInformer[T]

	// TypedIndexer is an Indexer with further methods for objects of type T. They panic on an object of
	// another type.
	TypedIndexer[T any] = minor.TypedIndexer[T]

	// TypedIndexFunc is IndexFunc for objects of type T.
	TypedIndexFunc[T any] = minor.TypedIndexFunc[T]

	// TypedIndexers maps the name of an index to the TypedIndexFunc that defines it.
	TypedIndexers[T any] = minor.TypedIndexers[T]
)

// NewTypedSharedIndexInformer returns a view of informer for objects of type T, which must be the type of
// informer's objects.
func NewTypedSharedIndexInformer[T Object](informer SharedIndexInformer) TypedSharedIndexInformer[T] {
	return minor.NewTypedSharedIndexInformer[T](informer)
}

// TypedIndexerFuncToIndexerFunc returns indexer as an IndexFunc, for example for
// SharedIndexInformerOptions.Indexers.
func TypedIndexerFuncToIndexerFunc[T any](indexer TypedIndexFunc[T]) IndexFunc {
	return minor.TypedIndexerFuncToIndexerFunc(indexer)
}

// TypedIndexersToIndexers is TypedIndexerFuncToIndexerFunc for a whole map, which it copies.
func TypedIndexersToIndexers[T any](indexers TypedIndexers[T]) Indexers {
	return minor.TypedIndexersToIndexers(indexers)
}

// Names under which informers publish metrics. Client-go has the registry of names, one for the
// informers of both packages.
type (
	// InformerName is a name that the process holds until Release.
	InformerName = clientgo.InformerName

	// InformerNameAndResource is one resource under an InformerName. Only the first one for a
	// resource is Reserved, and only while its name is held; only a reserved one publishes metrics.
	// Reserved is one atomic load.
	InformerNameAndResource = clientgo.InformerNameAndResource
)

// NewInformerName reserves a name in this process until Release. It returns an error if the name is
// reserved already.
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

// SetReflectorMetricsProvider passes the provider to client-go; the first call wins. client-go v0.37
// never uses the provider.
func SetReflectorMetricsProvider(metricsProvider MetricsProvider) {
	clientgo.SetReflectorMetricsProvider(metricsProvider)
}
