// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// reflectorPhase is what a reflector does at a moment, and a state of its machine.
type reflectorPhase string

const (
	// unstarted: nothing was done yet. No machine is in it.
	unstarted reflectorPhase = "new"
	// listing: a LIST is in flight, or waits for its turn; its result replaces the store's content.
	listing reflectorPhase = "listing"
	// streaming: a watch-list stream fills a staging area, which replaces the store's content at the end mark.
	streaming reflectorPhase = "streaming"
	// watching: a watch is being opened or followed; its events go to the store in their order, in
	// batches if it takes those.
	watching reflectorPhase = "watching"
	// backingOff: nothing is in flight; the machine waits for pause.length, then goes to pause.resume.
	backingOff reflectorPhase = "backing off"
	// stopped: the context ended, a decision wants it, or the only round is over. The last state.
	stopped reflectorPhase = "stopped"
)

// machine walks a reflector through its phases. A round is the way from the opening reflectorPhase to a point where only the
// whole state helps:
//
//	           ┌── refused version, broken stream (fewer than 3)
//	           ▼  │
//	opening ▶ streaming ──── end mark ───▶ watching ◀─┐
//	   │       │   ▲                        │  ▲  └───┘ closed by the server, retried internal error
//	   │       │   └─ backingOff (429, no   │  │
//	   │       │      connection)           │  └─ backingOff (429, no connection)
//	   │       ▼ any other error            │
//	   └────▶ listing ─── published ────────┘
//	           │                            │ any other error
//	           └── error ──▶ round over ◀───┘
//	                             │
//	                  run: backingOff, then opening     listAndWatch: stopped
//
// From everywhere the end of the context leads to stopped. One goroutine runs the machine; requests run in goroutines
// of their own (reflector_request.go), and every wait goes through await or follow, which also serve the resync timer.
type machine struct {
	r     *reflector
	phase reflectorPhase
	pause pause
	// roundOver decides what follows a round that ended with err, or nil.
	roundOver func(ctx context.Context, err error) reflectorPhase

	collected collected // what apply has taken and handOver will give
	outage    outage

	// What follows belongs to the round and is reset at its end.

	stream  *stream           // the open watch, in watching only; nil: one has to be opened
	resync  resyncTimer       // armed in the watching part of the round
	retry   RetryWithDeadline // decides about internal errors of watches
	strikes int               // consecutive streams that ended without their end mark
	still   string            // the version of a list that was not newer than the reflector was before; "": it was
}

// pause says how long backingOff lasts, on which clock, and what follows.
type pause struct {
	clock  clock.Clock
	length time.Duration
	resume reflectorPhase
}

func newMachine(r *reflector) *machine {
	return &machine{r: r, phase: r.begin(), resync: resyncTimer{r: r}, outage: outage{r: r}}
}

// step does the work of the present phase and goes to the next one. It returns at once when ctx ends.
func (m *machine) step(ctx context.Context) {
	if ctx.Err() != nil {
		m.phase = stopped
	}
	m.r.report.enter(m.phase)
	switch m.phase {
	case listing:
		m.phase = m.list(ctx)
	case streaming:
		m.phase = m.streamList(ctx)
	case watching:
		m.phase = m.watch(ctx)
	case backingOff:
		m.phase = m.backOff(ctx)
	case stopped:
	}
}

// stepOrCrash is step for run: a panic is reported as everywhere in Kubernetes and goes on, unless the process is told
// to survive panics; then the round is over and another one follows.
func (m *machine) stepOrCrash(ctx context.Context) {
	returned := false
	defer func() {
		if !returned {
			m.close()
			m.phase = m.restAfterRound(m.r.delay())
		}
	}()
	defer utilruntime.HandleCrashWithContext(ctx, m.panicked)
	m.step(ctx)
	returned = true
}

// panicked notes a panic in a step, of the ListerWatcher or another function of the user's.
func (m *machine) panicked(_ context.Context, p any) {
	err, ok := p.(error)
	if !ok {
		err = fmt.Errorf("%v", p)
	}
	m.r.report.failed(fmt.Errorf("panic while %s: %w", m.phase, err))
}

