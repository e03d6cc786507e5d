// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"slices"
	"strings"
	"time"

	"github.com/kinformer/cache/internal/tap"
)

// Status is what a reflector does, and how well that goes, at a moment.
type Status struct {
	Phase Phase
	Since time.Time // when phase began; zero: it was not run
	Age   time.Duration
	Mode  Mode // of the last request for the whole state; ByChoice: there was none

	Unfit      error         // why there is nothing to be run; nil: there is
	Stopped    bool          // by a decision
	Err        error         // the last one, kept when requests succeed again
	ErrAt      time.Time     // when it came
	Failures   int           // since the last success, those between two waits being one
	FailingFor time.Duration // for how long requests have failed, other than expected, or hung; 0: they do not
	Refused    bool          // the server did not know the position
	Unsharded  bool          // the server sends objects of other shards, too
	Silent     bool          // the idle watchdog gave up a watch, and nothing has come since
	ListUntil  time.Time     // until then LIST replaces watch-lists; zero: it does not

	Hangs    string        // the request that does, in words; "": none
	HangsFor time.Duration // since the last sign of life

	// The reflector is, or was last, blind from OutageAt on, for Outage, because its server was out
	// of reach; zero: never.
	OutageAt   time.Time
	Outage     time.Duration
	OutOfReach bool // it is
	Reconnects int64

	Version        string    // that the reflector would watch from; "" before the first list
	Lists, Watches int64     // requests, each page of a list one, watch-lists among the watches
	HeardAt        time.Time // when the last watch event or bookmark came; zero: none yet
	Bookmarked     bool      // a watch has brought a bookmark, so that silence means something

	Left    int64  // list items and watch events that were left out, so far
	LeftNow int64  // those of them since the whole state was last asked for
	LeftWhy string // the reason of the last of these

	Decoding  tap.State
	Transport bool // of package direct has sent a request
}

// Cause returns the error that keeps the reflector from its work, nil if there is none.
func (s Status) Cause() error {
	if s.Unfit == nil && s.Failures == 0 {
		return nil
	}
	return s.Err
}

// History is what a reflector has done so far, and what became of that. All its maps are by one of
// few words.
type History struct {
	Lists, Streams, Watches Requests
	Events                  int64            // of watches and watch-lists, bookmarks included
	ListBytes, WatchBytes   int64            // of what was decoded directly
	Relists                 map[string]int64 // by why the whole state was asked for again
	WatchEnds               map[string]int64 // by why they have ended
	Drops                   map[string]int64 // list items and events that got into no sink
	Errors                  []Noted          // the last ones, the newest last
	Outages                 []Outage         // the last ones, the newest last
	FailingSince            time.Time        // since when requests fail, other than expected; zero: they do not
	Past                    []Past           // the last requests that Lists, Streams and Watches count, the newest last
}

// Past is a request that is over.
type Past = struct {
	Kind    string // KindList, KindWatchList or KindWatch
	Began   time.Time
	Took    time.Duration
	Objects int // list items, or events
	Failed  bool
	Reason  string // why a watch has ended, "" for others
}

const (
	KindList      = "list"
	KindWatchList = "watch_list"
	KindWatch     = "watch"
)

// Requests are all that were made of one kind and are over.
type Requests struct {
	Ended, Failed        int64
	Total, Longest, Last time.Duration
	Objects              int64 // list items, or events
}

// Noted is an error, and how often it came.
type Noted struct {
	Text        string
	First, Last time.Time
	Count       int64
}

// Outage is a time in which the reflector was blind because its server was out of reach.
type Outage struct {
	Began  time.Time
	Length time.Duration // so far, if it is not over
	Over   bool
}

const (
	keptErrors  = 32
	keptOutages = 16
	keptPast    = 32
	// maxNoted bounds the text of an error that is noted, in bytes.
	maxNoted = 300
)

