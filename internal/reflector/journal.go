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

// Journal is the status and history of a reflector. The machine writes it, and any goroutine may
// read it. It exists before its reflector, so that an informer that was not started has one, too.
type Journal struct {
	decoding tap.Ledger
	Ended    chan struct{} // closed once nothing more enters the store: at the end, or if the reflector can never run

	mu struct {
		sync.Mutex
		journalState
	}
}

// journalState is the content of a journal.
type journalState struct {
	of      configured
	clock   clock.Clock
	Status       // without ages and derived fields, see Journal.Status
	History      // without bytes, see Journal.History
	counted bool // whether Failures was incremented since the last wait

	versioned bool          // whether a list, or the end of a watch-list, of this reflector or the one it replaces ever had a version
	asked     string        // the kind of the pending request that may hang; "" if there is none
	askedAt   time.Time     // when it was sent
	followed  time.Time     // since when the watch is read; zero if there is no watch, or the sink has no room
	due       time.Time     // when the server has to have ended the watch; see outlives
	lasts     time.Duration // from the opening of the watch to due
}

func NewJournal() *Journal {
	j := &Journal{Ended: make(chan struct{})}
	j.mu.clock, j.mu.Phase = clock.RealClock{}, Unstarted
	return j
}

// Target returns the target of the first request. Before that request, or if the transport does not
// report it, Target returns the configured one.
func (j *Journal) Target() tap.Target {
	if asked := j.decoding.Target(); !asked.IsZero() {
		return asked
	}
	return j.configured().target
}

// Server returns the server of the first request, or "" if it is not known.
func (j *Journal) Server() string { return j.Target().Server }

// Name returns the name of the objects for logs and errors.
func (j *Journal) Name() string {
	of := j.configured()
	return of.name(j.Target())
}

// OfSource returns an empty journal for the reflector of one of several sources. j is the journal of
// their informer; its target is what the requests of all sources have in common.
func (j *Journal) OfSource(name string) *Journal {
	part := NewJournal()
	part.decoding.BeSource(&j.decoding)
	part.mu.of = j.configured()
	part.mu.of.source = name
	return part
}

// Follow records that the reflector of j, which has not run, replaces that of another journal: its first state
// replaces objects in the store.
func (j *Journal) Follow(former *Journal) {
	var versioned bool
	former.write(func(p *journalState) { versioned = p.versioned })
	j.write(func(p *journalState) { p.versioned = versioned })
}

func (j *Journal) configured() configured {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.of
}

// write changes the journal. entry must not call the user's code.
func (j *Journal) write(entry func(p *journalState)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	entry(&j.mu.journalState)
}

// Status returns the current status.
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
	s.Age, s.FailingFor = age(s.Since), age(earliest(j.mu.FailingSince, hang.since))
	s.Hangs, s.HangsFor = hang.what, age(hang.since)
	if last := j.decoding.Refused(); j.mu.asked != "" && !last.At.Before(j.mu.askedAt) && last.Until.After(now) {
		s.Throttled = last.Until
	}
	s.Confirmed = j.mu.Relists[againLoss]
	s.Outage = j.mu.lastOutage()
	if !s.ListUntil.After(now) {
		s.ListUntil = time.Time{}
	}
	s.Decoding, s.Transport = j.decoding.State(), j.decoding.Host() != ""
	return s
}

// SharesParts reports whether decoded objects may share parts with those of other reflectors.
func (j *Journal) SharesParts() bool {
	decoding := j.Status().Decoding
	return decoding.Shares && decoding.Decoded > 0
}

// History returns the current history.
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

// enter records the phase of the reflector. It does nothing after the end: a reflector that was not
// waited for may run a moment longer.
func (j *Journal) enter(phase Phase) {
	j.write(func(p *journalState) {
		if !j.HasEnded() {
			p.enter(phase)
		}
	})
}

func (p *journalState) enter(phase Phase) {
	if phase != p.Phase {
		p.Phase, p.Since = phase, p.clock.Now()
	}
	p.asked = ""
	if phase != Watching {
		p.follow(false)
	}
	switch phase {
	case BackingOff:
		p.counted = false
	case Listing:
		p.Mode = ByList
	case Streaming:
		p.Mode = ByWatchList
	}
}

// moveTo sets the version.
func (p *journalState) moveTo(version string) { p.Version = version }

// listed sets the version of a list.
func (p *journalState) listed(version string) {
	p.Version, p.versioned = version, p.versioned || version != ""
}

// follow records whether a watch is read from now on.
func (p *journalState) follow(on bool) {
	if p.followed = (time.Time{}); on {
		p.followed = p.clock.Now()
	}
}