// failed notes a request, or the following of a watch, that ended with err.
func (m *machine) failed(ctx context.Context, err error) {
	m.r.report.failed(err)
	m.outage.note(ctx, err)
}

// connected notes that a watch was opened, and reports whether a server did that.
func (m *machine) connected(ctx context.Context, s *stream) bool {
	if !isConnected(s.watch) {
		m.failed(ctx, errNoConnection)
		return false
	}
	m.outage.over(ctx)
	return true
}

// endRound releases what the round held and asks roundOver what follows.
func (m *machine) endRound(ctx context.Context, err error) reflectorPhase {
	m.close()
	return m.roundOver(ctx, err)
}

// scheduleRound is the roundOver of run: the error is made known, and another round follows, unless the decision about it is
// otherwise.
func (m *machine) scheduleRound(ctx context.Context, err error) reflectorPhase {
	decision := m.r.decideOn(ctx, err)
	if err != nil {
		m.r.announce(ctx, err, decision)
	}
	if decision.stop {
		m.r.giveUp(ctx, err)
		return stopped
	}
	return m.restAfterRound(m.r.delayAfter(err, decision))
}

// takeTurn waits until the whole state may be taken over. The caller gives it back by done.
func (m *machine) takeTurn(ctx context.Context) (done func(), err error) {
	turns := m.r.turns
	if turns == nil {
		return func() {}, nil
	}
	if _, err := await(ctx, m, turns); err != nil {
		return nil, err
	}
	return func() { turns <- struct{}{} }, nil
}

// restAfterRound leads to another round after length, on real time as in client-go: whoever steps a fake clock
// for resyncs does not wait for rounds with it.
func (m *machine) restAfterRound(length time.Duration) reflectorPhase {
	m.pause = pause{clock: clock.RealClock{}, length: length, resume: m.r.begin()}
	return backingOff
}

// retryLater leads back to the phase resume after the backoff, within the round.
func (m *machine) retryLater(ctx context.Context, resume reflectorPhase, err error) reflectorPhase {
	decision := m.r.decideOn(ctx, err)
	if decision.stop {
		m.r.giveUp(ctx, err)
		return stopped
	}
	m.pause = pause{clock: m.r.clock, length: m.r.delayAfter(err, decision), resume: resume}
	return backingOff
}

// backOff waits for the pause.
func (m *machine) backOff(ctx context.Context) reflectorPhase {
	timer := m.pause.clock.NewTimer(m.pause.length)
	defer timer.Stop()
	if _, err := await(ctx, m, timer.C()); err != nil {
		return m.interrupted(ctx, err)
	}
	return m.pause.resume
}

// beginWatching is the transition from a published state to watching.
func (m *machine) beginWatching(ctx context.Context) reflectorPhase {
	r := m.r
	r.synced = true
	klog.FromContext(ctx).V(2).Info("Caches populated", "reflector", r.name, "type", r.typeDescription)
	m.retry = NewRetryWithDeadline(r.maxInternalErrorRetry, internalErrorReset, isInternalError, r.clock)
	m.resync.arm()
	return watching
}

// interrupted is where a wait that await cut short leads: to stopped when the context ended, else, after a failed
// resync, to the end of the round.
func (m *machine) interrupted(ctx context.Context, err error) reflectorPhase {
	if errors.Is(err, errStopped) {
		return stopped
	}
	klog.FromContext(ctx).Info("Warning: watching given up", "reflector", m.r.name, "type", m.r.typeDescription, "err", err)
	return m.endRound(ctx, nil)
}

// close releases what the round holds. It may be called again and again.
func (m *machine) close() {
	m.dropStream()
	m.resync.disarm()
	m.collected.drop()
	m.strikes, m.still = 0, ""
}

func (m *machine) dropStream() {
	if s := m.stream; s != nil {
		m.stream = nil // before: a Stop that panics is not called again
		s.stop()
	}
}
