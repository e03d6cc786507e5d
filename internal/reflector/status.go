// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/tap"
)

// Status is the state of a reflector at a moment.
type Status struct {
	Phase Phase
	Since time.Time // when Phase began; zero if the reflector was not run
	Age   time.Duration
	Mode  Mode // of the last list; ByChoice if there was none

	Unfit      error         // why the reflector cannot run; nil if it can
	Stopped    bool          // whether a Decision has stopped it
	Retired    error         // why it was stopped before its informer was; nil if it was not
	Err        error         // the last error, kept when requests succeed again
	ErrAt      time.Time     // when Err occurred
	Failures   int           // the number since the last success; failures between two waits count as one
	FailingFor time.Duration // how long requests have failed unexpectedly, or hung; 0 if they do not
	Refused    bool          // whether the server did not know the position
	Unsharded  bool          // whether the server also sends objects of other shards
	Anew       bool          // whether the server begins its watches anew, see anew
	Silent     bool          // whether the idle watchdog gave up a watch and nothing was received since
	ListUntil  time.Time     // until when LIST replaces watch-lists; zero if it does not

	Hangs    string        // the hanging request, in words; "" if none hangs
	HangsFor time.Duration // the time since the last sign of life

	Throttled time.Time // until when the server asks to wait with the pending request; zero if it does not

	Outage     Outage // the last one; zero if there was none
	Reconnects int64

	Version        string    // from which the reflector would watch; "" before the first list
	Confirmed      int64     // the number of lists that were to confirm an answer, see loss
	Lists, Watches int64     // the number of requests: each page is a list, each watch-list a watch
	HeardAt        time.Time // when the last watch event or bookmark was received; zero if none was
	Bookmarked     bool      // whether a watch has sent a bookmark, so that silence is significant

	Left    int64  // the number of list items and watch events that were left out
	LeftNow int64  // the number of these since the last list began
	LeftWhy string // the reason for the last of these

	Decoding  tap.State
	Transport bool // whether a transport of package direct has sent a request
}

// Cause returns the error that prevents the reflector from working, or nil.
func (s Status) Cause() error {
	if s.Retired == nil && s.Unfit == nil && s.Failures == 0 {
		return nil
	}
	return cmp.Or(s.Retired, s.Err)
}

// History is what a reflector has done so far. The keys of its maps are a few fixed words.
type History struct {
	Lists, Streams, Watches Requests
	Unopened                int64            // the number of watches that failed before they were open
	Events                  int64            // the number of events of watches and watch-lists, with bookmarks
	ListBytes, WatchBytes   int64            // the bytes of directly decoded bodies
	Relists                 map[string]int64 // by reason for the relist
	WatchEnds               map[string]int64 // by reason for the end
	Drops                   map[string]int64 // list items and events that did not reach the sink, by reason
	Errors                  []Noted          // the latest ones, the newest last
	Outages                 []Outage         // the latest ones, see Outage.rank
	FailingSince            time.Time        // since when requests fail unexpectedly; zero if they do not
	Past                    []Past           // the latest requests that Lists, Streams and Watches count, the newest last
}

// Past is a request that is over.
type Past = struct {
	Kind    string // KindList, KindWatchList or KindWatch
	Began   time.Time
	Took    time.Duration
	Objects int // the number of list items, or of events
	Failed  bool
	Reason  string // why a watch has ended; "" for other requests
}

const (
	KindList      = "list"
	KindWatchList = "watch-list"
	KindWatch     = "watch"
)

// Requests summarizes all completed requests of one kind.
type Requests struct {
	Ended, Failed        int64
	Total, Longest, Last time.Duration
	Objects              int64 // the number of list items, or of events
}

// Noted is an error with the number of its occurrences.
type Noted struct {
	Text        string
	First, Last time.Time
	Count       int64
}

// Outage is a time in which the reflector was out of date because its server was out of reach.
type Outage struct {
	Began  time.Time
	Length time.Duration // so far, if it is not over
	Over   bool
}

// GoesOn reports whether there is an outage that is not over.
func (o Outage) GoesOn() bool { return !o.Began.IsZero() && !o.Over }

const (
	maxErrors  = 32
	maxOutages = 16
	maxPast    = 32
	// maxNoted bounds the text of a recorded error, in bytes.
	maxNoted = 300
)

// appendBounded appends one to all and drops the first element if there are more than n.
func appendBounded[T any](all []T, one T, n int) []T {
	if len(all) == n {
		all = slices.Delete(all, 0, 1)
	}
	return append(all, one)
}

