// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sources provides an informer for the union of several sources: the objects of several
// namespaces, selectors or servers. Sources have names, and may be put, replaced and removed while the
// informer is running.
//
//	pods, set := sources.New(&corev1.Pod{}, kinformer.Options{})
//	set.Put("team-a", podsOf("team-a"))              // adds, before or while the informer runs
//	set.Put("team-a", podsOf("team-a", "app=web"))   // replaces: handlers receive the difference
//	set.Put("mine", podsWith("owner=me"))            // may overlap
//	err := set.Remove("team-a")                      // removes its objects, at once for all readers
//	err = kinformer.WaitForSync(ctx, set.Source("mine"))
//	err = kinformer.WaitForSync(ctx, set.Put("mine", podsWith("owner=you"))) // the objects of this request
//	for name, source := range set.All() {
//		status, err := inspect.StatusOf(source)
//		log.Print(name, status.Phase, err)
//	}
//
// Guarantees:
//
//  1. Readers see each of these completely or not at all: the first list of a source, a relist, the first
//     list after a replacement, a removal.
//  2. Events of a source keep their order. There is no order between sources.
//  3. An object is stored while at least one source has it. The newest version applies; an older one that
//     arrives later from another source is dropped, even after the source of the newest has lost the
//     object, except with the first list of a request and with the list of a repair. Sources with common
//     objects must be of one server. When that server is restored from a backup, its versions begin again. A
//     list proves that if it is older than what the same request of a source had, and was not asked for at
//     version "0". Then the sources that have objects in common list once more, and what a
//     source had before hides nothing, also if the source cannot list.
//  4. An object is deleted with a cache.DeletedFinalStateUnknown when its source lists without it or is
//     removed, or when the watch reports the deletion of an older state than the cached one, which another
//     source had meanwhile; and otherwise in the state that the watch reports.
//  5. A server sends the same event, with the previous state, when an object is deleted and when it leaves
//     a selector. So handlers may receive an object that moves from one source to another as deleted, then
//     as added.
//  6. HasSynced of the informer and of its handlers waits for the sources that existed when Run was called
//     and were not removed. A later source has its own HasSynced, and never resets that of others. The
//     versions, HasSynced and Status of a source are those of its present request: see Set.Put.
//  7. isInInitialList is true for the objects that the first list of any source adds, and otherwise only
//     for the initial calls of a handler that is added later.
//  8. A source whose requests fail does not delay others. Its problems are also those of the informer; see
//     inspect.StatusOf. If the source existed at Run, the informer does not sync until the source has
//     its first list, perhaps after a replacement, or is removed.
//  9. An error policy that stops, stops the source. The informer continues; kinformer.Errors.OnSourceStop
//     is called, and kinformer.WaitForSync returns an error for an informer that waits for the source.
//  10. The informer has one resync period, one transform function and one limit of list requests for all
//     sources. The transform function, error policy and watch-error handler may be called for several
//     sources at the same time.
//  11. The counts of inspect.Of for the informer are the sums of its sources, including replaced and removed
//     ones, except for the audits of those and the end of their last watch. No metric has a source as a label.
//     The informer has the resource and the server that its sources have in common, and no namespace or
//     selector.
//
// The resourceVersion of the informer is that of its source if it has only one, otherwise empty.
// Therefore an audit of the informer audits each source, and adds up the reports; audit.Once and audit.Run
// also accept a Source or a Session. An audit compares the version of an object that the source has, also
// while the store has a newer version of another source. A version that is in the store and that no source
// has any more counts as a difference.
package sources
