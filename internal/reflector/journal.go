// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

// Journal is what a reflector tells about itself. The machine writes it, anybody reads it, and it
// is there before the reflector is, so that an informer that was not started has one too.
type Journal struct {
	decoding tap.Ledger
	Ended    chan struct{} // closed when nothing more comes into the store, or it is known that nothing ever does

	mu struct {
		sync.Mutex
		pages
		given given
	}
}

// pages are what is written in a journal.
type pages struct {
	clock   clock.Clock
	Status       // but for ages, and what depends on the rest
	History      // but for bytes
	counted bool // whether there was a failure since the last wait

	asked    string    // the kind of the request in hand that may hang; "": there is none
	askedAt  time.Time // when it was
	followed time.Time // since when bookmarks are due; zero: there is no watch
	heldUp   bool      // the sink has no room
}

func NewJournal() *Journal {
	j := &Journal{Ended: make(chan struct{})}
	j.mu.clock, j.mu.Phase = clock.RealClock{}, Unstarted
	return j
}

func (j *Journal) setGiven(of given) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.mu.given = of
}

// Target returns what the first request has asked for. If nobody has told, or before that, it returns what
// was given.
func (j *Journal) Target() tap.Target {
	if asked := j.decoding.Target(); !asked.IsZero() {
		return asked
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.given.target
}

// Server is whom the first request has asked, "" if nobody has told.
func (j *Journal) Server() string { return j.Target().Server }

// Name is what logs and errors call the objects.
func (j *Journal) Name() string {
	target := j.Target()
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.given.name(target)
}

// Successor returns an empty journal for a reflector that takes the place of this one's. Who waits
// for the end of one waits for that of the other; only the successor may still be ended.
func (j *Journal) Successor() *Journal {
	next := NewJournal()
	if !j.HasEnded() {
		next.Ended = j.Ended
	}
	return next
}

// write makes an entry, which calls nothing of the user's.
func (j *Journal) write(entry func(p *pages)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	entry(&j.mu.pages)
}

// Status returns what is to be told now.
func (j *Journal) Status() Status {
	j.mu.Lock()
	defer j.mu.Unlock()
	s, now := j.mu.Status, j.mu.clock.Now()
	age := func(since time.Time) time.Duration {
		if since.IsZero() {
			return 0
		}
		return now.Sub(since)
	}
	hang, _ := j.hangLocked()
	s.Age, s.FailingFor = age(s.Since), age(j.mu.failingSince(hang))
	s.Hangs, s.HangsFor = hang.what, age(hang.since)
	outage := j.mu.lastOutage()
	s.OutageAt, s.Outage, s.OutOfReach = outage.Began, outage.Length, !outage.Began.IsZero() && !outage.Over
	if !s.ListUntil.After(now) {
		s.ListUntil = time.Time{}
	}
	s.Decoding, s.Transport = j.decoding.State(), j.decoding.Host() != ""
	return s
}

// SharesParts reports whether decoded objects may have parts that those of other reflectors have,
// too.
func (j *Journal) SharesParts() bool {
	decoding := j.Status().Decoding
	return decoding.Shares && decoding.Decoded > 0
}

// History returns what is to be told now.
func (j *Journal) History() History {
	j.mu.Lock()
	defer j.mu.Unlock()
	h := j.mu.History
	h.ListBytes, h.WatchBytes = j.decoding.Bytes()
	h.Relists, h.WatchEnds, h.Drops = maps.Clone(h.Relists), maps.Clone(h.WatchEnds), maps.Clone(h.Drops)
	h.Errors, h.Outages, h.Past = slices.Clone(h.Errors), slices.Clone(h.Outages), slices.Clone(h.Past)
	if n := len(h.Outages); n > 0 {
		h.Outages[n-1] = h.lastOutage()
	}
	return h
}

// enter notes what the reflector does from now on. After the end that is of no interest: one that is
// not waited for may go on for a moment.
func (j *Journal) enter(phase Phase) {
	j.write(func(p *pages) {
		if !j.HasEnded() {
			p.enter(phase)
		}
	})
}

func (p *pages) enter(phase Phase) {
	if phase != p.Phase {
		p.Phase, p.Since = phase, p.clock.Now()
	}
	p.asked = ""
	p.hold(false)
	switch phase {
	case BackingOff:
		p.counted = false
	case Listing:
		p.Mode = ByList
	case Streaming:
		p.Mode = ByWatchList
	}
	if phase != Watching && phase != BackingOff {
		p.followed = time.Time{}
	}
}

// hold notes whether the sink has no room, so that nobody reads the watch.
func (p *pages) hold(up bool) {
	if p.heldUp && !up {
		p.followed = p.clock.Now()
	}
	p.heldUp = up
}

// failed notes a request, or the following of a watch, that ended with err. What fails without a
// wait in between, as a list after the watch-list that it replaces, is one failure.
func (j *Journal) failed(err error) {
	err = event.Kept(err)
	text := notedText(err)
	j.write(func(p *pages) {
		hang, _ := j.hangLocked()
		p.FailingSince = cmp.Or(p.failingSince(hang), p.clock.Now())
		p.note(err, text)
		p.asked = ""
		if !p.counted {
			p.counted = true
			p.Failures++
		}
	})
}

// note notes an error, and what it says.
func (p *pages) note(err error, text string) {
	p.Err, p.ErrAt = err, p.clock.Now()
	p.noteError(text, p.ErrAt)
}

// failingSince returns since when requests have failed or hung; zero: they do not.
func (p *pages) failingSince(hang awaited) time.Time {
	if since := p.FailingSince; hang.what == "" || !since.IsZero() && since.Before(hang.since) {
		return since
	}
	return hang.since
}

// succeeded notes that a watch is open, on a published state.
func (j *Journal) succeeded() {
	j.write(func(p *pages) {
		if p.followed.IsZero() || p.Failures > 0 { // else silence goes on from one watch to the next
			p.followed = p.clock.Now()
		}
		p.Failures, p.counted, p.FailingSince = 0, false, time.Time{}
	})
}

// ended notes a request that is over.
func (j *Journal) ended(past Past) { j.write(func(p *pages) { p.noteRequest(past, p.clock.Now()) }) }

// Refuse notes that what the journal is about cannot run, because of err.
func (j *Journal) Refuse(err error) {
	text := notedText(err)
	j.write(func(p *pages) {
		p.Unfit = err
		p.note(err, text)
		j.endLocked()
	})
}

// End notes that what the reflector has brought is processed, and no more comes.
func (j *Journal) End() {
	j.write(func(p *pages) {
		p.enter(Stopped)
		j.endLocked()
	})
}

func (j *Journal) endLocked() {
	if !j.HasEnded() {
		close(j.Ended)
	}
}

// HasEnded reports whether End or Refuse was called.
func (j *Journal) HasEnded() bool {
	select {
	case <-j.Ended:
		return true
	default:
		return false
	}
}

// awaitedLocked returns what is awaited of the request in hand, and besides of the watch: a
// bookmark, if any has ever come, also from the next watch. None is due while requests fail, or the
// sink has no room.
func (j *Journal) awaitedLocked() (all []awaited) {
	p := &j.mu.pages
	switch p.asked {
	case KindList:
		limit := unseenLimit
		at, seen := j.decoding.Received()
		if seen {
			limit = hangLimit
		}
		all = append(all, awaited{"a list", latest(p.askedAt, at), limit})
	case KindWatchList:
		all = append(all, awaited{"a watch-list", latest(p.askedAt, p.HeardAt), hangLimit})
	case KindWatch:
		all = append(all, awaited{"the opening of a watch", p.askedAt, hangLimit})
	}
	if p.followed.IsZero() || !p.Bookmarked || p.Failures > 0 {
		return all
	}
	heard := latest(p.followed, p.HeardAt)
	if p.heldUp {
		heard = p.clock.Now()
	}
	return append(all, awaited{"the watch", heard, bookmarkLimit})
}

// hangLocked returns what hangs, the request if both do, since the older sign of life, and when it
// is worth looking again; 0: not before something is asked for.
func (j *Journal) hangLocked() (hang awaited, again time.Duration) {
	now := j.mu.clock.Now()
	for _, a := range j.awaitedLocked() {
		switch left := a.limit - now.Sub(a.since); {
		case left > 0 && (again == 0 || left < again):
			again = left
		case left > 0:
		case hang.what == "":
			hang = a
		case a.since.Before(hang.since):
			hang.since = a.since
		}
	}
	if j.mu.asked == KindList {
		again = min(again, hangLimit) // its bytes may come to be seen
	}
	return hang, again
}

func (j *Journal) hang() (hang awaited, again time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.hangLocked()
}

const (
	// hangLimit is how long a list may bring no byte, and a watch may take to open: kube-apiserver
	// itself ends a list after a minute, and answers a watch at once.
	hangLimit = time.Minute
	// unseenLimit is how long a page of a list may take whose bytes nobody sees: long enough for
	// one that arrives, however slowly.
	unseenLimit = 5 * time.Minute
	// bookmarkLimit is how long a watch may bring nothing, if bookmarks have come before: servers
	// send one each minute.
	bookmarkLimit = 5 * time.Minute
)

// awaited is what a server has to send next. It hangs if it should have come by now.
type awaited struct {
	what  string        // it belongs to, in words
	since time.Time     // the last sign of life
	limit time.Duration // of the time since then
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
