// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package synctrack tells a controller when it has synced: when everything of its informer's
// initial list has not only arrived in the cache but has been processed. Its names and its engines
// are those of k8s.io/client-go/tools/cache/synctrack.
//
// A tracker is told of three things: Start, from the handler, for what is in the initial list;
// Finished, once that is processed; and UpstreamHasSynced, once the informer has handed over the
// whole list. It has synced when the last was said and every Start has met its Finished. HasSynced
// polls, Done waits, and a tracker is a DoneChecker for cache.WaitFor. Every method may be called
// concurrently.
package synctrack

import clientgo "k8s.io/client-go/tools/cache/synctrack"

// AsyncTracker tracks objects that are processed by several workers in any order, each by its key.
// Finished of a key that was never started has no effect, so it may be called for every key that is
// processed.
type AsyncTracker[T comparable] = clientgo.AsyncTracker[T]

// NewAsyncTracker returns a tracker of that name, without keys and not synced.
func NewAsyncTracker[T comparable](name string) *AsyncTracker[T] {
	return clientgo.NewAsyncTracker[T](name)
}

// SingleFileTracker tracks objects that are processed one after the other in the order of their
// Start, by counting them. Finished without its Start is a mistake, and panics once there are more
// of them than of Start.
type SingleFileTracker = clientgo.SingleFileTracker

// NewSingleFileTracker returns a tracker of that name, with a count of zero and not synced.
func NewSingleFileTracker(name string) *SingleFileTracker {
	return clientgo.NewSingleFileTracker(name)
}

// Lazy computes a value when it is asked for and not before. Notify tells that the value is out of
// date. Get returns a value that was computed after the last Notify before it; concurrent calls
// share one computation. An error is returned but not kept. Evaluate must be set before use and may
// run in several goroutines at once.
type Lazy[T any] = clientgo.Lazy[T]
