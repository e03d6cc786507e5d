// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sources makes an informer for the objects of several namespaces, of either of several
// selectors, of several servers: of named sources that may be put, replaced and removed while it
// runs.
//
//	pods, set := sources.New(&corev1.Pod{}, kinformer.Options{})
//	set.Put("team-a", podsOf("team-a"))              // adds, before or while the informer runs
//	set.Put("team-a", podsOf("team-a", "app=web"))   // another request: handlers hear the difference
//	set.Put("mine", podsWith("owner=me"))            // may overlap
//	err := set.Remove("team-a")                      // its objects go, at once for all readers
//	err = kinformer.WaitForSync(ctx, set.Source("mine"))
//	for name, source := range set.All() { log.Print(name, inspect.StatusOf(source)) }
//
// What holds:
//
//  1. Readers see each of these at once or not at all: the first state of a source, a relist, the first
//     state after a replacement, a removal.
//  2. Events of a source keep their order. Sources have no order among each other.
//  3. An object is there as long as one source has it. The newest version counts; an older one that
//     another source brings later is dropped, also after the source that had the newest has lost the
//     object. Only a list may bring an older one, in case its server counts anew. Sources that have
//     an object in common have to be of one server.
//  4. An object leaves as a cache.DeletedFinalStateUnknown when its source lists without it or is
//     removed, and as received when the watch says that it is deleted.
//  5. A server sends the same event, with the state before, when an object is deleted and when it leaves
//     a selector. So an object that moves from one source to another may be heard as deleted, then
//     as added.
//  6. HasSynced of the informer and of its handlers waits for the sources that were there when Run was
//     called and were not removed. A later source has its own, and never turns that of others false.
//  7. isInInitialList is true for what the first state of any source adds, and only for that, besides
//     what a handler hears that joins.
//  8. A source whose requests fail holds up no other one. What is wrong with it is a problem of the
//     informer, too; see inspect.StatusOf. It keeps the informer from being synced if it was there
//     at Run, until it is removed.
//  9. An error policy that stops, stops the source. The informer goes on.
//  10. The informer has one period of resyncs, one transform function and one bound of list requests for
//     all sources. Transform function, error policy and watch-error handler may be called for several
//     sources at the same time.
//  11. What inspect.Of counts for the informer are the sums of its sources, those included that were
//     replaced or removed, but for the audits of those. No metric has a source as a label.
//
// The resourceVersion of the informer is that of its source if it has only one, else empty. So sources
// are audited one by one: audit.Once and audit.Run take a Source, and refuse the informer. An audit
// compares what the source has of an object, also while the store has a newer version of another one.
package sources
