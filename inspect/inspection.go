// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"time"
)

// Inspection describes an informer at one time: what it is, what it does and has done, and what it
// costs. It is a copy. Its parts are read one after the other while the informer goes on. It has no
// objects, keys or index values, except in the texts of errors.
//
// The keys of the maps are from small sets, so they may become labels of a metric; later versions
// may add keys. A map is nil while there is nothing to count.
type Inspection struct {
	// ID identifies the informer among those that have run in this process. It grows with each Run,
	// and is 0 before.
	ID uint64
	// Name is the name of the informer's objects in logs: a description of the program's, else what
	// Status.Resource, Namespace and the selectors say, as in "pods.v1 in namespace team-a", else the type.
	Name string
	// Type is the type of the objects, or the kind of unstructured ones.
	Type string
	// InformerName is that of Options.Identifier; empty without it.
	InformerName string

	// Sources is how many sources an informer of package sources has, and UnsyncedSources how many of
	// them have not synced. What follows sums them up, and what removed ones have counted.
	Sources, UnsyncedSources int

	Status Status
	// Queue is zero before the start, and for a controller with a queue of the user's own.
	Queue Queue
	// Handlers are those of a shared informer, in the order in which they were added; none after Run
	// has returned. Controllers have none, since they call their handler, or process function,
	// themselves. Disconnected counts those that OverflowDisconnect removed.
	Handlers     []Handler
	Disconnected int
	// Indices are those of the store, by name.
	Indices []IndexStats
	// Snapshots are those of package view, of the store.
	Snapshots Snapshots
	// Memory is an estimate by part. It is zero before the first estimate.
	Memory Memory

	// Lists sums up the LISTs of the whole state, each with all of its pages, and Streams the
	// watch-lists up to their end mark. Their times do not include the wait for their turn
	// (Requests.Slots), and do include the time until the state is on its way to the store. Watches
	// sums up the watches from their opening on, also those that follow a watch-list.
	Lists, Streams, Watches RequestStats
	// Requests are the last 32 requests that Lists, Streams and Watches count, in the order in
	// which they ended.
	Requests []Request
	// Events counts the events from watches and watch-lists, including bookmarks.
	Events int64
	// ListBytes and WatchBytes are the bytes from lists, and from watches and watch-lists. They
	// count only what came through a transport of package direct and was decoded directly (see
	// Status.Decoding).
	ListBytes, WatchBytes int64
	// Relists counts the further requests for the whole state, by the reason: "expired" (the server
	// has forgotten the version of the watch), "watch" (a watch failed otherwise), "failed" (the
	// attempt before failed), "fallback" (LIST, in place of a watch-list that failed), "refused"
	// (the server does not know the requested version), "decoding" (see Decoding), "resync"
	// (the queue could not be resynced), "panic" (of the ListerWatcher), "asked" (Relist).
	Relists map[string]int64
	// WatchEnds counts the watches that have ended, by the reason: "closed" by the server, which is
	// the ordinary end, "idle" (Requests.IdleTimeout), "very-short" (closed at once, without an event),
	// "expired", "throttled" (429), "internal-error" (500), "connection", "decoding", "resync",
	// "asked" (Relist), "error" (any other), "stopped" (by the informer).
	WatchEnds map[string]int64
	// Drops counts the list items and watch events that were left out. "type", "kind", "namespace",
	// "no-object", "no-metadata" and "event-type" are those of Status.Dropped. "refused" are watch
	// events that could not be queued, because they have no key or the transform function failed.
	Drops map[string]int64

	// Audits sums up the audits of package audit.
	Audits AuditStats

	// Errors are the last 32 different errors of requests and watches; the most recent is the last.
	// They quote no objects.
	Errors []Error
	// Outages are the last 16 times that the informer was blind because the server was out of reach
	// (see Status.Reconnects); the most recent is the last.
	Outages []Outage
	// FailingSince is when a request or watch first failed since a watch was last established; if
	// it hung before, when it gave its last sign of life. It is zero if none has failed, and while
	// an ErrorPolicy says that the errors are expected.
	FailingSince time.Time
}

