// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"fmt"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/clock"
)

// machine runs a reflector through its phases. A round begins with a list or a watch-list, and ends
// when only a new list can help:
//
//	           ┌── refused version, broken stream (fewer than 3)
//	           ▼  │
//	opening ▶ streaming ──── end mark ───▶ watching ◀─┐
//	   │       │   ▲                        │  ▲  └───┘ closed by the server, retried internal error
//	   │       │   └─ BackingOff (429, no   │  │
//	   │       │      connection)           │  └─ BackingOff (429, no connection)
//	   │       ▼ any other error (*)        │
//	   └────▶ listing ─── published ────────┘
//	           │                            │ any other error
//	           └── error ──▶ round over ◀───┘
//	                             │
//	                  run: BackingOff, then opening     ListAndWatch: stopped
//	                  (watching, if a watch was closed at once)
//
//	(*) after BackingOff if the server has asked to wait
//
// When the context ends, every phase leads to stopped. One goroutine runs the machine. Methods of
// round do the work of a phase; step selects the next phase.
type machine struct {
	round round
	phase Phase
	pause pause
	// roundOver returns the phase that follows a round. err is nil if the round ended without one.
	roundOver func(ctx context.Context, err error) Phase
}

// pause describes a BackingOff: its length, its clock, whether an answer of the server to another
// reflector ends it early (wakes), and the phase that follows.
type pause struct {
	clock  clock.Clock
	length time.Duration
	wakes  bool
	resume Phase
}

func newMachine(state *persistentState) *machine {
	reader := &state.reader
	reader.timers = newTimers(&reader.options)
	state.become(short, false)
	return &machine{round: round{state: state, reader: reader, options: &reader.options, timers: &reader.timers}, phase: state.begin()}
}

// begin acquires what the machine holds while it runs, and returns the function that releases it.
func (m *machine) begin() (end func()) {
	endLists := m.round.state.lists.Begin()
	return func() {
		defer endLists()
		defer m.round.timers.outage.end()
		defer m.round.timers.hang.alarm.disarm()
		m.round.close()
	}
}

// step does the work of the current phase and moves to the next one. It returns at once when ctx
// ends.
func (m *machine) step(ctx context.Context) {
	if ctx.Err() != nil {
		m.phase = Stopped
	}
	m.round.options.Journal.enter(m.phase)
	m.phase = m.phaseAfter(ctx, m.work(ctx))
}

// work does the work of the current phase.
func (m *machine) work(ctx context.Context) outcome {
	switch m.phase {
	case Listing:
		return m.round.list(ctx)
	case Streaming:
		return m.round.streamList(ctx)
	case Watching:
		return m.round.watch(ctx)
	case BackingOff:
		return m.backOff(ctx)
	default:
		return goOn(Stopped)
	}
}

// phaseAfter returns the phase after an outcome.
func (m *machine) phaseAfter(ctx context.Context, o outcome) Phase {
	switch {
	case o.next == "":
		m.round.close()
		return m.roundOver(ctx, o.err)
	case o.after:
		return m.resumeLater(ctx, o.next, o.err)
	default:
		return o.next
	}
}

// stepOrCrash is step for Run. A panic is reported and repeated, as elsewhere in Kubernetes; if the
// process is configured to survive panics, the round ends and another one follows.
func (m *machine) stepOrCrash(ctx context.Context) {
	returned := false
	defer func() {
		if !returned {
			m.round.close()
			m.phase = m.restAfterRound(m.round.options.Delay(), false)
		}
	}()
	defer utilruntime.HandleCrashWithContext(ctx, m.panicked)
	m.step(ctx)
	returned = true
}

// panicked records a panic in a step: of the ListerWatcher or of another function of the user's.
func (m *machine) panicked(ctx context.Context, p any) {
	err, ok := p.(error)
	if !ok {
		err = fmt.Errorf("%v", p)
	}
	m.round.state.again = againPanic
	m.round.options.Journal.failed(fmt.Errorf("%w while %s: %w", errPanic, m.phase, err))
	m.round.state.degraded.begin(ctx, m.round.options, time.Now(), stateDegraded, againPanic)
}

// scheduleRound is the roundOver of Run. It reports err, and schedules another round unless the
// Decision stops the reflector.
func (m *machine) scheduleRound(ctx context.Context, err error) Phase {
	decision := m.round.state.decideOn(ctx, err)
	if err != nil {
		m.round.state.announce(ctx, err, decision)
	}
	if decision.Stop {
		m.round.state.giveUp(ctx, err)
		return Stopped
	}
	if m.round.state.is(unserved) && decision.After == 0 && !asksToWait(err) {
		return m.restAfterRound(0, false) // the pause came before the watch
	}
	return m.restAfterRound(m.round.state.delayAfter(err, decision))
}

// restAfterRound schedules another round after length. It uses real time, as client-go does: a test
// that steps a fake clock for resyncs does not delay rounds.
func (m *machine) restAfterRound(length time.Duration, wakes bool) Phase {
	m.pause = pause{clock: clock.RealClock{}, length: length, wakes: wakes, resume: m.round.state.begin()}
	if m.pause.resume == Watching {
		m.round.timers.resync.begin()
	}
	return BackingOff
}

// resumeLater schedules the phase resume, in the same round, after the backoff.
func (m *machine) resumeLater(ctx context.Context, resume Phase, err error) Phase {
	decision := m.round.state.decideOn(ctx, err)
	if decision.Stop {
		m.round.state.giveUp(ctx, err)
		return Stopped
	}
	length, wakes := m.round.state.delayAfter(err, decision)
	m.pause = pause{clock: m.round.options.Clock, length: length, wakes: wakes, resume: resume}
	return BackingOff
}

// backOff waits for the pause. If a relist was requested meanwhile, it replaces a watch that was to
// follow.
func (m *machine) backOff(ctx context.Context) outcome {
	timer := m.pause.clock.NewTimer(m.pause.length)
	defer timer.Stop()
	m.round.timers.outage.member.woken.Store(false)
	if m.pause.wakes {
		defer m.round.timers.outage.waits(timer, m.pause.length, m.pause.resume != Watching)()
	}
	if _, err := await(ctx, m.round.timers, timer.C()); err != nil {
		return m.round.interrupted(ctx, err)
	}
	if m.pause.resume == Watching && m.round.options.Relister.isWanted() {
		m.round.close()
		m.round.state.again = againAsked
		m.round.state.become(short, false)
		return goOn(m.round.state.begin())
	}
	return goOn(m.pause.resume)
}
