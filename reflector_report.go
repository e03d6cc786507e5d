// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// reflectorStatus is what a reflector does, and how well that goes, at a moment.
type reflectorStatus struct {
	phase reflectorPhase
	since time.Time // when phase began; zero: it was not run
	age   time.Duration
	mode  reflectorMode // of the last request for the whole state; byChoice: there was none

	unfit     error     // why there is nothing to be run; nil: there is
	stopped   bool      // by a decision
	err       error     // the last one, kept when requests succeed again
	errAt     time.Time // when it came
	failures  int       // since the last success, those between two waits being one
	refused   bool      // the server did not know the position
	silent    bool      // the idle watchdog gave up a watch, and nothing has come since
	listUntil time.Time // until then LIST replaces watch-lists; zero: it does not

	// The server is, or was last, out of reach from outageAt on, for outage; zero: never.
	outageAt   time.Time
	outage     time.Duration
	outOfReach bool // it is
	reconnects int64

	lists, watches int64     // requests, each page of a list one, watch-lists among the watches
	heardAt        time.Time // when the last watch event or bookmark came; zero: none yet
	heardAge       time.Duration

	left    int64  // list items and watch events that were left out, so far
	leftNow int64  // those of them since the whole state was last asked for
	leftWhy string // the reason of the last of these
}

// reflectorReport is what a reflector tells about itself. The machine writes it, anybody reads it, and it is there before
// the reflector is, so that an informer that was not started has one too.
type reflectorReport struct {
	heard   atomic.Int64  // UnixNano of the last watch event or bookmark; 0: none yet
	lists   atomic.Int64  // LIST requests, each page one
	watches atomic.Int64  // watch requests, watch-lists included
	ended   chan struct{} // closed when nothing more comes into the store, or it is known that nothing ever does

	mu struct {
		sync.Mutex
		clock     clock.Clock
		known     reflectorStatus // but for ages, what the atomics count, and what depends on these
		counted   bool            // whether there was a failure since the last wait
		over      bool            // ended is closed
		outageEnd time.Time       // zero while the server is out of reach
		silentAt  time.Time       // when the idle watchdog last gave up a watch
	}
}

func newReflectorReport() *reflectorReport {
	p := &reflectorReport{ended: make(chan struct{})}
	p.mu.clock, p.mu.known.phase = clock.RealClock{}, unstarted
	return p
}

// status returns what is to be told now.
func (p *reflectorReport) status() reflectorStatus {
	p.mu.Lock()
	defer p.mu.Unlock()
	s, now := p.mu.known, p.mu.clock.Now()
	s.lists, s.watches = p.lists.Load(), p.watches.Load()
	if !s.since.IsZero() {
		s.age = now.Sub(s.since)
	}
	heard := p.heard.Load()
	if heard != 0 {
		s.heardAt = time.Unix(0, heard)
		s.heardAge = now.Sub(s.heardAt)
	}
	s.silent = !p.mu.silentAt.IsZero() && p.mu.silentAt.UnixNano() > heard
	if !s.listUntil.After(now) {
		s.listUntil = time.Time{}
	}
	s.outage, s.outOfReach = p.outageLocked()
	return s
}

// outageLocked returns how long the last outage was, or is so far, and whether it is still on.
func (p *reflectorReport) outageLocked() (length time.Duration, on bool) {
	switch began := p.mu.known.outageAt; {
	case began.IsZero():
		return 0, false
	case p.mu.outageEnd.IsZero():
		return time.Since(began), true
	default:
		return p.mu.outageEnd.Sub(began), false
	}
}

// attach is called by the reflector that the report is about.
func (p *reflectorReport) attach(c clock.Clock) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.clock = c
}

func (p *reflectorReport) enter(phase reflectorPhase) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if known := &p.mu.known; phase != known.phase {
		known.phase, known.since = phase, p.mu.clock.Now()
	}
	switch phase {
	case backingOff:
		p.mu.counted = false
	case listing:
		p.mu.known.mode = byList
	case streaming:
		p.mu.known.mode = byWatchList
	}
}

// event notes that the server was heard of at now.
func (p *reflectorReport) event(now time.Time) { p.heard.Store(now.UnixNano()) }

// failed notes a request, or the following of a watch, that ended with err. What fails without a wait in between, as a list
// after the watch-list that it replaces, is one failure.
func (p *reflectorReport) failed(err error) {
	err = kept(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.err, p.mu.known.errAt = err, p.mu.clock.Now()
	if !p.mu.counted {
		p.mu.counted = true
		p.mu.known.failures++
	}
}

// succeeded notes that a watch is open, on a published state.
func (p *reflectorReport) succeeded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.failures, p.mu.counted = 0, false
}

// outOfReach notes that the server was found out of reach.
func (p *reflectorReport) outOfReach(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.outageAt, p.mu.outageEnd = now, time.Time{}
}

// inReach notes the end of an outage, because the server has answered or nobody asks it any more, and returns how long it was.
func (p *reflectorReport) inReach(now time.Time, answered bool) (outage time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.outageEnd = now; answered {
		p.mu.known.reconnects++
	}
	return now.Sub(p.mu.known.outageAt)
}

// takesOver notes that the whole state is asked for.
func (p *reflectorReport) takesOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.leftNow = 0
}

// dropped notes n list items or watch events that were left out.
func (p *reflectorReport) dropped(n int64, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.left += n
	p.mu.known.leftNow += n
	p.mu.known.leftWhy = why.Error()
}

func (p *reflectorReport) refusal(refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.refused = refused
}

// preferLists notes that LIST replaces watch-lists up to until.
func (p *reflectorReport) preferLists(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.listUntil = until
}

// silent notes that the idle watchdog gave up a watch.
func (p *reflectorReport) silent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.silentAt = p.mu.clock.Now()
}

// giveUp notes that a decision stopped the reflector because of err.
func (p *reflectorReport) giveUp(err error) {
	err = kept(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.err, p.mu.known.stopped, p.mu.known.phase, p.mu.known.since = err, true, stopped, p.mu.clock.Now()
}

// attempts returns how many errors there were since the last success.
func (p *reflectorReport) attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.known.failures
}

// refuse notes that what the report is about cannot run, because of err.
func (p *reflectorReport) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.known.unfit, p.mu.known.err, p.mu.known.errAt = err, err, p.mu.clock.Now()
	p.endLocked()
}

// cause returns the error that keeps the reflector from its work, nil if there is none.
func (p *reflectorReport) cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.known.unfit == nil && p.mu.known.failures == 0 {
		return nil
	}
	return p.mu.known.err
}

// end notes that what the reflector has brought is processed, and no more comes.
func (p *reflectorReport) end() {
	p.enter(stopped)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.endLocked()
}

func (p *reflectorReport) endLocked() {
	if !p.mu.over {
		close(p.ended)
		p.mu.over = true
	}
}
