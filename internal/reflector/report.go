// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

// Status is what a reflector does, and how well that goes, at a moment.
type Status struct {
	Phase Phase
	Since time.Time // when phase began; zero: it was not run
	Age   time.Duration
	Mode  Mode // of the last request for the whole state; ByChoice: there was none

	Unfit     error     // why there is nothing to be run; nil: there is
	Stopped   bool      // by a decision
	Err       error     // the last one, kept when requests succeed again
	ErrAt     time.Time // when it came
	Failures  int       // since the last success, those between two waits being one
	Refused   bool      // the server did not know the position
	Silent    bool      // the idle watchdog gave up a watch, and nothing has come since
	ListUntil time.Time // until then LIST replaces watch-lists; zero: it does not

	Hangs    string        // the request that does, in words; "": none
	HangsFor time.Duration // since the last sign of life

	// The reflector is, or was last, blind from OutageAt on, for Outage, because its server was out
	// of reach; zero: never.
	OutageAt   time.Time
	Outage     time.Duration
	OutOfReach bool // it is
	Reconnects int64

	Lists, Watches int64     // requests, each page of a list one, watch-lists among the watches
	HeardAt        time.Time // when the last watch event or bookmark came; zero: none yet
	HeardAge       time.Duration

	Left    int64  // list items and watch events that were left out, so far
	LeftNow int64  // those of them since the whole state was last asked for
	LeftWhy string // the reason of the last of these

	Decoding tap.State
}

// Report is what a reflector tells about itself. The machine writes it, anybody reads it, and it is
// there before the reflector is, so that an informer that was not started has one too.
type Report struct {
	made     time.Time
	heard    atomic.Int64 // when the last watch event or bookmark came, in nanoseconds after made; 0: none yet. Written by the reader
	lists    atomic.Int64 // LIST requests, each page one
	watches  atomic.Int64 // watch requests, watch-lists included
	events   atomic.Int64 // of watches and watch-lists, added to once a batch. Written by the reader
	decoding tap.Ledger
	// bookmarked says that a watch has brought a bookmark, so that silence means something.
	bookmarked atomic.Bool
	Ended      chan struct{} // closed when nothing more comes into the store, or it is known that nothing ever does

	mu struct {
		sync.Mutex
		clock     clock.Clock
		known     Status    // but for ages, what the atomics count, and what depends on these
		counted   bool      // whether there was a failure since the last wait
		over      bool      // ended is closed
		outageEnd time.Time // zero while it is blind
		silentAt  time.Time // when the idle watchdog last gave up a watch
		history   History   // but for Events and bytes

		asked    string    // the kind of the request in hand that may hang; "": there is none
		askedAt  time.Time // when it was
		followed time.Time // since when bookmarks are due; zero: there is no watch
		heldUp   bool      // the sink has no room
	}
}

func NewReport() *Report {
	p := &Report{made: time.Now(), Ended: make(chan struct{})}
	p.mu.clock, p.mu.known.Phase = clock.RealClock{}, Unstarted
	return p
}

// Status returns what is to be told now.
func (p *Report) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, now := p.mu.known, p.mu.clock.Now()
	s.Lists, s.Watches = p.lists.Load(), p.watches.Load()
	s.Decoding = p.decoding.State()
	if !s.Since.IsZero() {
		s.Age = now.Sub(s.Since)
	}
	if s.HeardAt = p.heardAt(); !s.HeardAt.IsZero() {
		s.HeardAge = now.Sub(s.HeardAt)
	}
	s.Silent = p.mu.silentAt.After(s.HeardAt)
	if hang, _ := p.hangLocked(); hang.what != "" {
		s.Hangs, s.HangsFor = hang.what, now.Sub(hang.since)
	}
	if !s.ListUntil.After(now) {
		s.ListUntil = time.Time{}
	}
	s.Outage, s.OutOfReach = p.outageLocked()
	return s
}

// History returns what is to be told now.
func (p *Report) History() History {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.mu.history
	h.Events = p.events.Load()
	h.ListBytes, h.WatchBytes = p.decoding.Bytes()
	h.Relists, h.WatchEnds, h.Drops = maps.Clone(h.Relists), maps.Clone(h.WatchEnds), maps.Clone(h.Drops)
	h.Errors, h.Outages, h.Past = slices.Clone(h.Errors), slices.Clone(h.Outages), slices.Clone(h.Past)
	if length, on := p.outageLocked(); on && len(h.Outages) > 0 {
		h.Outages[len(h.Outages)-1].Length = length
	}
	return h
}