// failed records that a request, or a watch, ended with err. Failures without a wait in between,
// such as a watch-list and the list that replaces it, count as one.
func (j *Journal) failed(err error) {
	err = event.Retainable(err)
	text := notedText(err)
	j.write(func(p *journalState) {
		hang, _ := j.hangLocked()
		p.FailingSince = cmp.Or(earliest(p.FailingSince, hang.since), p.clock.Now())
		p.note(err, text)
		p.asked = ""
		if !p.counted {
			p.counted = true
			p.Failures++
		}
	})
}

// note records an error and its text.
func (p *journalState) note(err error, text string) {
	p.Err, p.ErrAt = err, p.clock.Now()
	p.noteError(text, p.ErrAt)
}

// succeeded records that a watch is open, on a published state, and when the server has to have ended it.
func (j *Journal) succeeded(due time.Time, lasts time.Duration) {
	j.write(func(p *journalState) {
		p.follow(true)
		p.due, p.lasts = due, lasts
		p.Failures, p.counted, p.FailingSince = 0, false, time.Time{}
	})
}

// ended records a request that is over.
func (j *Journal) ended(past Past) {
	j.write(func(p *journalState) { p.noteRequest(past, p.clock.Now()) })
}

// Refuse records that the reflector cannot run, because of err, and ends the journal.
func (j *Journal) Refuse(err error) {
	text := notedText(err)
	j.write(func(p *journalState) {
		p.Unfit = err
		p.note(err, text)
		j.endLocked()
	})
}

// Leave records why the reflector is stopped before its informer is. End follows.
func (j *Journal) Leave(reason error) {
	j.write(func(p *journalState) { p.Retired, p.Err, p.ErrAt = reason, reason, p.clock.Now() })
}

// End records that everything the reflector has received is processed, and that nothing follows.
func (j *Journal) End() {
	j.write(func(p *journalState) {
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

// awaitedLocked returns what the server has to send next: the answer to the pending request, or else the end of a watch that has
// outlived its own timeout, if a watch has ever sent a bookmark: a fake may not end its watches. Nothing is due while requests
// fail or the sink has no room. While the server asks to wait, the last sign of life is the end of that time. Of a list it may
// also be later than the clock of Status, because a transport records it meanwhile.
func (j *Journal) awaitedLocked() awaited {
	p := &j.mu.journalState
	answered := p.askedAt
	if last := j.decoding.Refused(); !last.At.Before(p.askedAt) {
		answered = last.Until
	}
	switch p.asked {
	case KindList:
		at, seen := j.decoding.Received()
		a := awaited{"a list", latest(answered, at), unseenLimit}
		if seen {
			a.limit = hangLimit
		}
		return a
	case KindWatchList:
		return awaited{"a watch-list", latest(answered, p.HeardAt), hangLimit}
	case KindWatch:
		return awaited{"the opening of a watch", answered, hangLimit}
	}
	if p.followed.IsZero() || !p.Bookmarked || p.Failures > 0 {
		return awaited{}
	}
	heard := latest(p.followed, p.HeardAt)
	if limit := p.due.Sub(heard); limit > 2*hangLimit { // two of the bookmarks that come each minute are missing then
		return awaited{"the watch", heard, limit}
	}
	return awaited{"the watch", heard, p.lasts} // the server may ignore timeouts, but sends something, such as a bookmark each minute
}

// hangLocked returns what hangs, and the time until the next check, or 0 if no check is needed before the next request.
func (j *Journal) hangLocked() (hang awaited, again time.Duration) {
	a := j.awaitedLocked()
	left := a.limit - j.mu.clock.Now().Sub(a.since)
	switch {
	case a.what == "":
		return awaited{}, 0
	case left <= 0:
		return a, 0
	case j.mu.asked == KindList:
		return awaited{}, min(left, hangLimit) // its bytes may become visible
	default:
		return awaited{}, left
	}
}

func (j *Journal) hang() (hang awaited, again time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.hangLocked()
}

const (
	// hangLimit is how long a list may send no byte, and how long a watch may take to open:
	// kube-apiserver itself ends a list after a minute, and answers a watch at once.
	hangLimit = time.Minute
	// unseenLimit is how long a page of a list may take if its bytes are not visible: long enough
	// for a page that arrives slowly.
	unseenLimit = 5 * time.Minute
	// outlives is how much longer than its TimeoutSeconds a watch may be open: the server ends it.
	outlives = 30 * time.Second
)

// awaited is an answer that a server has to send. It hangs if it is overdue.
type awaited struct {
	what  string        // the name of the request for logs
	since time.Time     // the last sign of life, or the time until which the server asks to wait
	limit time.Duration // for the time since then
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
