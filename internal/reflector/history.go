// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
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
}

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

// Outage is a time in which the server was out of reach.
type Outage struct {
	Began  time.Time
	Length time.Duration // so far, if it is not over
	Over   bool
}

const (
	keptErrors  = 32
	keptOutages = 16
	// maxNoted bounds the text of an error that is noted, in bytes.
	maxNoted = 300
)

// Why the whole state is asked for again.
const (
	againExpired  = "expired"  // the server has forgotten the version of the watch
	againRefused  = "refused"  // it does not know the version that a watch-list was to begin at
	againWatch    = "watch"    // a watch failed otherwise, or could not be opened
	againFailed   = "failed"   // the last attempt failed
	againFallback = "fallback" // a LIST, in place of a watch-list that failed
	againDecoding = "decoding" // what was decoded directly is in doubt
	againResync   = "resync"   // the sink could not be resynced
	againPanic    = "panic"    // the ListerWatcher has panicked
)

// againAfter says why the whole state is asked for again, if it is, after a watch that ended with
// err, or could not be opened.
func againAfter(err error) string {
	var doubt *tap.Doubt
	var resync *resyncError
	switch {
	case errors.As(err, &doubt):
		return againDecoding
	case errors.As(err, &resync):
		return againResync
	case isExpired(err):
		return againExpired
	default:
		return againWatch
	}
}

// History returns what is to be told now.
func (p *Report) History() History {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.mu.history
	h.Events = p.events.Load()
	h.ListBytes, h.WatchBytes = p.decoding.Bytes()
	h.Relists, h.WatchEnds, h.Drops = maps.Clone(h.Relists), maps.Clone(h.WatchEnds), maps.Clone(h.Drops)
	h.Errors, h.Outages = slices.Clone(h.Errors), slices.Clone(h.Outages)
	if length, on := p.outageLocked(); on && len(h.Outages) > 0 {
		h.Outages[len(h.Outages)-1].Length = length
	}
	return h
}

// FailingFor returns for how long requests have failed, 0 if they do not.
func (p *Report) FailingFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.mu.history.FailingSince
	if since.IsZero() {
		return 0
	}
	return p.mu.clock.Now().Sub(since)
}

// ended notes a request that is over, and how many objects it has brought.
func (r *Requests) ended(took time.Duration, objects int, failed bool) {
	r.Ended++
	if failed {
		r.Failed++
	}
	r.Total, r.Longest, r.Last = r.Total+took, max(r.Longest, took), took
	r.Objects += int64(objects)
}

// tookOver notes that the whole state was asked for, in that mode. One that was given up because
// the reflector stops does not count.
func (p *Report) tookOver(mode Mode, took time.Duration, objects int, err error) {
	if errors.Is(err, errStopped) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	requests := &p.mu.history.Lists
	if mode == ByWatchList {
		requests = &p.mu.history.Streams
	}
	requests.ended(took, objects, err != nil)
}

// watchEnded notes that a watch was followed up to err.
func (p *Report) watchEnded(took time.Duration, events int, err error) {
	reason := endReason(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	known := &p.mu.history
	known.Watches.ended(took, events, !isOrdinary(err))
	count(&known.WatchEnds, reason, 1)
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

// isOrdinary reports whether a watch that ends so is none that failed.
func isOrdinary(err error) bool {
	return errors.Is(err, errStopped) || errors.Is(err, errClosed) || errors.Is(err, errIdle)
}

// endReason says in a word why a watch has ended.
func endReason(err error) string {
	var doubt *tap.Doubt
	var resync *resyncError
	var short *clientgo.VeryShortWatchError
	switch {
	case errors.Is(err, errStopped):
		return "stopped"
	case errors.Is(err, errClosed):
		return "closed"
	case errors.Is(err, errIdle):
		return "idle"
	case errors.As(err, &doubt):
		return "decoding"
	case errors.As(err, &resync):
		return "resync"
	case errors.As(err, &short):
		return "very-short"
	case isExpired(err):
		return "expired"
	case apierrors.IsTooManyRequests(err):
		return "throttled"
	case isInternalError(err):
		return "internal-error"
	case isOutOfReach(err):
		return "connection"
	default:
		return "error"
	}
}
