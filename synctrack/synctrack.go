// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package synctrack reports when a controller has synced, that is, when its informer's initial list is
// not only in the cache but processed. Its names and its implementations are those of
// k8s.io/client-go/tools/cache/synctrack.
//
//	tracker := synctrack.NewAsyncTracker[cache.ObjectName]("pods")
//	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
//		AddFunc: func(obj any, isInInitialList bool) {
//			name, _ := cache.ObjectToName(obj)
//			if isInInitialList {
//				tracker.Start(name)
//			}
//			queue.Add(name) // a worker calls tracker.Finished(name) when it is done
//		},
//	})
//	cache.WaitFor(ctx, "pods", registration.HasSyncedChecker())
//	tracker.UpstreamHasSynced()
//	cache.WaitFor(ctx, "pods, processed", tracker)
//
// The handler calls Start for each object of the initial list. The worker that has processed an object
// calls Finished. UpstreamHasSynced is called when the handler has received the whole list. A tracker
// has synced when, after that call, each Start has its Finished. HasSynced polls, Done waits, and a
// tracker is a DoneChecker for cache.WaitFor. All methods may be called concurrently.
package synctrack

import clientgo "k8s.io/client-go/tools/cache/synctrack"

// AsyncTracker tracks objects that several workers process in any order, by their keys. Finished has no
// effect for a key without a Start, so it may be called for every key that is processed. It is
// client-go's type.
type AsyncTracker[T comparable] = clientgo.AsyncTracker[T]

// NewAsyncTracker returns a tracker with this name that has no keys and is not synced.
func NewAsyncTracker[T comparable](name string) *AsyncTracker[T] {
	return clientgo.NewAsyncTracker[T](name)
}

// SingleFileTracker tracks objects that are processed one after the other, in the order of their
// Start, by counting them. It panics if there are more calls of Finished than of Start. It is
// client-go's type.
type SingleFileTracker = clientgo.SingleFileTracker

// NewSingleFileTracker returns a tracker with this name that has a count of zero and is not synced.
func NewSingleFileTracker(name string) *SingleFileTracker {
	return clientgo.NewSingleFileTracker(name)
}

// Lazy computes a value when Get is called, and caches it until Notify invalidates it. Get returns a
// value that was computed after the last Notify before it; concurrent calls share one computation. An
// error is returned but not cached. Evaluate must be set before use, and may run in several goroutines
// at once. It is client-go's type.
type Lazy[T any] = clientgo.Lazy[T]
