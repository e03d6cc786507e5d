// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

// Kind is the type of a metric.
type Kind int

const (
	// Gauge goes up and down.
	Gauge Kind = iota
	// Counter increases, and starts again from 0 with each informer.
	Counter
	// Histogram counts calls by their duration in seconds; its buckets are Bounds.
	Histogram
	// Summary has a count and a sum of seconds, and no quantiles.
	Summary
)

// Metric describes a metric of each informer, or of the process if OfProcess is set.
type Metric struct {
	Name      string // in Prometheus style, with the unit and _total
	Help      string
	Kind      Kind
	Unit      string   // a UCUM unit: "s", "By", or the counted thing in braces
	Labels    []string // in addition to InformerLabels
	OfProcess bool
	Sparse    bool // absent while the value is 0
}

// Bounds returns the upper bounds, in seconds, of the buckets of a Histogram except the last, which
// is unbounded. They correspond to inspect.Handler.Histogram.
func Bounds() []float64 { return []float64{1e-4, 1e-3, 1e-2, 1e-1, 1, 10} }

// InformerLabels are the labels of every metric of an informer. None is called namespace, because Prometheus gives
// that label to the targets in a cluster, and renames those of a target.
var InformerLabels = []string{"name", "group", "version", "resource", "watched_namespace", "server", "ordinal"}

// All returns all metrics. The caller must not modify the slice.
func All() []*Metric { return all }

var all []*Metric

func define(kind Kind, name, unit, help string, labels ...string) *Metric {
	m := &Metric{Name: "kinformer_" + name, Kind: kind, Unit: unit, Help: help, Labels: labels}
	all = append(all, m)
	return m
}

func ofProcess(m *Metric) *Metric {
	m.OfProcess = true
	return m
}

func sparse(m *Metric) *Metric {
	m.Sparse = true
	return m
}

// Metrics of the process.
var (
	informers      = ofProcess(define(Gauge, "informers", "{informer}", "Informers and controllers that run."))
	clientGos      = sparse(ofProcess(define(Gauge, "client_go_informers", "{informer}", "Informers and controllers that run and are client-go's, because of KINFORMER in the environment or of Options.Engine. They have no other metrics here.")))
	sharedTexts    = sparse(ofProcess(define(Gauge, "shared_texts", "{text}", "Strings that directly decoded objects share.")))
	sharedBytes    = sparse(ofProcess(define(Gauge, "shared_texts_bytes", "By", "Bytes that these strings and their table take.")))
	sharedMaxBytes = sparse(ofProcess(define(Gauge, "shared_texts_limit_bytes", "By", "The most bytes that they may take.")))
	sharedParts    = sparse(ofProcess(define(Gauge, "shared_parts", "{part}", "Parts that objects share with ShareParts.")))
	partsBytes     = sparse(ofProcess(define(Gauge, "shared_parts_bytes", "By", "Bytes that these parts and their table take: an estimate that is hardly too low.")))
	partsMaxBytes  = sparse(ofProcess(define(Gauge, "shared_parts_limit_bytes", "By", "The most bytes that they may take.")))
	partsFound     = sparse(ofProcess(define(Counter, "shared_parts_found_total", "{part}", "Parts of objects that were found in the table. Starts at 0 with each new table.")))
	partsMissed    = sparse(ofProcess(define(Counter, "shared_parts_missed_total", "{part}", "Parts of objects that were not found in the table.")))
)

// Metrics of an informer: whether it is synced and up to date.
var (
	objects     = define(Gauge, "objects", "{object}", "Objects in the store.")
	synced      = define(Gauge, "synced", "1", "Whether the first list is in the store (1) or not (0).")
	sourceCount = sparse(define(Gauge, "sources", "{source}", "Sources of an informer of package sources."))
	unsynced    = sparse(define(Gauge, "sources_unsynced", "{source}", "Those of them whose first state is not in the store."))
	phaseAge    = define(Gauge, "phase_age_seconds", "s", "How long the informer has been in its phase: waiting for a list slot, listing, streaming, watching, backing off, stopped; always 0 without sources.", "phase")
	degraded    = sparse(define(Gauge, "degraded", "1", "1 while something is not as it should be, by the reason.", "reason"))
	eventAge    = define(Gauge, "last_event_age_seconds", "s", "How long ago a watch event or bookmark last came. Absent before the first.")
	failing     = define(Gauge, "failing_seconds", "s", "How long requests or watches have failed, by the reason of the last error: a word of the log, such as forbidden, throttled or connection. 0, without a reason, while they succeed.", "reason")
	outage      = define(Gauge, "outage_seconds", "s", "How long the informer has been blind: from when its server went out of reach until it is fresh again. 0 while it is not.")
	blind       = sparse(define(Gauge, "last_outage_seconds", "s", "How long it was blind the last time, or has been so far; of several sources, in the outage that began last."))
	reconnect   = sparse(define(Counter, "reconnects_total", "{reconnect}", "How often the informer was fresh again after an outage."))
)