// addCounts adds counts by word to others.
func addCounts(counts *map[string]int64, more map[string]int64) {
	for word, n := range more {
		count(counts, word, n)
	}
}

// count adds n to the count of a word.
func count(counts *map[string]int64, word string, n int64) {
	if *counts == nil {
		*counts = map[string]int64{}
	}
	(*counts)[word] += n
}

// noteRequest records a request that has just ended.
func (h *History) noteRequest(p Past, now time.Time) {
	p.Began = now.Add(-p.Took)
	h.Past = appendBounded(h.Past, p, maxPast)
	if p.Reason != "" {
		count(&h.WatchEnds, p.Reason, 1)
	}
	all := map[string]*Requests{KindList: &h.Lists, KindWatchList: &h.Streams, KindWatch: &h.Watches}[p.Kind]
	if all.Ended++; p.Failed {
		all.Failed++
	}
	all.Total, all.Longest, all.Last = all.Total+p.Took, max(all.Longest, p.Took), p.Took
	all.Objects += int64(p.Objects)
}

// notedText returns the beginning of an error's text, copied.
func notedText(err error) string {
	text := err.Error()
	if len(text) <= maxNoted {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:maxNoted-len("...")], "") + "..."
}

// noteError records the text of an error. A repeated text increases its count.
func (h *History) noteError(text string, now time.Time) {
	again := Noted{Text: text, First: now}
	if i := slices.IndexFunc(h.Errors, func(n Noted) bool { return n.Text == text }); i >= 0 {
		again = h.Errors[i]
		h.Errors = slices.Delete(h.Errors, i, i+1)
	}
	again.Count++
	again.Last = now
	h.Errors = appendBounded(h.Errors, again, maxErrors)
}

// lastOutage returns the last outage with its current length, or zero.
func (h *History) lastOutage() (last Outage) {
	if n := len(h.Outages); n > 0 {
		last = h.Outages[n-1]
	}
	if last.GoesOn() {
		last.Length = time.Since(last.Began)
	}
	return last
}

// endOutage records that the last outage is over.
func (h *History) endOutage(now time.Time) {
	last := &h.Outages[len(h.Outages)-1]
	last.Length, last.Over = now.Sub(last.Began), true
}

// earliest returns the earlier one of two times. Zero means that there is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Phase is a state of a reflector's machine.
type Phase string

const (
	// Unstarted: the reflector was not run. No machine is in this phase.
	Unstarted Phase = "new"
	// Waiting: a machine in Listing or Streaming waits for its turn. Only its Journal is in this
	// phase.
	Waiting Phase = "waiting for a list slot"
	// Listing: a LIST is in flight; its result replaces the store's content.
	Listing Phase = "listing"
	// Streaming: a watch-list stream fills a staging area, which replaces the store's content at
	// the end mark.
	Streaming Phase = "streaming"
	// Watching: a watch is being opened or followed; its events are passed to the store in their
	// order, in batches if the store takes batches.
	Watching Phase = "watching"
	// BackingOff: no request is in flight; the machine waits for pause.length, then enters
	// pause.resume.
	BackingOff Phase = "backing off"
	// Stopped: the context ended, a Decision says so, or the only round is over. The last phase.
	Stopped Phase = "stopped"
)

// Mode is the way in which a reflector lists the collection.
type Mode string

const (
	// ByChoice: by watch-list if the feature gate is on and the client does not deny support,
	// unless watch-lists turn out not to reach their end mark, else by LIST.
	ByChoice Mode = ""
	// ByList: by LIST.
	ByList Mode = "list"
	// ByWatchList: by watch-list, and by LIST in a round in which the watch-list fails.
	ByWatchList Mode = "watch-list"
)

// outcome is the result of the work in a phase.
type outcome struct {
	next  Phase // the next phase of the round; "" if the round is over
	after bool  // whether next follows after the backoff
	err   error // why the round is over or waits; nil if there is nothing to report
}

// goOn is the outcome of a phase after which the round goes on in another phase; tryLater, of a
// phase that failed, so that the round goes on after the backoff; endRound, of a phase after which
// a new list is needed.
func goOn(next Phase) outcome { return outcome{next: next} }

func tryLater(next Phase, err error) outcome { return outcome{next: next, after: true, err: err} }

func endRound(err error) outcome { return outcome{err: err} }