// kept returns the last n of all and one more.
func kept[T any](all []T, one T, n int) []T {
	if len(all) == n {
		all = slices.Delete(all, 0, 1)
	}
	return append(all, one)
}

// count adds n to what is counted under a word.
func count(counts *map[string]int64, word string, n int64) {
	if *counts == nil {
		*counts = map[string]int64{}
	}
	(*counts)[word] += n
}

// noteRequest notes a request that is over now.
func (h *History) noteRequest(p Past, now time.Time) {
	p.Began = now.Add(-p.Took)
	h.Past = kept(h.Past, p, keptPast)
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

// notedText returns the beginning of what an error says, in memory of its own.
func notedText(err error) string {
	text := err.Error()
	if len(text) <= maxNoted {
		return strings.Clone(text)
	}
	return strings.ToValidUTF8(text[:maxNoted-len("...")], "") + "..."
}

// noteError notes the text of an error. One that is noted already counts again.
func (h *History) noteError(text string, now time.Time) {
	again := Noted{Text: text, First: now}
	if i := slices.IndexFunc(h.Errors, func(n Noted) bool { return n.Text == text }); i >= 0 {
		again = h.Errors[i]
		h.Errors = slices.Delete(h.Errors, i, i+1)
	}
	again.Count++
	again.Last = now
	h.Errors = kept(h.Errors, again, keptErrors)
}

// lastOutage returns the last outage, as it is now; zero: there was none.
func (h *History) lastOutage() (last Outage) {
	if n := len(h.Outages); n > 0 {
		last = h.Outages[n-1]
	}
	if !last.Over && !last.Began.IsZero() {
		last.Length = time.Since(last.Began)
	}
	return last
}

// endOutage notes that the last outage is over.
func (h *History) endOutage(now time.Time) {
	last := &h.Outages[len(h.Outages)-1]
	last.Length, last.Over = now.Sub(last.Began), true
}

// Phase is what a reflector does at a moment, and a state of its machine.
type Phase string

const (
	// Unstarted: nothing was done yet. No machine is in it.
	Unstarted Phase = "new"
	// Waiting: a machine in Listing or Streaming waits for its turn. Only its Journal is in this
	// phase.
	Waiting Phase = "waiting for a list slot"
	// Listing: a LIST is in flight; its result replaces the store's content.
	Listing Phase = "listing"
	// Streaming: a watch-list stream fills a staging area, which replaces the store's content at
	// the end mark.
	Streaming Phase = "streaming"
	// Watching: a watch is being opened or followed; its events go to the store in their order, in
	// batches if it takes those.
	Watching Phase = "watching"
	// BackingOff: nothing is in flight; the machine waits for pause.length, then goes to
	// pause.resume.
	BackingOff Phase = "backing off"
	// Stopped: the context ended, a decision wants it, or the only round is over. The last state.
	Stopped Phase = "stopped"
)

// Mode is how a reflector takes over the whole state.
type Mode string

const (
	// ByChoice: by watch-list if the feature gate is on and the client does not deny it, unless
	// watch-lists turn out not to come to their end, else by LIST.
	ByChoice Mode = ""
	// ByList: by LIST.
	ByList Mode = "list"
	// ByWatchList: by watch-list, and by LIST in a round in which that fails.
	ByWatchList Mode = "watch-list"
)

// outcome is what the work in a phase has led to.
type outcome struct {
	next  Phase // where the round goes on; "": it is over
	after bool  // the backoff
	err   error // why, if the round is over or waits; nil: for no reason that anybody has to hear of
}

// goOn is the outcome of a phase after which the round goes on in another one, tryLater of one that
// failed, so that it does after the backoff, and endRound of one after which the whole state is
// needed again.
func goOn(next Phase) outcome { return outcome{next: next} }

func tryLater(next Phase, err error) outcome { return outcome{next: next, after: true, err: err} }

func endRound(err error) outcome { return outcome{err: err} }
