// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/fanout"
	"github.com/kinformer/cache/internal/observe"
	"github.com/kinformer/cache/internal/reflector"
	"github.com/kinformer/cache/internal/store"
)

// Status describes what an informer does, and how well, at the time of the call that returned it.
// It is a copy.
type Status struct {
	// Phase is what the informer's reflector does, PhaseSince when it began to, and PhaseAge how
	// long that was ago. Zero and 0 for PhaseNew.
	Phase      Phase
	PhaseSince time.Time
	PhaseAge   time.Duration
	// Mode is how the informer requests, or last requested, the whole state: by LIST or by a
	// watch-list. ListModeAuto before the first request.
	Mode ListMode
	// ResourceVersion is the version from which the next watch would start; the store may not have
	// come to it yet. "" before the first list.
	ResourceVersion string
	// Synced reports whether the first list is in the store.
	Synced bool
	// LastError is the last error of a request or a watch, nil if there was none. It stays when
	// requests succeed again: Attempts says whether they do. Errors that are part of a working
	// connection, such as the end of a watch, do not count. It is the original error without parts
	// that hold an object or are larger than 4 KiB; errors.Is and errors.As find the rest.
	LastError error
	// LastErrorAt is when LastError came; zero if there was none.
	LastErrorAt time.Time
	// Attempts counts the errors since a watch, or a watch-list up to its end mark, last succeeded.
	// A watch-list that fails and the list that replaces it count once.
	Attempts int
	// Reconnects counts how often the informer was fresh again after its server had been out of
	// reach, that is, had not answered, or had answered that it serves nobody now (5xx, 429). Fresh
	// means that a list has arrived, or that a watch goes on from the cached version.
	Reconnects int64
	// LastOutageAt is when the server was last found out of reach, and LastOutage for how long the
	// informer was blind, up to when it was fresh again, or has been so far; then Degraded says so.
	// Zero and 0 if it never was.
	LastOutageAt time.Time
	LastOutage   time.Duration
	// LastEvent is when a watch event or a bookmark last came, and LastEventAge how long that was
	// ago. Zero and 0 before the first. Servers send a bookmark each minute or so, even if nothing
	// changes.
	LastEvent    time.Time
	LastEventAge time.Duration
	// Objects counts the objects in the store. It is 0 for a Controller of New, whose store is not
	// known here.
	Objects int
	// Lists counts the LIST requests so far, one for each page. Watches counts the watch requests,
	// including watch-lists.
	Lists, Watches int64
	// Dropped counts the list items and watch events so far that were left out, because they were
	// no objects, or not of the informer's type or namespace (see WithExpectedNamespace). Each was
	// reported to k8s.io/apimachinery/pkg/util/runtime.ErrorHandlers; those of one page of a list
	// were reported together.
	Dropped int64
	// Decoding says whether the informer itself decodes what the server sends; see WithDecoding and
	// package direct.
	Decoding DecodingStatus
	// Degraded says in words what is wrong; it is empty if all is well.
	Degraded []string
	// Causes has a word for each element of Degraded: "unfit" (it cannot run), "stopped" (by
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
}

// DecodingStatus describes how an informer decodes what the server sends; see WithDecoding.
type DecodingStatus struct {
	// On reports whether the informer itself decodes what its last list or watch brings. If so,
	// Encoding is "json" or "protobuf"; otherwise Why is the reason. Encoding and Why are empty
	// before the first request. Why begins with "suspended: " or "off for good: " if the informer
	// found a fault in what it had decoded, or in a list.
	On            bool
	Encoding, Why string
	// Direct counts the objects so far that were decoded directly.
	Direct int64
	// Reused counts the objects so far that came again as they were, as in a relist, and were not
	// decoded, because the informer has them already; see ShareEqual.
	Reused int64
	// GivenUp counts the objects that the informer left to the client, by reason. There are few
	// reasons, and they quote no data.
	GivenUp map[string]int64
	// Verified counts the objects that both have decoded. Differences counts those of them that
	// were not the same, or that the ListerWatcher had changed.
	Verified, Differences int64
	// Texts describes the table of shared strings, such as labels and names. It has nothing from
	// the data of Secrets. It is zero unless the informer runs and uses the table, which is freed
	// with the last informer that does.
	Texts TextTable
	// Shares reports whether objects share equal parts (ShareEqual). If that was asked for and they
	// do not, NotShared is the reason.
	Shares    bool
	NotShared string
	// Parts describes the table of these parts, under the same conditions as Texts.
	Parts PartTable
	// Checked counts the shared parts of this informer's objects that were decoded again and
	// compared, about one in a thousand of those that were found. Mutations counts those of them
	// that somebody had written to, against the rule of ShareEqual. Mutation describes the first:
	// its place and type, and nothing of its contents. New objects no longer share such a part.
	Checked, Mutations int64
	Mutation           string
}

// TextTable describes the table of strings that the objects of all informers of the process share.
type TextTable struct {
	Count int64 // texts
	Bytes int64 // what they and the table take
	Limit int64 // of Bytes
}

