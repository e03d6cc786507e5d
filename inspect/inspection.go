// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"
)

// Inspection describes an informer at one time: its identity, its present and past work, and its
// cost. It is a copy. Its parts are read one after the other while the informer continues. It
// contains no objects, keys or index values, except in the texts of errors.
//
// The keys of the maps are from small sets and may be used as metric labels; later versions may add
// keys. A map is nil while it is empty.
type Inspection struct {
	// ID identifies the informer among those that have run in this process. It increases with each
	// Run, and is 0 before.
	ID uint64
	// Name is the name of the informer's objects in logs: the program's description, unless the
	// Identifier has a resource, else the resource, namespace and selectors of Status, as in "pods.v1 in
	// namespace team-a", else the type.
	Name string
	// Type is the type of the objects, or the kind of unstructured ones.
	Type string
	// InformerName is the name in Options.Identifier; empty without one.
	InformerName string

	// Sources are the sources of an informer of package sources, sorted by name. The other fields sum
	// up the sources, including the counts of removed ones, apart from their Audits.
	Sources []Source

	Status Status
	// Queue is the result of QueueOf, and zero for a source.
	Queue Queue
	// Handlers are the handlers of a shared informer, in the order in which they were added; none
	// after Run has returned. Controllers have none, because they call their handler or process
	// function themselves. Disconnected is the number of handlers that OverflowDisconnect removed.
	Handlers     []Handler
	Disconnected int
	// Indices are the indices of the store, sorted by name.
	Indices []IndexStats
	// Snapshots describes the snapshots of the store by package view.
	Snapshots Snapshots
	// Memory is an estimate by part. It is zero before the first estimate.
	Memory Memory

	// Lists sums up the LISTs of the collection, each with all of its pages, and Streams the
	// watch-lists up to their end mark. Their times exclude the wait for a slot (Requests.Slots),
	// and include the time until the state is on its way to the store. Watches sums up the watches
	// from their opening on, including those that follow a watch-list.
	Lists, Streams, Watches RequestStats
	// Unopened counts the watches that failed before they were open, which Watches does not count.
	Unopened int64
	// Requests are the last 32 requests that Lists, Streams and Watches count, in the order in
	// which they ended.
	Requests []Request
	// Events counts the events from watches and watch-lists, including bookmarks.
	Events int64
	// ListBytes and WatchBytes are the bytes from lists, and from watches and watch-lists. They
	// count only what came through a transport of package direct and was decoded directly (see
	// Status.Decoding).
	ListBytes, WatchBytes int64
	// Relists counts lists after the first one, by reason: "expired" (the server no longer has the
	// version of the watch), "watch" (a watch failed otherwise), "failed" (the attempt before
	// failed), "fallback" (LIST after a watch-list failed), "refused" (the server does not know the
	// requested version), "decoding" (see Decoding), "resync" (the queue could not be resynced),
	// "panic" (of the ListerWatcher), "asked" (Relist), "loss" (an answer would have removed more than half
	// of 20 objects or more, so the most recent state was listed, and counts), "anew" (see Problem.Cause).
	Relists map[string]int64
	// WatchEnds counts the watches that have ended, by reason: "closed" by the server, which is the
	// ordinary end, "idle" (Requests.IdleTimeout), "very-short" (closed at once, without an event),
	// "expired", "throttled" (429), "internal-error" (500), "connection", "decoding", "resync",
	// "asked" (Relist), "anew" (as in Relists), "error" (any other), "stopped" (by the informer).
	WatchEnds map[string]int64
	// Drops counts the list items and watch events that were left out. "type", "kind", "namespace",
	// "no-object", "no-metadata" and "event-type" make up Status.Dropped. "refused" are watch
	// events that could not be queued, because they have no key or the transform function failed.
	Drops map[string]int64

	// Audits sums up the audits of package audit.
	Audits AuditStats

	// Errors are the last 32 different errors of requests and watches; the most recent is the last.
	// They quote no objects.
	Errors []Error
	// Outages are the last 16 times in which the informer was out of date because the server was
	// out of reach (see Status.Reconnects); the most recent is the last. Of several that go on,
	// as those of several sources, the longest is the last.
	Outages []Outage
	// FailingSince is when a request or watch first failed since a watch was last established; for
	// a request that hung before it failed, the time of its last sign of life. It is zero if none
	// has failed, and while an ErrorPolicy says that the errors are expected.
	FailingSince time.Time
}

