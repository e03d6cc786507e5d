// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"slices"
	"strings"
	"time"
)

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

// ended notes a request that is over, and how many objects it has brought.
func (r *Requests) ended(took time.Duration, objects int, failed bool) {
	r.Ended++
	if failed {
		r.Failed++
	}
	r.Total, r.Longest, r.Last = r.Total+took, max(r.Longest, took), took
	r.Objects += int64(objects)
}

// passed notes a request that is over now.
func (h *History) passed(p Past, now time.Time) {
	if len(h.Past) == keptPast {
		h.Past = slices.Delete(h.Past, 0, 1)
	}
	p.Began = now.Add(-p.Took)
	h.Past = append(h.Past, p)
	of := map[string]*Requests{KindList: &h.Lists, KindWatchList: &h.Streams, KindWatch: &h.Watches}[p.Kind]
	of.ended(p.Took, p.Objects, p.Failed)
}

// count adds n to what is counted under a word.
func count(counts *map[string]int64, word string, n int64) {
	if *counts == nil {
		*counts = map[string]int64{}
	}
	(*counts)[word] += n
}

// notedText returns the beginning of what an error says, in memory of its own.
func notedText(err error) string {
	text := err.Error()
	if len(text) <= maxNoted {
		return strings.Clone(text)
	}
	const more = "..."
	return strings.ToValidUTF8(text[:maxNoted-len(more)], "") + more
}

// noteError notes the text of an error. One that is noted already counts again.
func (h *History) noteError(text string, now time.Time) {
	again := Noted{Text: text, First: now}
	if i := slices.IndexFunc(h.Errors, func(n Noted) bool { return n.Text == text }); i >= 0 {
		again = h.Errors[i]
		h.Errors = slices.Delete(h.Errors, i, i+1)
	} else if len(h.Errors) == keptErrors {
		h.Errors = slices.Delete(h.Errors, 0, 1)
	}
	again.Count++
	again.Last = now
	h.Errors = append(h.Errors, again)
}

// outageBegan notes that an outage has begun.
func (h *History) outageBegan(now time.Time) {
	if len(h.Outages) == keptOutages {
		h.Outages = slices.Delete(h.Outages, 0, 1)
	}
	h.Outages = append(h.Outages, Outage{Began: now})
}

// outageOver notes that the last outage is over.
func (h *History) outageOver(now time.Time) {
	if n := len(h.Outages); n > 0 {
		last := &h.Outages[n-1]
		last.Length, last.Over = now.Sub(last.Began), true
	}
}
