// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
)

// reflectorReport is what a reflector tells about itself. The machine writes it, anybody reads it, and it is there before
// the reflector is, so that an informer that was not started has one too.
type reflectorReport struct {
	heard   atomic.Int64  // UnixNano of the last watch event or bookmark; 0: none yet
	lists   atomic.Int64  // LIST requests, each page one
	watches atomic.Int64  // watch requests, watch-lists included
	ended   chan struct{} // closed when nothing more comes into the store, or it is known that nothing ever does

	mu struct {
		sync.Mutex
		clock    clock.Clock
		phase    Phase
		mode     ListMode
		err      error // the last one, kept when requests succeed again
		errAt    time.Time
		failures int       // since the last success, those between two waits being one
		counted  bool      // whether there was one since the last wait
		refused  bool      // the server did not know the position
		stopped  bool      // by the error policy
		unfit    error     // why there is nothing to be run; nil: there is
		over     bool      // ended is closed
		since    time.Time // when phase began; zero: it was not run

		// The server is, or was last, out of reach from outageAt on, until outageEnd, which is zero while it is.
		outageAt, outageEnd time.Time
		reconnects          int64

		listUntil time.Time // until then LIST replaces watch-lists
		silentAt  time.Time // when the idle watchdog last gave up a watch
		left      int64     // list items and watch events that were left out, so far
		leftNow   int64     // those of them since the whole state was last asked for
		leftWhy   string    // the reason of the last of these
	}
}

func newReflectorReport() *reflectorReport {
	p := &reflectorReport{ended: make(chan struct{})}
	p.mu.clock, p.mu.phase = clock.RealClock{}, PhaseNew
	return p
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
	if next := phase.exported(); next != p.mu.phase {
		p.mu.phase, p.mu.since = next, p.mu.clock.Now()
	}
	switch phase {
	case backingOff:
		p.mu.counted = false
	case listing:
		p.mu.mode = ListModeList
	case streaming:
		p.mu.mode = ListModeWatchList
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
	p.mu.err, p.mu.errAt = err, p.mu.clock.Now()
	if !p.mu.counted {
		p.mu.counted = true
		p.mu.failures++
	}
}

// succeeded notes that a watch is open, on a published state.
func (p *reflectorReport) succeeded() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.failures, p.mu.counted = 0, false
}

// outOfReach notes that the server was found out of reach.
func (p *reflectorReport) outOfReach(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.outageAt, p.mu.outageEnd = now, time.Time{}
}

// inReach notes the end of an outage, because the server has answered or nobody asks it any more, and returns how long it was.
func (p *reflectorReport) inReach(now time.Time, answered bool) (outage time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.outageEnd = now; answered {
		p.mu.reconnects++
	}
	return now.Sub(p.mu.outageAt)
}

// takesOver notes that the whole state is asked for.
func (p *reflectorReport) takesOver() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.leftNow = 0
}

// dropped notes n list items or watch events that were left out.
func (p *reflectorReport) dropped(n int64, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.left += n
	p.mu.leftNow += n
	p.mu.leftWhy = why.Error()
}

func (p *reflectorReport) refusal(refused bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.refused = refused
}

// preferLists notes that LIST replaces watch-lists up to until.
func (p *reflectorReport) preferLists(until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.listUntil = until
}

// silent notes that the idle watchdog gave up a watch.
func (p *reflectorReport) silent() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.silentAt = p.mu.clock.Now()
}

// giveUp notes that the error policy stopped the reflector because of err.
func (p *reflectorReport) giveUp(err error) {
	err = kept(err)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.err, p.mu.stopped, p.mu.phase, p.mu.since = err, true, PhaseStopped, p.mu.clock.Now()
}

// attempts returns how many errors there were since the last success.
func (p *reflectorReport) attempts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.failures
}

// refuse notes that what the report is about cannot run, because of err.
func (p *reflectorReport) refuse(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.unfit, p.mu.err, p.mu.errAt = err, err, p.mu.clock.Now()
	p.endLocked()
}

// cause returns the error that keeps the reflector from its work, nil if there is none.
func (p *reflectorReport) cause() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.unfit == nil && p.mu.failures == 0 {
		return nil
	}
	return p.mu.err
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

func (p reflectorPhase) exported() Phase {
	switch p {
	case listing:
		return PhaseListing
	case streaming:
		return PhaseStreaming
	case watching:
		return PhaseWatching
	case backingOff:
		return PhaseBackingOff
	default:
		return PhaseStopped
	}
}
