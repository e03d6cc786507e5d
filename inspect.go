// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/internal/audited"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/observe"
	"github.com/kinformer/cache/internal/reflector"
)

// Informers yields the informers and controllers of this package that run in the process, those of
// factories and frameworks included, in the order of their start. A shared informer is yielded as a
// SharedIndexInformer, without the wrapper of a factory. Each is included from the call of its Run
// until that returns; nothing of it is kept afterwards. A loop covers those that ran when it began,
// and delays none of them. Do not run what it yields: it is running.
func Informers() iter.Seq[Controller] {
	return func(yield func(Controller) bool) {
		for _, informer := range observe.Informers.All() {
			if !yield(informer.(Controller)) {
				return
			}
		}
	}
}

// sampling is what the inspections of all informers may cost the process.
var sampling observe.Budget

// observed is what an informer has for those who look at it.
type observed struct {
	number atomic.Uint64 // among all that ran; 0 before Run
	sample observe.Sample
	audits audited.History
}

// enter begins a time in which the informer runs, leave ends it.
func (o *observed) enter(informer Controller) (leave func()) {
	number := observe.Informers.Enter(informer)
	o.number.Store(number)
	return func() { observe.Informers.Leave(number) }
}

// HandlersOf returns the statistics of each handler of a shared informer of this package, however
// it is handed out (see StatusOf), in the order in which they were added. It is for programs that
// do not have the registrations, because a framework keeps them. Handlers that were removed, also
// by OverflowDisconnect, are not included; after Run has returned, none is. Controllers have none,
// since they call their handler, or process function, themselves. The error is ErrNotSupported for
// informers of other packages. It may be called at any time, waits for no call, and costs some
// microseconds for each handler.
func HandlersOf(informer interface{ HasSyncedChecker() DoneChecker }) ([]HandlerStats, error) {
	own := subjectOf(informer)
	if own == nil {
		return nil, ErrNotSupported
	}
	handlers, _ := own.handlers()
	return handlers, nil
}

// handlers returns the statistics of all handlers, and how many others were too slow to stay.
func (i *subject) handlers() (handlers []HandlerStats, disconnected int) {
	if i.processor == nil {
		return nil, 0
	}
	known, disconnected := i.processor.Figures()
	handlers = make([]HandlerStats, len(known))
	for at := range known {
		handlers[at] = statisticsOf(known[at])
	}
	return handlers, disconnected
}

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
	// Name is the name of the informer's objects in logs: resource.version.group if WithIdentifier
	// has set that, otherwise a description or the type.
	Name string
	// Type is the type of the objects, or the kind of unstructured ones.
	Type string
	// InformerName and Resource are those of WithIdentifier; empty without it.
	InformerName string
	Resource     schema.GroupVersionResource

	Status Status
	// Causes has a word for each element of Status.Degraded: "unfit" (it cannot run), "stopped" (by
	// its error policy), "outage", "hangs" (a list has brought nothing for a minute, a watch is not
	// open after a minute, or brings no bookmark for five minutes although bookmarks had come; of a
	// list that comes through no transport of package direct only whole pages are seen, so that it
	// hangs after five minutes), "errors", "refused" (the server does not know the last
	// resourceVersion), "dropped" (objects of another type or namespace), "fallback" (LIST instead
	// of watch-list), "silent" (the watch was), "index" (objects are missing from one), "transform"
	// (it refused objects), "audit" (the last audit has found objects that are not as on the
	// server, or that the cache is ahead of it), "decoding-suspended" and "decoding-off" (direct
	// decoding is, until the client has decoded a list, or for good), "mutation" (somebody has
	// written to cached objects that share parts).
	Causes []string
	// Queue is zero before the start, and for a controller with a queue of the user's own.
	Queue QueueStats
	// Handlers are those of HandlersOf. Disconnected counts those that OverflowDisconnect removed.
	Handlers     []HandlerStats
	Disconnected int
	// Indices are those of the store, by name.
	Indices []IndexStats
	// Memory is an estimate by part. It is zero before the first estimate.
	Memory MemoryEstimate

	// Lists sums up the LISTs of the whole state, each with all of its pages, and Streams the
	// watch-lists up to their end mark. Their times do not include the wait for their turn
	// (WithListSlots), and do include the time until the state is on its way to the store. Watches
	// sums up the watches from their opening on, also those that follow a watch-list.
	Lists, Streams, Watches RequestStats
	// Requests are the last 32 requests that Lists, Streams and Watches count, in the order in
	// which they ended.
	Requests []InformerRequest
	// Events counts the events from watches and watch-lists, including bookmarks.
	Events int64
	// ListBytes and WatchBytes are the bytes from lists, and from watches and watch-lists. They
	// count only what came through a transport of package direct and was decoded directly (see
	// Status.Decoding).
	ListBytes, WatchBytes int64
	// Relists counts the further requests for the whole state, by the reason: "expired" (the server
	// has forgotten the version of the watch), "watch" (a watch failed otherwise), "failed" (the
	// attempt before failed), "fallback" (LIST, in place of a watch-list that failed), "refused"
	// (the server does not know the requested version), "decoding" (see WithDecoding), "resync"
	// (the queue could not be resynced), "panic" (of the ListerWatcher), "asked" (Relist).
	Relists map[string]int64
	// WatchEnds counts the watches that have ended, by the reason: "closed" by the server, which is
	// the ordinary end, "idle" (WithIdleTimeout), "very-short" (closed at once, without an event),
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
	Errors []InformerError
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

