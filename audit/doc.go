// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package audit compares a cache with its server, reports what differs, and can repair it. It may
// run in production.
//
//	report, err := audit.Once(ctx, informer, audit.Options{})
//
//	go audit.Run(ctx, informer, audit.RunOptions{Options: audit.Options{Repair: true}}) // each half an hour
//
// An audit takes a snapshot of the store. The server has vouched for its resourceVersion by a list,
// an event or a bookmark. The audit then asks the server for the collection at exactly that
// version. So it needs no pause: later writes, to the server and to the store, are in neither.
//
// Guarantees:
//
//  1. Each object that differs at that version is found: missing, extra, stale or, with Content,
//     different under an equal version. An event that comes late, or twice, makes no difference.
//  2. A cache that is ahead of its server is found, as after a backup of etcd was put back: the
//     server does not know the cached version in three lists, half a minute apart (Ahead).
//     No watch notices that.
//  3. A finding is repaired only after a second snapshot, a second later, has confirmed it. A
//     repair is a relist (kinformer.Relist) of the server's most recent state: handlers are called for
//     the difference, in order. There is at most one repair an hour. A third snapshot shows whether
//     it has helped (Report.Repaired).
//  4. A report says that the cache is as on the server only if that was compared.
//  5. Events and readers are not delayed: the snapshot is taken between two batches, in
//     microseconds (more if a transform drops metadata, see below, and for one of several sources, whose
//     keys are copied), and the rest of the audit works on it. There is no cost while no audit runs.
//  6. The list is that of the informer: by its ListerWatcher, so in its namespace and by its
//     selectors, without what Requests.ExpectedNamespace leaves out, decoded directly where the
//     informer decodes directly, in its turn with Requests.Slots. A page that takes more than a
//     minute ends the audit, and so does the end of the informer, at once.
//
// The repair of a cache that is ahead takes the versions of its store back, and its objects to what
// they were when the backup was made, in one step for each reader. Versions of before mean nothing
// from then on: see kinformer.WaitForVersion.
//
// # Transforms
//
// An object is compared by the UID and the resourceVersion that the server gave it. If there is no
// transform, or it leaves both alone, they are read from the object. Otherwise the informer keeps
// them beside the object, audited or not, in up to 150 bytes, because that version also decides
// what is a resync. An audit copies that table: 7 MB, and a pause of the events of some 10 ms, for
// 100,000 objects.
//
// Objects that the transform function refuses are not as on the server (Untransformed of
// inspect.Queue). Report.Refused counts them; they are no findings.
//
// # What it costs
//
// The server does what it does for a list of the whole collection, in pages of 500, and so does the
// client, which has no more than one page at a time; objects that were replaced or deleted since
// the snapshot stay in memory until the audit ends. Beside that, it takes eight bytes for each
// object, and about two microseconds. With a metadata client as Options.Source a page has the
// metadata only. Where the informer, or Source, has a transport of package direct, Versions reads
// nothing of an object but its name, namespace, UID and resourceVersion.
//
// A server must be able to list as of a version: kube-apiserver is, for as long as it has not
// compacted it, which is for five minutes at least. Aggregated servers may not: ErrUnsupported.
// A change of the server itself, to another version with other defaults, may make objects different
// that were cached before it; a relist repairs that, too.
package audit