// IndexStats is the size of an index of a store, and how often its function failed. Of an index of
// more than some 300 values, all fields except Failures and Lacking are estimates.
type IndexStats struct {
	Name string
	// Values counts the values that have objects. Members counts the objects of each value, added
	// up.
	Values, Members int
	// Lacking counts the objects that are not in the index because its function failed for them.
	// Failures counts how often it has failed.
	Lacking  int
	Failures uint64
	// Bytes is the memory of the index.
	Bytes int64
}

// Snapshots describes the snapshots of a store.
type Snapshots struct {
	Open      int       // snapshots, and iterations, that are not closed
	Oldest    time.Time // when the oldest of them was taken; zero if there is none
	Forgotten uint64    // how many were closed by the garbage collector
	Kept      int       // superseded objects that are kept for them, or were until just now
}

// RequestStats sums up the finished requests of one kind.
type RequestStats struct {
	// Ended counts the requests. Failed counts those that brought no state; for watches, those that
	// did not end in the ordinary way.
	Ended, Failed int64
	// Total is the time of all of them, Longest that of the longest, and Last that of the last.
	Total, Longest, Last time.Duration
	// Objects counts the list items that were accepted, or the events.
	Objects int64
}

// Request is a list, a watch-list or a watch that has ended.
type Request struct {
	Kind    string // "list", "watch_list" or "watch"
	Began   time.Time
	Took    time.Duration
	Objects int // list items, or events
	Failed  bool
	Reason  string // why a watch ended, as in Inspection.WatchEnds; "" for the others
}

// AuditStats sums up the audits of an informer; see package audit. The maps are nil while there is
// nothing to count.
type AuditStats struct {
	// Ended counts the audits by their outcome: "equal", "different", "expired" (the server had
	// forgotten the version), "unvouched" (the store had no version that the server vouches for),
	// "unsupported" (by the server), "failed".
	Ended map[string]int64
	// Found counts the objects that differed in both looks of an audit, by how they differed:
	// "missing", "extra", "stale", "different". A cache that is ahead of its server counts as one
	// object, "ahead". Passing counts those that differed only in the first look.
	Found   map[string]int64
	Passing int64
	// Relists counts the relists that audits have requested.
	Relists int64
	// Last is the last audit. It is zero before the first.
	Last AuditResult
	// Differing is the number of objects that differed at the last audit that could compare them, 0
	// once a further look after the repair has found nothing.
	Differing int
}

// AuditResult is the result of an audit.
type AuditResult struct {
	Outcome         string    // as in AuditStats.Ended
	At              time.Time // when it was over
	Took            time.Duration
	ResourceVersion string // what was compared
}

// Error is an error of an informer that may have occurred several times.
type Error struct {
	Text        string // the first 300 bytes
	First, Last time.Time
	Count       int64
}

// Outage is a time in which an informer was blind: from when its server was found out of reach
// until the informer was fresh again.
type Outage struct {
	Began  time.Time
	Length time.Duration // so far, if it is not over
	Over   bool
}

// Memory is the memory of an informer in bytes, by part. All parts except Store and Indices
// are estimated from the mean size of 64 objects, or fewer if these are very large; what these
// objects share counts once. Inspect takes such a sample in about a millisecond, and uses it for
// ten minutes. All samples of the process together take at most 6 ms at a time and a thousandth of
// a core. Objects that informers share are counted for each informer.
type Memory struct {
	// Sampled is the number of objects in the sample, and SampledAt its time. 0 and zero before the
	// first.
	Sampled   int
	SampledAt time.Time

	Objects   int64 // in the store
	Store     int64 // what leads to them, and their keys
	Indices   int64
	Snapshots int64 // objects that are no longer in the store, kept for snapshots
	Queue     int64 // what waits for the store
	Handlers  int64 // what waits for the slowest handler, as if none of it were in the store
}
