// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package synctrack tells a controller when it has synced, that is, when its informer's initial
// list is not only in the cache but processed. Its names and its engines are those of
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
// The handler calls Start for each object of the initial list. Whoever processes an object calls
// Finished. UpstreamHasSynced is called when the informer has handed over the whole list. A tracker
// has synced after that call, when each Start has met its Finished. HasSynced polls, Done waits,
// and a tracker is a DoneChecker for cache.WaitFor. All methods may be called concurrently.
package synctrack

import clientgo "k8s.io/client-go/tools/cache/synctrack"

// AsyncTracker tracks objects that several workers process in any order, by their keys. Finished
// has no effect for a key that was never started, so it may be called for every key that is
// processed. It is client-go's type.
type AsyncTracker[T comparable] = clientgo.AsyncTracker[T]

// NewAsyncTracker returns a tracker of that name, without keys and not synced.
func NewAsyncTracker[T comparable](name string) *AsyncTracker[T] {
	return clientgo.NewAsyncTracker[T](name)
}

// SingleFileTracker tracks objects that are processed one after the other, in the order of their
// Start, by counting them. It panics if there are more calls of Finished than of Start. It is
// client-go's type.
type SingleFileTracker = clientgo.SingleFileTracker

// NewSingleFileTracker returns a tracker of that name, with a count of zero and not synced.
func NewSingleFileTracker(name string) *SingleFileTracker {
	return clientgo.NewSingleFileTracker(name)
}

// Lazy computes a value when Get is called, and keeps it until Notify says that it is out of date.
// Get returns a value that was computed after the last Notify before it; concurrent calls share one
// computation. An error is returned but not kept. Evaluate must be set before use, and may run in
// several goroutines at once. It is client-go's type.
type Lazy[T any] = clientgo.Lazy[T]
