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

// machine walks a reflector through its phases. A round is the way from the opening phase to a
// point where only the whole state helps:
//
//	           ┌── refused version, broken stream (fewer than 3)
//	           ▼  │
//	opening ▶ streaming ──── end mark ───▶ watching ◀─┐
//	   │       │   ▲                        │  ▲  └───┘ closed by the server, retried internal error
//	   │       │   └─ BackingOff (429, no   │  │
//	   │       │      connection)           │  └─ BackingOff (429, no connection)
//	   │       ▼ any other error            │
//	   └────▶ listing ─── published ────────┘
//	           │                            │ any other error
//	           └── error ──▶ round over ◀───┘
//	                             │
//	                  run: BackingOff, then opening     ListAndWatch: stopped
//	                  (watching, if a watch was closed at once)
//
// From everywhere the end of the context leads to stopped. One goroutine runs the machine. What is
// done in a phase is the round's; where that leads, step knows.
type machine struct {
	round round
	phase Phase
	pause pause
	// roundOver decides what follows a round that ended with err, or nil.
	roundOver func(ctx context.Context, err error) Phase
}

// pause says how long BackingOff lasts, on which clock, whether it ends sooner if the server
// answers another reflector, and what follows.
type pause struct {
	clock  clock.Clock
	length time.Duration
	wakes  bool
	resume Phase
}

func newMachine(state *memory) *machine {
	reader := &state.reader
	reader.timers, state.short = newTimers(&reader.options), false
	return &machine{round: round{state: state, reader: reader, options: &reader.options, timers: &reader.timers}, phase: state.begin()}
}

// begin begins what lasts as long as the machine runs, and returns what ends it, once the machine stands.
func (m *machine) begin() (end func()) {
	endLists := m.round.state.lists.Begin()
	return func() {
		defer endLists()
		defer m.round.timers.outage.end()
		defer m.round.timers.hang.alarm.disarm()
		m.round.close()
	}
}

// step does the work of the present phase and goes to the next one. It returns at once when ctx
// ends.
func (m *machine) step(ctx context.Context) {
	if ctx.Err() != nil {
		m.phase = Stopped
	}
	m.round.options.Journal.enter(m.phase)
	m.phase = m.phaseAfter(ctx, m.work(ctx))
}

// work does the work of the present phase.
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

// stepOrCrash is step for run: a panic is reported as everywhere in Kubernetes and goes on, unless
// the process is told to survive panics; then the round is over and another one follows.
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

// panicked notes a panic in a step, of the ListerWatcher or another function of the user's.
func (m *machine) panicked(ctx context.Context, p any) {
	err, ok := p.(error)
	if !ok {
		err = fmt.Errorf("%v", p)
	}
	m.round.state.again = againPanic
	m.round.options.Journal.failed(fmt.Errorf("panic while %s: %w", m.phase, err))
	m.round.state.degraded(ctx, againPanic)
}

// scheduleRound is the roundOver of run: the error is made known, and another round follows, unless
// the decision about it is otherwise.
func (m *machine) scheduleRound(ctx context.Context, err error) Phase {
	decision := m.round.state.decideOn(ctx, err)
	if err != nil {
		m.round.state.announce(ctx, err, decision)
	}
	if decision.Stop {
		m.round.state.giveUp(ctx, err)
		return Stopped
	}
	if m.round.state.unserved && decision.After == 0 {
		return m.restAfterRound(0, false) // it has waited before the watch
	}
	return m.restAfterRound(m.round.state.delayAfter(err, decision))
}

// restAfterRound leads to another round after length, on real time as in client-go: whoever steps a
// fake clock for resyncs does not wait for rounds with it.
func (m *machine) restAfterRound(length time.Duration, wakes bool) Phase {
	m.pause = pause{clock: clock.RealClock{}, length: length, wakes: wakes, resume: m.round.state.begin()}
	if m.pause.resume == Watching {
		m.round.timers.resync.begin()
	}
	return BackingOff
}

// resumeLater leads to the phase resume after the backoff, within the round.
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

// backOff waits for the pause. A watch that was to follow gives way to a wish for the whole state.
func (m *machine) backOff(ctx context.Context) outcome {
	timer := m.pause.clock.NewTimer(m.pause.length)
	defer timer.Stop()
	m.round.timers.outage.member.woken.Store(false)
	if m.pause.wakes {
		defer m.round.timers.outage.waits(timer, m.pause.length)()
	}
	if _, err := await(ctx, m.round.timers, timer.C()); err != nil {
		return m.round.interrupted(ctx, err)
	}
	if m.pause.resume == Watching && m.round.options.Relister.isWanted() {
		m.round.close()
		m.round.state.again, m.round.state.short = againAsked, false
		return goOn(m.round.state.begin())
	}
	return goOn(m.pause.resume)
}
