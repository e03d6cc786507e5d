// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cachetest has a scripted API server in memory, for tests of informers, reflectors and
// what is built on them. It uses only interfaces of client-go, so it serves the informers of both
// libraries.
//
// A Source is one resource of that server, and a ListerWatcher. A test writes objects to it,
// scripts faults, waits until the handlers have been told, and looks at what they were told and at
// which requests the server got:
//
//	src := cachetest.Of(pod("a"), pod("b"))
//	informer := cache.NewSharedIndexInformer(src, &corev1.Pod{}, 0, cache.Indexers{})
//	var recorder cachetest.Recorder
//	informer.AddEventHandler(src.Track(&recorder))
//	go informer.RunWithContext(ctx)
//
//	heal := src.Partition()             // the connection is lost,
//	src.Delete("default", "b")          // meanwhile the world goes on,
//	src.Compact(src.ResourceVersion())  // and the server forgets how
//	heal()
//	err := src.Settle(ctx)              // until the handlers know the state
//	recorder.Events()                   // ... "delete default/b 3 unknown"
//	src.Requests()                      // ... `list rv="3"`
//
// # What holds
//
//  1. Versions. One counter gives each write its resourceVersion; Tick advances
//     it for writes elsewhere. A source starts at 1, its first object gets 2.
//  2. Streams. A stream delivers the writes after its beginning in order, each
//     once, however slowly it is read: the log keeps what open streams need. It
//     ends only when it is stopped, when its context ends, or by a script.
//  3. Lists. Each list, all pages included, shows the state at one version.
//  4. Place. Each Inject, Resend, Bookmark and Cut has its place among the
//     writes. Streams that are open at that time come to it after what was
//     written before, and before what is written later; streams that open later
//     do not come to it. Break, Outage and Partition take effect at once.
//  5. Faults of requests are queued by verb. Each is used once, by the next
//     request of its verb. The verb of a watch that asks for its initial events
//     is VerbWatchList.
//  6. Objects are copied on the way in and out, unless Options.Share.
//  7. Goroutines. Each open stream has one, which has ended when Stop returns.
//
// # Which script for which trouble
//
//	the server answers 410 to a watch    Partition, write, Compact, heal
//	... with an error of the call        Options.FailAtStart
//	... in the middle of a stream        Inject(ErrorEvent(Expired())), Cut
//	429, 500, connection refused         FailNext(verb, TooManyRequests(d), ...)
//	the server is down for a while       Outage
//	a watch ends regularly               Cut
//	a connection breaks                  Break
//	... and stays away for a while       Partition
//	the n-th event is the last           Script, StreamScript.CutAfter
//	the initial events never end         StreamScript.OmitInitialEventsEnd
//	an old server, a fake clientset      Options.WatchList
//	no watch cache                       Options.NoWatchCache
//	a stalled stream                     Stall
//	a slow answer, a late one            Fault.Delay, Until, IgnoreContext
//	a panic in List                      Fault.Panic
//	duplicates, old versions             Resend
//	the server's backup is restored      Rewind
//	events are lost without a trace      Lose
//	... or made up, or altered           Inject
//	garbage                              Inject(Garbage(obj)...)
//
// # Where it is not an API server
//
// A test compares its answers to lists and watches with those of a real one,
// request by request (the nested module e2e, package kit), with the watch cache
// and without. The differences make tests short or repeatable:
//
//   - Writers ignore the resourceVersion of the object, so there are no
//     conflicts. They accept a UID that the test gives, also in place of another
//     one. They make no names from generateName.
//   - Deletions are at once: finalizers and grace periods do nothing. Neither
//     generation nor managedFields are kept, nothing gets defaults, and an
//     object needs nothing but a name.
//   - UIDs follow from versions, so a test sees the same ones each time.
//   - A shardSelector is ignored, as by a server without the feature gate
//     ShardedListAndWatch.
//   - A list from a version that is yet to come is refused at once; a server
//     waits for it for three seconds.
//   - Streams end, and bookmarks come, when a script says so, and not after some
//     time. With Options.HonorTimeout, streams end as the server's do.
//   - Only Compact forgets the past.
//   - All objects of a source are in one list, whatever their namespaces. To see
//     one namespace, select by metadata.namespace.
//
// # Time
//
// Nothing polls and nothing sleeps: waits are for channels, or for a delay that
// a script asked for. In a testing/synctest bubble all of them block durably,
// and delays pass in fake time. Make the source inside the bubble. Stop what
// runs on it before the bubble ends.
//
// Errors do not stop an informer of this library in a bubble. They do stop one
// of client-go, until the clock of the bubble has come to the last error of the
// process, on the real clock: a default error handler of apimachinery sleeps
// until then. Take it out of utilruntime.ErrorHandlers in TestMain.
//
// Settle compares states. Events that change no state in the end (an object
// created and deleted at once, a duplicate) may still be on their way when it
// returns; in a bubble call synctest.Wait after it.
package cachetest