// FailingFor returns for how long requests have failed or hung, 0 if they do not.
func (p *Report) FailingFor() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	since := p.failingSinceLocked()
	if since.IsZero() {
		return 0
	}
	return p.mu.clock.Now().Sub(since)
}

// failingSinceLocked returns since when requests have failed or hung; zero: they do not.
func (p *Report) failingSinceLocked() time.Time {
	since := p.mu.history.FailingSince
	if hang, _ := p.hangLocked(); hang.what != "" && (since.IsZero() || hang.since.Before(since)) {
		return hang.since
	}
	return since
}

// outageLocked returns how long the last outage was, or is so far, and whether it is still on.
func (p *Report) outageLocked() (length time.Duration, on bool) {
	switch began := p.mu.known.OutageAt; {
	case began.IsZero():
		return 0, false
	case p.mu.outageEnd.IsZero():
		return time.Since(began), true
	default:
		return p.mu.outageEnd.Sub(began), false
	}
}

// isBlind reports whether the server was out of reach and the reflector is not fresh since.
func (p *Report) isBlind() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, on := p.outageLocked()
	return on
}

// attach is called by the reflector that the report is about.
func (p *Report) attach(c clock.Clock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.clock = c
}

func (p *Report) enter(phase Phase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := &p.mu.known; phase != known.Phase {
		known.Phase, known.Since = phase, p.mu.clock.Now()
	}
	p.mu.asked = ""
	p.holdsUpLocked(false)
	switch phase {
	case BackingOff:
		p.mu.counted = false
	case Listing:
		p.mu.known.Mode = ByList
	case Streaming:
		p.mu.known.Mode = ByWatchList
	}
	if phase != Watching && phase != BackingOff {
		p.mu.followed = time.Time{}
	}
}

// failed notes a request, or the following of a watch, that ended with err. What fails without a
// wait in between, as a list after the watch-list that it replaces, is one failure.
func (p *Report) failed(err error) {
	err = event.Kept(err)
	text := notedText(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.mu.clock.Now()
	p.mu.known.Err, p.mu.known.ErrAt = err, now
	p.mu.history.noteError(text, now)
	if p.mu.history.FailingSince = p.failingSinceLocked(); p.mu.history.FailingSince.IsZero() {
		p.mu.history.FailingSince = now
	}
	p.mu.asked = ""
	if !p.mu.counted {
		p.mu.counted = true
		p.mu.known.Failures++
	}
}

// succeeded notes that a watch is open, on a published state.
func (p *Report) succeeded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.followed.IsZero() || p.mu.known.Failures > 0 { // else silence goes on from one watch to the next
		p.mu.followed = p.mu.clock.Now()
	}
	p.mu.known.Failures, p.mu.counted = 0, false
	p.mu.history.FailingSince = time.Time{}
}

// OutOfReach notes that the server was found out of reach.
func (p *Report) outOfReach(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.OutageAt, p.mu.outageEnd = now, time.Time{}
	p.mu.history.outageBegan(now)
}

// inReach notes the end of an outage, because the reflector is fresh again, or ends.
func (p *Report) inReach(now time.Time, fresh bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.outageEnd = now; fresh {
		p.mu.known.Reconnects++
	}
	p.mu.history.outageOver(now)
}

// takesOver notes that the whole state is asked for, again if there is a reason.
func (p *Report) takesOver(again string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.known.LeftNow = 0; again != "" {
		count(&p.mu.history.Relists, again, 1)
	}
}

// tookOver notes that the whole state was asked for, in that mode. One that was given up because
// the reflector stops does not count.
func (p *Report) tookOver(mode Mode, took time.Duration, objects int, err error) {
	if errors.Is(err, errStopped) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := KindList
	if mode == ByWatchList {
		kind = KindWatchList
	}
	p.mu.history.passed(Past{Kind: kind, Took: took, Objects: objects, Failed: err != nil}, p.mu.clock.Now())
}

// watchEnded notes that a watch is over that was followed, and why.
func (p *Report) watchEnded(took time.Duration, events int, reason string, failed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := &p.mu.history
	known.passed(Past{Kind: KindWatch, Took: took, Objects: events, Failed: failed, Reason: reason}, p.mu.clock.Now())
	count(&known.WatchEnds, reason, 1)
}

// dropped notes n list items or watch events that were left out, for that reason among others, and
// how many of what kind.
func (p *Report) dropped(n int64, why error, kinds map[string]int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.Left += n
	p.mu.known.LeftNow += n
	p.mu.known.LeftWhy = why.Error()
	for kind, n := range kinds {
		count(&p.mu.history.Drops, kind, n)
	}
}

// refused notes a change that the sink did not take.
func (p *Report) refused() {
	p.mu.Lock()
	defer p.mu.Unlock()
	count(&p.mu.history.Drops, dropRefused, 1)
}