// IndexStats is the size of an index of a store, and the number of failures of its function. For an
// index with more than some 300 values, all fields except Failures and Lacking are estimates.
type IndexStats struct {
	Name string
	// Values is the number of values that have objects. Members is the sum of the numbers of
	// objects of each value.
	Values, Members int
	// Lacking is the number of objects that are not in the index because its function failed for
	// them. Failures is the number of times that it has failed.
	Lacking  int
	Failures uint64
	// Bytes is the memory of the index, in bytes.
	Bytes int64
}

// Snapshots describes the snapshots of a store.
type Snapshots struct {
	Open      int       // the number of snapshots and iterations that are not closed
	Oldest    time.Time // when the oldest of them was taken; zero if there is none
	Forgotten uint64    // the number that the garbage collector has closed
	// Kept is the number of superseded objects that are kept for them, or were until recently. What a relist has
	// replaced as a whole is not counted, although it stays for those taken before.
	Kept int
}

// RequestStats sums up the finished requests of one kind.
type RequestStats struct {
	// Ended is the number of requests. Failed is the number of those that returned no state; for
	// watches, of those with an extraordinary end.
	Ended, Failed int64
	// Total is the sum of their times, Longest the longest time, and Last the time of the last one.
	Total, Longest, Last time.Duration
	// Objects is the number of list items that were accepted, or of events.
	Objects int64
}

// Request is a list, a watch-list or a watch that has ended.
type Request struct {
	Kind    string // "list", "watch-list" or "watch"
	Began   time.Time
	Took    time.Duration
	Objects int // the number of list items, or of events
	Failed  bool
	Reason  string // why a watch ended, as in Inspection.WatchEnds; "" for other kinds
}

// AuditStats sums up the audits of an informer; see package audit. A map is nil while it is empty.
type AuditStats struct {
	// Ended counts the audits by outcome: "equal", "different", "expired" (the server no longer had
	// the version), "unvouched" (the store had no version that the server confirms), "unsupported"
	// (by the server), "failed".
	Ended map[string]int64
	// Confirmed counts the objects that differed in both comparisons of an audit, by kind:
	// "missing", "extra", "stale", "different". A cache that is ahead of its server counts as one
	// object, "ahead". Passing is the number of objects that differed only in the first comparison.
	Confirmed map[string]int64
	Passing   int64
	// Relists is the number of relists that audits have requested.
	Relists int64
	// Last is the last audit. It is zero before the first one.
	Last AuditResult
	// Differing is the number of objects that differed at the last audit that could compare them; 0
	// once a further comparison after the repair has found none.
	Differing int
}

// AuditResult is the result of an audit.
type AuditResult struct {
	Outcome         string    // a key of AuditStats.Ended
	At              time.Time // when it was over
	Took            time.Duration
	ResourceVersion string // the version that was compared
}

// Error is an error of an informer that may have occurred several times.
type Error struct {
	Text        string // the first 300 bytes
	First, Last time.Time
	Count       int64
}

// Outage is a time in which an informer was out of date: from when its server was found out of
// reach until the informer was up to date again.
type Outage struct {
	Began  time.Time
	Length time.Duration // so far, if it is not over
	Over   bool
}

// Memory is the memory of an informer in bytes, by part. All parts except Store and Indices are
// estimated from the mean size of 64 objects, or fewer if these are very large; memory that these
// objects share counts once. Of takes such a sample in about a millisecond, and uses it for ten
// minutes. All samples of the process together take at most 6 ms at a time and a thousandth of
// a core. Objects that informers share are counted for each informer.
type Memory struct {
	// Sampled is the number of objects in the sample, and SampledAt its time. They are zero before
	// the first sample.
	Sampled   int
	SampledAt time.Time

	Objects   int64 // in the store
	Store     int64 // the structure that leads to them, and their keys
	Indices   int64
	Snapshots int64 // objects that are no longer in the store, kept for snapshots
	Queue     int64 // changes that wait for the store
	Handlers  int64 // changes that wait for the slowest handler; an object that is also in the store counts in Objects and here
}

// Source is one of the sources of an informer of package sources.
type Source struct {
	Name   string
	Status Status
}