// Metrics of an informer: its requests.
var (
	lists         = sparse(define(Counter, "lists_total", "{list}", "Requests for the full list, by list (with all pages) or watch_list.", "mode", "result"))
	listTime      = define(Summary, "list_duration_seconds", "s", "How long these requests took, up to the last object.", "mode")
	listedObjects = define(Counter, "listed_objects_total", "{object}", "Objects from lists, and from watch-lists up to their end mark.", "mode")
	watchTime     = define(Summary, "watch_duration_seconds", "s", "How long watches lasted that have ended.")
	watchEnds     = sparse(define(Counter, "watch_ends_total", "{watch}", "Watches that have ended, by the reason. The ordinary reason is closed.", "reason"))
	relists       = sparse(define(Counter, "relists_total", "{list}", "The number of times that the full list was requested again, by the cause.", "cause"))
	events        = define(Counter, "events_total", "{event}", "Events from watches and watch-lists, including bookmarks.")
	received      = sparse(define(Counter, "received_bytes_total", "By", "Bytes of lists and watches that were decoded directly.", "verb"))
	errorsTotal   = sparse(define(Counter, "errors_total", "{error}", "Failed lists, watch-lists and watches, objects that the transform function refused, and failures of the process function.", "reason"))
	dropped       = sparse(define(Counter, "dropped_total", "{object}", "List items and watch events that were left out, by the reason.", "reason"))
	decoded       = sparse(define(Counter, "decode_total", "{object}", "Objects by the decoder: direct (see package direct), client for those that such an informer left to its client, or reused for those that were not decoded, because they came again as they were.", "way"))
	decodes       = define(Gauge, "decode_info", "1", "1, by who decodes the last list or watch. way: direct, from encoding; or client, for a reason: docs/direct.md lists them. sharing: on or off, if the program sets ShareParts. Absent before anything was received.", "way", "encoding", "reason", "sharing")
	kept          = define(Gauge, "kept_fields", "{field}", "The number of paths that the informer keeps of its objects (see kinformer.Decoding.Keep), by these, with commas. Absent if it keeps all.", "fields")
	wholeObjects  = sparse(define(Gauge, "whole_objects", "{object}", "Objects of such an informer that have all of their fields (see kinformer.Decoding.Whole)."))
	verified      = sparse(define(Counter, "decode_verified_total", "{object}", "Objects that both have decoded, for comparison."))
	differences   = sparse(define(Counter, "decode_differences_total", "{object}", "Objects that both have decoded with different results. Anything but 0 is a fault."))
	partsChecked  = sparse(define(Counter, "decode_parts_checked_total", "{part}", "Shared parts that were decoded again, to check that no caller has modified them."))
	partsWritten  = sparse(define(Counter, "decode_parts_written_total", "{part}", "Shared parts that a caller has modified. Anything but 0 is a fault of the program."))
)

// Metrics of an informer: its queue, memory and audits.
var (
	queueDepth    = define(Gauge, "queue_depth", "{item}", "Items that wait between the watch and the store.")
	queueLimit    = sparse(define(Gauge, "queue_limit", "{item}", "The most items that may wait; 0 means no limit."))
	queuePauses   = sparse(define(Counter, "queue_pauses_total", "{pause}", "How often the limit stopped the reading of the watch."))
	queuePaused   = sparse(define(Counter, "queue_paused_seconds_total", "s", "How long the limit stopped the reading of the watch."))
	untransformed = sparse(define(Gauge, "untransformed_objects", "{object}", "Objects that are not as on the server, because the transform function refused them."))
	undecodable   = sparse(define(Gauge, "undecodable_objects", "{object}", "Objects that are not as on the server, because no decoder can read them (see kinformer.Errors.SkipUndecodable)."))
	memory        = sparse(define(Gauge, "memory_bytes", "By", "Estimate of the memory by part: objects, store, indices, snapshots, queue, handlers.", "part"))
	audits        = sparse(define(Counter, "audits_total", "{audit}", "Audits (see package audit) by their outcome: equal, different, expired, unvouched, unsupported, failed.", "outcome"))
	auditFindings = sparse(define(Counter, "audit_findings_total", "{object}", "Objects that an audit found to differ from the server, and confirmed, by how they differ; a cache that is ahead of its server counts as one.", "kind"))
	auditDiffers  = define(Gauge, "audit_differing_objects", "{object}", "Objects that differed at the last audit that could compare them, and were not repaired by it. Absent before the first audit.")
	auditAge      = define(Gauge, "audit_age_seconds", "s", "How long ago the last audit ended. Absent before the first.")

	indexValues   = define(Gauge, "index_values", "{value}", "Values of the index that have objects. An estimate for large ones.", "index")
	indexMembers  = define(Gauge, "index_members", "{object}", "Objects of each value of the index, added up. An estimate for large ones.", "index")
	indexLacking  = sparse(define(Gauge, "index_lacking_objects", "{object}", "Objects that are not in the index because its function failed for them.", "index"))
	indexFailures = sparse(define(Counter, "index_failures_total", "{failure}", "How often the index function failed.", "index"))
	indexBytes    = define(Gauge, "index_bytes", "By", "Estimate of the memory of the index.", "index")
)

// Metrics of the handlers of an informer.
var (
	handlers     = define(Gauge, "handlers", "{handler}", "Handlers of the informer.")
	disconnected = sparse(define(Counter, "handlers_disconnected_total", "{handler}", "Handlers that were removed because they were too slow for their Delivery."))
	pending      = define(Gauge, "handler_pending", "{call}", "Calls that are outstanding, including the running one.", "handler")
	oldest       = define(Gauge, "handler_oldest_pending_seconds", "s", "Age of the change that the handler is being called for, or will be called for next, since it was distributed. 0 if there is none.", "handler")
	calling      = define(Gauge, "handler_running_call_seconds", "s", "How long the running call has lasted. 0 if there is none.", "handler")
	state        = sparse(define(Gauge, "handler_state", "{handler}", "Handlers by state: idle, running, stuck (not returned from a call for a second), disconnected, removed.", "handler", "state"))
	calls        = define(Counter, "handler_calls_total", "{call}", "Calls that have returned.", "handler")
	callTime     = define(Histogram, "handler_call_duration_seconds", "s", "How long calls took that have returned.", "handler")
	coalesced    = sparse(define(Counter, "handler_coalesced_total", "{change}", "Changes that are not delivered because later ones include them.", "handler"))
)
