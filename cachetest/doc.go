// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cachetest provides a scripted API server in memory, for tests of informers, reflectors and
// code that uses them. It depends only on interfaces of client-go, so it serves the informers of both
// libraries.
//
// A Source is one resource of that server, and a ListerWatcher. A test writes objects to it, scripts
// faults, waits until the handlers have been called, and checks these calls and the requests that the
// server received:
//
//	src := cachetest.Of(pod("a"), pod("b"))
//	informer := cache.NewSharedIndexInformer(src, &corev1.Pod{}, 0, cache.Indexers{})
//	var recorder cachetest.Recorder
//	informer.AddEventHandler(src.Track(&recorder))
//	go informer.RunWithContext(ctx)
//	err := src.Settle(ctx)              // until the handlers have the state
//
//	heal := src.Partition()             // the connection is lost,
//	src.Delete("default", "b")          // an object is deleted meanwhile,
//	src.Compact(src.ResourceVersion())  // and the server forgets the event
//	heal()
//	err = src.Settle(ctx)
//	recorder.Events()                   // ... "delete default/b 3 unknown"
//	src.Requests()                      // ... `watch-list rv="3" match=NotOlderThan bookmarks`
//
// # Guarantees
//
//  1. Versions. One counter gives each write its resourceVersion; Tick advances
//     it for writes to other resources. A source starts at 1, its first object gets 2.
//  2. Streams. A stream delivers the writes after its beginning in order, each
//     once, regardless of the speed of its reader: the log keeps the entries that
//     open streams need. A stream ends only when it is stopped, when its context
//     ends, or by a script.
//  3. Lists. Each list, including all its pages, has the state at one version.
//  4. Order. Each Inject, Resend, Bookmark and Cut has its position among the
//     writes. A stream that is open at that time reaches it after earlier writes
//     and before later ones. A stream that is opened later does not reach it.
//     Break, Outage and Partition take effect at once.
//  5. Faults of requests are queued by verb. Each is used once, by the next
//     request of its verb. The verb of a watch that requests its initial events
//     is VerbWatchList.
//  6. Objects are copied on the way in and out, unless Options.Share is set.
//  7. Goroutines. Each open stream has one, which has ended when Stop returns.
//
// # Which script for which trouble
//
//	the server answers 410 to a watch    Partition, write, Compact, heal
//	... with an error of the call        Options.FailAtStart
//	... in the middle of a stream        Inject(ErrorEvent(Expired())), Cut
//	429, 500, connection refused         FailNext(verb, TooManyRequests(d), ...)
//	the server is down temporarily       Outage
//	a watch ends regularly               Cut
//	a connection breaks                  Break
//	... and is lost for some time        Partition
//	a stream ends after n events         Script, StreamScript.CutAfter
//	the initial events never end         StreamScript.OmitInitialEventsEnd
//	an old server, a fake clientset      Options.WatchList
//	no watch cache                       Options.NoWatchCache
//	a stalled stream                     Stall
//	a slow or late response              Fault.Delay, Until, IgnoreContext
//	a panic in List                      Fault.Panic
//	duplicates, old versions             Resend
//	the server's backup is restored      Rewind
//	events are lost silently             Lose
//	... or invented, or altered          Inject
//	garbage                              Inject(Garbage(obj)...)
//
// # Differences from an API server
//
// A test compares its responses to lists and watches with those of a real API server, request by
// request (the nested module test/e2e, package kit), with and without the watch cache. The following
// differences make tests short or repeatable:
//
//   - Writers ignore the resourceVersion of the object, so there are no
//     conflicts, except through the client of adapters/client/clienttest. They
//     accept a UID that the test sets, also to replace another one. They do not
//     generate names from generateName.
//   - Deletions take effect at once: finalizers and grace periods are ignored.
//     Neither generation nor managedFields are maintained, no defaults are set,
//     and an object needs only a name.
//   - UIDs are derived from versions, so they are the same in each run.
//   - A shardSelector is ignored, as by a server without the feature gate
//     ShardedListAndWatch.
//   - A list at a version in the future is refused at once; a server waits for
//     the version for three seconds.
//   - Streams end, and bookmarks are sent, by scripts only, not after some time.
//     With Options.HonorTimeout, streams end as the server's do.
//   - Only Compact removes the past.
//   - All objects of a source are in one list, regardless of their namespaces. To
//     get those of one namespace, select by metadata.namespace.
//
// # Time
//
// Nothing polls and nothing sleeps: waits are for channels, or for a delay in a script. In a
// testing/synctest bubble all of them block durably, and delays pass in fake time. Make the source
// inside the bubble. Stop its users before the bubble ends.
//
// Errors do not stop an informer of this library in a bubble. They do stop one of client-go, until the
// clock of the bubble has reached the time of the last error of the process on the real clock: a
// default error handler of apimachinery sleeps until then. Remove it from utilruntime.ErrorHandlers in
// TestMain.
//
// Settle compares states. Events without a lasting effect on the state (for an object that is created
// and deleted at once, or a duplicate) may still be pending when it returns; in a bubble call
// synctest.Wait after it.
package cachetest