// PartTable describes the table of parts that the objects of all informers of the process share;
// see ShareEqual.
type PartTable struct {
	Count int64 // parts
	Bytes int64 // what they and the table take, by an estimate
	Limit int64 // of Bytes
	// Hits counts the parts of objects that were found in the table, Misses those that were not.
	Hits, Misses int64
}

// Phase is what a reflector does at a moment.
type Phase string

const (
	// PhaseNew: Run was not called.
	PhaseNew Phase = "new"
	// PhaseWaiting: the informer waits for one of its ListSlots.
	PhaseWaiting Phase = "waiting for a list slot"
	// PhaseListing: a LIST is in progress.
	PhaseListing Phase = "listing"
	// PhaseStreaming: a watch-list has not come to its end mark.
	PhaseStreaming Phase = "streaming"
	// PhaseWatching: a watch is being opened, or is open.
	PhaseWatching Phase = "watching"
	// PhaseBackingOff: no request is in progress; the next one is due later.
	PhaseBackingOff Phase = "backing off"
	// PhaseStopped: the context of Run has ended, or an ErrorPolicy has stopped the informer.
	PhaseStopped Phase = "stopped"
)

// ErrNotSupported says that an informer is not one of this package, so nothing is known about it.
var ErrNotSupported = errors.New("not supported: not an informer of this package")

// StatusOf returns the status of an informer or controller of this package, however you got it: as
// a typed informer of a generated factory, as an informer of controller-runtime's cache (except one
// for several namespaces, which has several), or in a wrapper with a GetController method. For
// others the error is ErrNotSupported. It may be called at any time, and delays nothing.
func StatusOf(informer interface{ HasSyncedChecker() DoneChecker }) (Status, error) {
	own := subjectOf(informer)
	if own == nil {
		return Status{}, ErrNotSupported
	}
	return own.status(), nil
}

// subject is how the functions that report about informers see one.
type subject struct {
	Controller
	what     string // it is about, if its name does not say that
	report   *reflector.Journal
	relister *reflector.Relister
	store    *keyedStore     // nil if it is not ours
	progress *store.Progress // nil if store is

	transform *event.Transformer // nil before the start, and with a foreign queue
	processor *fanout.Processor  // nil for a controller
	observed  *observed
	pipeline  *pipeline   // nil with a queue of the user's
	runs      *controller // nil before the start
	resource  string      // what logs call its objects
	example   any         // of them
	identity  InformerNameAndResource
}

func (i *subject) status() (status Status) {
	known := i.report.Status()
	status = statusFrom(known)
	status.ResourceVersion = i.LastSyncResourceVersion()
	status.Synced = i.HasSynced()
	if i.store != nil {
		status.Objects = i.store.objects.table.Len()
	}
	faults := append(faultsOf(known), i.faultsOfContents()...)
	for _, f := range faults {
		status.Degraded = append(status.Degraded, f.text)
		status.Causes = append(status.Causes, f.cause)
	}
	return status
}

// fault is something that is not as it should be: a word of few, and what Degraded says.
type fault struct{ cause, text string }

// faultsOfContents says what is not as it should be with the objects and their indices.
func (i *subject) faultsOfContents() (faults []fault) {
	if i.store != nil {
		for _, text := range i.store.objects.degradedIndexes() {
			faults = append(faults, fault{"index", text})
		}
	}
	if audits, ok := i.observed.audits.Load().(interface{ Differing() (int, bool) }); ok {
		switch n, ahead := audits.Differing(); {
		case ahead:
			faults = append(faults, fault{"audit", "an audit has found the cache ahead of the server, which does not know its resourceVersion"})
		case n > 0:
			faults = append(faults, fault{"audit", "an audit has found " + observe.Counted(int64(n), "object") + " that differed from the server"})
		}
	}
	if n := i.transform.Untransformed(); n > 0 {
		faults = append(faults, fault{"transform",
			fmt.Sprintf("%d objects are not as on the server: the transform function refused them", n)})
	}
	return faults
}

// subjectOf returns nil for what is not of this package.
func subjectOf(informer any) *subject {
	switch own := unwrapped(informer).(type) {
	case *sharedIndexInformer:
		return &subject{
			Controller: own, report: own.report, relister: own.relister, store: own.store,
			progress: &own.pipeline.applier.Progress, transform: own.transformer(),
			processor: own.processor, observed: &own.observed, pipeline: own.pipeline, runs: own.started(),
			resource: own.resource, example: own.objectType, identity: own.config.Identifier,
		}
	case *controller:
		filled, _ := own.sink.(*pipeline)
		return &subject{
			Controller: own, what: own.resourceName(), report: own.report, relister: own.relister, store: own.store,
			progress: own.progress, transform: own.transformer(), observed: &own.observed, pipeline: filled, runs: own,
			resource: own.resourceName(), example: own.config.ObjectType, identity: own.identity,
		}
	default:
		return nil
	}
}

