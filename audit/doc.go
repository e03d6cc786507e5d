// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit compares a cache with its server, reports the differences, and can repair them. It
// may run in production.
//
//	report, err := audit.Once(ctx, informer, audit.Options{})
//
//	go audit.Run(ctx, informer, audit.RunOptions{Options: audit.Options{Repair: true}}) // each half an hour
//
//	go audit.RunAll(ctx, audit.RunOptions{}) // all informers of the process
//
// An audit takes a snapshot of the store, at a resourceVersion that the server has confirmed by a
// list, an event or a bookmark. It then requests the collection at exactly that version. Writes
// need not pause: later ones, to the server and to the store, are in neither.
//
// Guarantees:
//
//  1. Each object that differs at that version is found: missing, extra, stale or, with Content,
//     different under an equal version. Late and repeated events do not matter. An informer of several
//     sources has two exceptions, for which see docs/audit.md: late events of sources that overlap, and what
//     the program itself has written into the store.
//  2. A cache that is ahead of its server is found, as after a restored backup of etcd: the server
//     does not know the cached version in three lists, half a minute apart (Ahead). A watch does not
//     notice this.
//  3. A finding is repaired only after a second snapshot, a second later, has confirmed it. The repair
//     is a relist (kinformer.Relist) of the server's most recent state: handlers are called for the
//     difference, in order. There is at most one repair an hour. A third snapshot shows whether it has
//     helped (Report.Repaired).
//  4. A report says that the cache equals the server's state only if they were compared, with the
//     exceptions of 1.
//  5. Events and readers are not delayed: the snapshot is taken between two batches, in microseconds
//     (more if a transform drops metadata, see below, and for one of several sources, whose keys are
//     copied), and the rest of the audit works on the snapshot. There is no cost while no audit runs.
//  6. The list is that of the informer: it uses the informer's ListerWatcher, and so its namespace and
//     selectors; it leaves out the objects that Requests.ExpectedNamespace excludes; it decodes
//     directly if the informer does; and it takes a slot of Requests.Slots. A page that takes more than
//     a minute ends the audit. The end of the informer also ends the audit, at once.
//  7. Of an informer of package sources each source is audited, at its own version. The report has the
//     sums, and is Equal only if all of them are.
//
// The repair of a cache that is ahead moves the versions of its store back, and its objects to the
// state of the backup, in one step for each reader. Earlier versions are meaningless from then on:
// see kinformer.WaitForVersion.
//
// # Transforms
//
// An object is compared by the UID and the resourceVersion that the server gave it. If there is no
// transform, or it changes neither, they are read from the object. Otherwise the informer keeps
// them beside the object, audited or not, in up to 150 bytes, because that version also decides
// which updates are resyncs. An audit copies that table: 7 MB, and a pause of the events of some 10
// ms, for 100,000 objects.
//
// Objects that the transform function refuses differ from the server (Untransformed of
// inspect.Queue), as do those that cannot be decoded (Undecodable of inspect.Status). Report.Refused counts
// them; they are not findings.
//
// # What it costs
//
// For the server and the client an audit costs a list of the whole collection, in pages of 500. The
// client holds one page at a time. Objects that were replaced or deleted since the snapshot stay in
// memory until the audit ends. In addition an audit takes eight bytes and about two microseconds
// for each object. With a metadata client as Options.Source a page has only metadata. If the
// informer, or Source, has a transport of package direct, an audit of versions decodes only the
// name, namespace, UID and resourceVersion of an object.
//
// A server must be able to list at a given version. kube-apiserver is, until it has compacted that
// version, which takes five minutes at least. Aggregated servers may not be able to:
// ErrUnsupported. An upgrade of the server to a version with other defaults may make previously
// cached objects different; a relist repairs that, too.
package audit
