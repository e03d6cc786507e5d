// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cache keeps a local copy of the objects of a Kubernetes API server and reports changes.
// It is a drop-in replacement for k8s.io/client-go/tools/cache v0.37 with engines of its own.
// Change the import line and everything compiles, also beside code that uses client-go's package.
//
//	informer := cache.NewSharedIndexInformer(lw, &corev1.Pod{}, 0, cache.Indexers{
//		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
//	})
//	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
//		AddFunc: func(obj any) { ... },
//	})
//	go informer.RunWithContext(ctx)
//	if err := kinformer.WaitForSync(ctx, informer, registration); err != nil { // of the package kinformer beside this one
//		return err // the reason: forbidden, out of reach, never run
//	}
//	pods, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "default")
//
// # Client-go's names
//
// This package has all of them, with the same meaning:
//
//   - An informer with handlers, indices and a lister: [NewSharedIndexInformer],
//     [NewSharedIndexInformerWithOptions], [ResourceEventHandlerFuncs], [Indexers],
//     [NewGenericLister]; with types: [NewTypedSharedIndexInformer].
//   - An informer with one handler: [NewInformerWithOptions]. A queue and a loop of one's own:
//     [New] with [NewRealFIFOWithOptions] or [NewDeltaFIFOWithOptions].
//   - Requests: [NewListWatchFromClient], [ListWatch]. [NewReflectorWithOptions] follows them into a
//     store; it runs client-go's loop.
//   - Stores: [NewStore], [NewIndexer], [NewThreadSafeStore], [NewTTLStore].
//   - Keys: [MetaNamespaceKeyFunc], [ObjectToName], [DeletionHandlingObjectToName].
//   - Waits: [WaitFor], [WaitForCacheSync], [WaitForNamedCacheSyncWithContext].
//
// A name that is declared as an alias, as in "type Store = clientgo.Store", is client-go's own
// type, so values of both packages mix.
//
// # Packages beside this one
//
// This package has client-go's names and no others, so that a program goes back to client-go by its
// imports. Everything that client-go lacks is in other packages, all of them optional.
//
// Package kinformer makes informers with more options - for slow handlers, requests, decoding, errors
// and the queue - waits for them and returns reasons, and makes them list again. It also bounds queues, and
// has transform functions that make objects smaller. Package view reads stores without copying, and several
// times from one state. Package inspect reports the state of informers, their queues and their handlers,
// yields all of them, and checks whether a program is ready; package debug shows them as a page. Package
// factory puts informers behind client-go's factories. Package direct decodes the responses of servers.
// Package sources makes one informer of several namespaces, selectors or servers. Package audit compares a
// cache with its server, and repairs it. Package retry adds retries to a process function. The module
// adapters/prom exports metrics to Prometheus, and adapters/client reads caches of controller-runtime.
//
// # Guarantees
//
// Those about slow and late handlers, 3 and 5, are for shared informers. An informer of NewInformer and
// its like calls its one handler itself, and stores the next changes when the call has returned.
//
//  1. A handler is called once for each change, in the order of the server's watch, one call at a
//     time.
//  2. The store has a change, with all its indices, before any handler is called for it.
//  3. A handler that is added late is first called for the objects in the store (isInInitialList is
//     true), then for all later changes. None is repeated or left out.
//  4. Readers of the store see a Replace, and each batch of watch events, whole or not at all. Reads
//     never wait for a write to end.
//  5. A slow, stuck or panicking handler delays nothing but itself, unless it was added with
//     kinformer.OverflowBlock. Notifications that wait for it stay in memory, without a bound, unless a
//     kinformer.Delivery sets one. A handler that has returned from all its calls keeps no object in memory
//     and has no goroutine.
//  6. The user's functions (index, key, transform, handler) are never called under a lock that
//     readers of the store take. An error or panic is reported to
//     k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers (or HandleCrash, for a handler) and has no
//     other effect. Two index functions of one store never run at the same time,
//     except for those that readers call by Index and by queries of package view. A slow index function
//     delays the store and the handlers, but not the reading of the watch.
//  7. When the context of Run ends, Run returns as soon as the running calls of handlers have returned.
//     It does not wait for the ListerWatcher. No call of List or Watch begins after Run has returned.
//     A call that has begun may go on, in a goroutine that ends with the call; its result is dropped,
//     and a watch is stopped. No other goroutine of the informer is left.
//
// Rules for the user's functions:
//
//   - Objects are shared between the store, all handlers and all readers: never change one. With
//     KUBE_CACHE_MUTATION_DETECTOR=true in the environment informers look for changed objects and
//     panic, at a cost.
//   - A handler may call every method of its informer, and read its store. An index function may do
//     the same, except for adding handlers and indices.
//
// # When something is wrong
//
//   - Nothing arrives: inspect.StatusOf returns the phase of the informer and its duration, the state of its
//     connection, and its last error. The result prints as one line.
//   - A start does not finish: kinformer.WaitForSync waits like [WaitFor], and returns the reason.
//   - An unknown informer is slow or large: package inspect yields all running informers, with the state,
//     history and cost of each.
//   - A controller does not see its own write: kinformer.WaitForVersion waits until the store has the write.
//   - A handler falls behind: inspect.HandlerOf returns the time in calls and the number of
//     notifications that wait.
//   - The wait between two requests is too long, or no further request makes sense: a
//     kinformer.ErrorPolicy decides.
//
// The log warns when the server is out of reach for some seconds, when a handler of a shared informer is
// stuck or falls behind, and when Run waits for a handler at its end. At V(2) it has a line for each change
// of an informer's state: docs/observability.md has a table.
//
// # Testing
//
// Every constructor takes a ListerWatcher: package cachetest has one that a test scripts like an
// API server, and k8s.io/client-go/tools/cache/testing a simple one. All waits are on channels,
// contexts and clocks, so informers work inside a testing/synctest bubble. Errors are reported to
// the ErrorHandlers of k8s.io/apimachinery/pkg/util/runtime, except for apimachinery's handler that
// sleeps: in a bubble it would sleep for decades.
//
// internal/README.md describes the implementation.
package cache