// unwrapped returns the informer or controller of this package that is in wrappers which pass
// GetController on, as the typed informers of client-go do. It returns nil, or the last that it
// could unwrap, if there is none.
func unwrapped(informer any) any {
	for range maxWrappers {
		switch own := informer.(type) {
		case *sharedIndexInformer, *controller:
			return own
		case controllerView:
			return own.informer
		case interface{ GetController() Controller }:
			informer = own.GetController()
		default:
			return informer
		}
	}
	return nil
}

// maxWrappers keeps a wrapper from being unwrapped for ever that returns itself.
const maxWrappers = 16

// statusFrom returns what the reflector knows.
func statusFrom(r reflector.Status) Status {
	s := Status{
		Phase: Phase(r.Phase), PhaseSince: r.Since, PhaseAge: r.Age, Mode: ListMode(r.Mode),
		LastError: r.Err, LastErrorAt: r.ErrAt, Attempts: r.Failures,
		Reconnects: r.Reconnects, LastOutageAt: r.OutageAt, LastOutage: r.Outage,
		LastEvent: r.HeardAt, LastEventAge: r.HeardAge,
		Lists: r.Lists, Watches: r.Watches, Dropped: r.Left,
	}
	d := &s.Decoding
	d.On, d.Encoding, d.Why, d.Direct = r.Decoding.On, string(r.Decoding.Encoding), r.Decoding.Why, r.Decoding.Decoded
	d.Reused = r.Decoding.Reused
	d.GivenUp, d.Verified, d.Differences = r.Decoding.GivenUp, r.Decoding.Verified, r.Decoding.Differences
	d.Texts, d.Parts = TextTable(r.Decoding.Texts), PartTable(r.Decoding.Parts)
	d.Shares, d.NotShared = r.Decoding.Shares, r.Decoding.Unshared
	d.Checked, d.Mutations, d.Mutation = r.Decoding.Checked, r.Decoding.WrittenTo, r.Decoding.Written
	return s
}

// faultsOf says what is not as it should be with a reflector.
func faultsOf(r reflector.Status) (faults []fault) {
	add := func(is bool, cause, text string) {
		if is {
			faults = append(faults, fault{cause, text})
		}
	}
	add(r.Unfit != nil, "unfit", "it cannot run")
	add(r.Stopped, "stopped", "stopped by its error policy")
	if r.OutOfReach {
		add(true, "outage", fmt.Sprintf("the server went out of reach %v ago", observe.Shortly(r.Outage)))
	}
	if r.Hangs != "" {
		add(true, "hangs", observe.Hanging(&r))
	}
	if r.Failures > 0 {
		add(true, "errors", observe.Counted(int64(r.Failures), "error")+" since the last success")
	}
	add(r.Refused, "refused", "the server does not know the last resourceVersion")
	if r.LeftNow > 0 {
		add(true, "dropped", observe.Counted(r.LeftNow, "object")+" of another type or namespace left out: "+r.LeftWhy)
	}
	if !r.ListUntil.IsZero() {
		add(true, "fallback", "LIST instead of watch-list until "+r.ListUntil.Format(time.RFC3339))
	}
	add(r.Silent, "silent", "the watch was silent and was opened anew")
	add(r.Decoding.IsSuspended(), "decoding-suspended", "direct decoding is "+r.Decoding.Why)
	add(r.Decoding.IsOffForGood(), "decoding-off", "direct decoding is "+r.Decoding.Why)
	add(r.Decoding.WrittenTo > 0, "mutation", "somebody has written to cached objects: "+r.Decoding.Written)
	return faults
}

// String returns the status in one line for a log, without objects.
func (s Status) String() string {
	var b strings.Builder
	b.WriteString(s.phase())
	if s.Mode != ListModeAuto {
		fmt.Fprintf(&b, " (%s)", s.Mode)
	}
	if s.ResourceVersion != "" {
		fmt.Fprintf(&b, " at version %q", s.ResourceVersion)
	}
	fmt.Fprintf(&b, ", %s, %s, %s", observe.Counted(int64(s.Objects), "object"), observe.Counted(s.Lists, "list"), observe.Counted(s.Watches, "watch"))
	if s.Reconnects > 0 {
		fmt.Fprintf(&b, ", %s (last outage %v)", observe.Counted(s.Reconnects, "reconnect"), observe.Shortly(s.LastOutage))
	}
	if !s.LastEvent.IsZero() {
		fmt.Fprintf(&b, ", last event %v ago", observe.Shortly(s.LastEventAge))
	}
	if len(s.Degraded) > 0 {
		fmt.Fprintf(&b, "; %s", strings.Join(s.Degraded, ", "))
	}
	if s.LastError != nil && (s.Attempts > 0 || s.Phase == PhaseNew || s.Phase == PhaseStopped) {
		fmt.Fprintf(&b, "; last error: %v", s.LastError)
	}
	return strings.ReplaceAll(b.String(), "\n", "; ")
}

// phase says what is done, and for how long.
func (s Status) phase() string { return observe.Doing(string(s.Phase), s.PhaseSince, s.PhaseAge) }