// waits notes that the last error is one to wait through, and no failure.
func (p *Report) waits() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.history.FailingSince = time.Time{}
}

func (p *Report) refusal(refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.Refused = refused
}

// preferLists notes that LIST replaces watch-lists up to until.
func (p *Report) preferLists(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.ListUntil = until
}

// silent notes that the idle watchdog gave up a watch.
func (p *Report) silent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.silentAt = p.mu.clock.Now()
}

// GiveUp notes that a decision stopped the reflector because of err.
func (p *Report) giveUp(err error) {
	err = event.Kept(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.Err, p.mu.known.Stopped, p.mu.known.Phase, p.mu.known.Since = err, true, Stopped, p.mu.clock.Now()
}

// attempts returns how many errors there were since the last success.
func (p *Report) attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.known.Failures
}

// Refuse notes that what the report is about cannot run, because of err.
func (p *Report) Refuse(err error) {
	text := notedText(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.mu.clock.Now()
	p.mu.known.Unfit, p.mu.known.Err, p.mu.known.ErrAt = err, err, now
	p.mu.history.noteError(text, now)
	p.endLocked()
}

// Cause returns the error that keeps the reflector from its work, nil if there is none.
func (p *Report) Cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.known.Unfit == nil && p.mu.known.Failures == 0 {
		return nil
	}
	return p.mu.known.Err
}

// End notes that what the reflector has brought is processed, and no more comes.
func (p *Report) End() {
	p.enter(Stopped)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked()
}

// HasEnded reports whether End or Refuse was called.
func (p *Report) HasEnded() bool {
	select {
	case <-p.Ended:
		return true
	default:
		return false
	}
}

func (p *Report) endLocked() {
	if !p.mu.over {
		close(p.Ended)
		p.mu.over = true
	}
}

// asks notes that a request of a kind is in hand from now on; "": none that can hang.
func (p *Report) asks(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.asked, p.mu.askedAt = kind, p.mu.clock.Now()
}

// holdsUp notes whether the sink has no room, so that nobody reads the watch.
func (p *Report) holdsUp(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.holdsUpLocked(on)
}

func (p *Report) holdsUpLocked(on bool) {
	if p.mu.heldUp && !on {
		p.mu.followed = p.mu.clock.Now()
	}
	p.mu.heldUp = on
}

// requestLocked returns what is awaited of the request in hand.
func (p *Report) requestLocked() awaited {
	a := awaited{since: p.mu.askedAt, limit: hangLimit}
	switch p.mu.asked {
	case KindList:
		at, seen := p.decoding.Received()
		a.what, a.since = "a list", latest(a.since, at)
		if !seen {
			a.limit = unseenLimit
		}
	case KindWatchList:
		a.what, a.since = "a watch-list", latest(a.since, p.heardAt())
	case KindWatch:
		a.what = "the opening of a watch"
	}
	return a
}

// bookmarkLocked returns what is awaited of a watch besides its opening: a bookmark, if any has
// ever come, also from the next watch. None is due while requests fail, or the sink has no room.
func (p *Report) bookmarkLocked(now time.Time) awaited {
	if p.mu.followed.IsZero() || !p.bookmarked.Load() || p.mu.known.Failures > 0 {
		return awaited{}
	}
	a := awaited{"the watch", latest(p.mu.followed, p.heardAt()), bookmarkLimit}
	if p.mu.heldUp {
		a.since = now
	}
	return a
}

// hangLocked returns what hangs, the request if both do, since the older sign of life, and when it
// is worth looking again; 0: not before something is asked for.
func (p *Report) hangLocked() (hang awaited, again time.Duration) {
	now := p.mu.clock.Now()
	for _, a := range []awaited{p.requestLocked(), p.bookmarkLocked(now)} {
		left := a.limit - now.Sub(a.since)
		switch {
		case a.what == "":
		case !a.hangs(now):
			if again == 0 || left < again {
				again = left
			}
		case hang.what == "":
			hang = a
		case a.since.Before(hang.since):
			hang.since = a.since
		}
	}
	if p.mu.asked == KindList {
		again = min(again, hangLimit) // its bytes may come to be seen
	}
	return hang, again
}

func (p *Report) hang() (hang awaited, again time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hangLocked()
}

// heardAt returns when the last watch event or bookmark came; zero: none yet.
func (p *Report) heardAt() time.Time {
	heard := p.heard.Load()
	if heard == 0 {
		return time.Time{}
	}
	return p.made.Add(time.Duration(heard)) // with a monotonic reading: the wall clock may be set
}