// InformerRequest is a list, a watch-list or a watch that has ended.
type InformerRequest struct {
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

// InformerError is an error of an informer that may have occurred several times.
type InformerError struct {
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

// MemoryEstimate is the memory of an informer in bytes, by part. All parts except Store and Indices
// are estimated from the mean size of 64 objects, or fewer if these are very large; what these
// objects share counts once. Inspect takes such a sample in about a millisecond, and uses it for
// ten minutes. All samples of the process together take at most 6 ms at a time and a thousandth of
// a core. Objects that informers share are counted for each informer.
type MemoryEstimate struct {
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

// Inspect describes an informer or controller of this package. It accepts what StatusOf accepts;
// for others the error is ErrNotSupported. It may be called at any time, and delays neither events
// nor handlers. It takes tens of microseconds, more for each handler and each value of an index,
// and now and then a sample, for which it reads cached objects: see MemoryEstimate. It races with a
// program that writes to cached objects, which is forbidden.
func Inspect(informer interface{ HasSyncedChecker() DoneChecker }) (Inspection, error) {
	own := subjectOf(informer)
	if own == nil {
		return Inspection{}, ErrNotSupported
	}
	return own.inspect(), nil
}

func (i *subject) inspect() Inspection {
	all := Inspection{
		ID: i.observed.number.Load(), Name: i.resource, Type: reflector.ResourceName(schema.GroupVersionResource{}, "", i.example),
		InformerName: i.identity.Name(), Resource: i.identity.GroupVersionResource(),
	}
	all.Status, all.Causes = i.statusWithCauses()
	all.Queue, _ = QueueStatsOf(i.Controller)
	all.Handlers, all.Disconnected = i.handlers()
	all.addHistory(i.report.History())
	all.addAudits(i.observed.audits.Figures())
	if i.store != nil {
		i.addContents(&all)
	}
	return all
}

// addHistory adds what the reflector has done.
func (all *Inspection) addHistory(h reflector.History) {
	all.Lists, all.Streams, all.Watches = RequestStats(h.Lists), RequestStats(h.Streams), RequestStats(h.Watches)
	all.Events, all.Relists, all.WatchEnds, all.Drops = h.Events, h.Relists, h.WatchEnds, h.Drops
	all.ListBytes, all.WatchBytes, all.FailingSince = h.ListBytes, h.WatchBytes, h.FailingSince
	for _, r := range h.Past {
		all.Requests = append(all.Requests, InformerRequest(r))
	}
	for _, e := range h.Errors {
		all.Errors = append(all.Errors, InformerError(e))
	}
	for _, o := range h.Outages {
		all.Outages = append(all.Outages, Outage(o))
	}
}

// addAudits adds what audits have come to.
func (all *Inspection) addAudits(f audited.Figures) {
	a := &all.Audits
	a.Ended, a.Found, a.Passing, a.Relists = f.Audits, f.Found, f.Passing, f.Relists
	a.Last.Outcome, a.Last.At, a.Last.Took = string(f.Last.Outcome), f.Last.At, f.Last.Took
	a.Last.ResourceVersion, a.Differing = f.Last.Version, f.Differing
}

// addContents adds the indices, and what all takes.
func (i *subject) addContents(all *Inspection) {
	objects := i.store.objects.table
	survey, memory := objects.Survey(), &all.Memory
	for _, ix := range survey.Indexes {
		all.Indices = append(all.Indices, IndexStats(ix))
		memory.Indices += ix.Bytes
	}
	slices.SortFunc(all.Indices, func(a, b IndexStats) int { return cmp.Compare(a.Name, b.Name) })
	mean := i.observed.sample.Of(&sampling, time.Now(), objects.Sample)
	n := float64(all.Status.Objects)
	memory.Sampled, memory.SampledAt = mean.Sampled, mean.At
	memory.Objects = int64(n * mean.Object)
	memory.Store = survey.Bytes + int64(n*mean.Key)
	memory.Snapshots = int64(float64(objects.Snapshots().Kept) * mean.Object)
	memory.Queue = int64(float64(all.Queue.Depth) * (mean.Object + float64(unsafe.Sizeof(event.Record{}))))
	behind := 0
	for h := range all.Handlers {
		behind = max(behind, all.Handlers[h].Pending)
	}
	memory.Handlers = int64(float64(behind) * (mean.Object + float64(unsafe.Sizeof(event.Change{}))))
}

func init() { audited.Of = auditedOf }

// auditedOf returns what package audit has to know of an informer.
func auditedOf(informer any) (*audited.Informer, error) {
	own := subjectOf(informer)
	if own == nil || own.pipeline == nil {
		return nil, ErrNotSupported
	}
	known := &audited.Informer{
		Name: own.resource, History: &own.observed.audits, Ended: own.report.Ended, State: own.auditedState, Relist: own.relistNewest,
		Version: own.pipeline.contents.Table.RV, Refused: own.transform.Behind,
	}
	if own.runs != nil {
		requests := own.runs.reflectorOptions()
		known.Requests = &requests
	}
	if transform := own.transform; transform != nil && transform.Function != nil {
		known.Transform = transform.Call
	}
	return known, nil
}

// auditedState returns the state of the store between two batches.
func (i *subject) auditedState() (audited.State, error) {
	p := i.pipeline
	switch {
	case i.report.HasEnded():
		return audited.State{}, audited.ErrEnded
	case i.runs == nil, !i.HasSynced():
		return audited.State{}, audited.ErrUnsynced
	case !p.delivery.TryLock():
		return audited.State{}, audited.ErrBusy
	}
	defer p.delivery.Unlock()
	if rv := p.contents.Table.RV(); !p.applier.Vouched() || rv == "" || rv == "0" { // as after a write to the store
		return audited.State{}, audited.ErrUnvouched
	}
	return audited.State{Snapshot: storeSnapshot{p.contents.Table.Snapshot()}, Received: maps.Clone(p.applier.Received)}, nil
}
