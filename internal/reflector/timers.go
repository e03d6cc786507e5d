// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
)

// alarm rings once while it is armed.
type alarm struct {
	timer clock.Timer      // nil if not armed
	rings <-chan time.Time // receives when the alarm rings; nil, and so never ready, unless armed
}

// arm arms the alarm on real time.
func (a *alarm) arm(after time.Duration) { a.armBy(clock.RealClock{}, after) }

func (a *alarm) armBy(c clock.Clock, after time.Duration) {
	a.disarm()
	a.timer = c.NewTimer(after)
	a.rings = a.timer.C()
}

func (a *alarm) disarm() {
	if a.timer != nil {
		a.timer.Stop()
		*a = alarm{}
	}
}

// resyncTimer rings every resync period while it is armed. It belongs to the machine's goroutine,
// so a Resync never runs concurrently with another call of the store.
type resyncTimer struct {
	options *Options
	alarm   alarm
}

// begin starts a period. Without a resync period it only disarms the alarm.
func (t *resyncTimer) begin() {
	if t.alarm.disarm(); t.options.ResyncPeriod != 0 {
		t.alarm.armBy(t.options.Clock, t.options.ResyncPeriod)
	}
}

// fire handles the end of a period: it resyncs the sink if ShouldResync agrees, and starts the next
// period. The error is a *resyncError.
func (t *resyncTimer) fire(ctx context.Context) error {
	if t.options.ShouldResync == nil || t.options.ShouldResync() {
		klog.FromContext(ctx).V(4).Info("Resyncing the store", "reflector", t.options.Name)
		if err := t.options.Sink.Resync(); err != nil {
			return &resyncError{cause: event.Redacted(err)}
		}
	}
	t.begin()
	return nil
}

// silence checks a stream at regular intervals and gives it up if no event arrived for limit. A
// check that comes late shows that the reflector itself was delayed, by its store or with the whole
// process; the silence then starts again, as after an event. The zero value never gives up.
type silence struct {
	alarm // for the next check
	clock clock.Clock
	step  time.Duration
	limit time.Duration
	armed func() bool                                                  // nil means always
	still func(ctx context.Context, received int, quiet time.Duration) // called after a step without events; may be nil
	err   error

	due   time.Time     // when the alarm rings
	seen  int           // the number of events received at the last check
	quiet time.Duration // the time without a new event, in whole steps
}

func (s *silence) begin() {
	s.due = s.clock.Now().Add(s.step)
	s.armBy(s.clock, s.step)
}

// restart starts the silence again.
func (s *silence) restart(received int) {
	if s.timer != nil {
		s.begin()
		s.seen, s.quiet = received, 0
	}
}

// check checks the stream. It returns s.err when the limit is reached.
func (s *silence) check(ctx context.Context, received int) error {
	late := s.clock.Now().Sub(s.due) > s.step/4
	s.begin()
	if received != s.seen || late || s.armed != nil && !s.armed() {
		s.seen, s.quiet = received, 0
		return nil
	}
	s.quiet += s.step
	if s.quiet >= s.limit {
		return s.err
	}
	if s.still != nil {
		s.still(ctx, received, s.quiet)
	}
	return nil
}

// hangTimer rings when an answer of the server is overdue. It logs this, and logs the end of it,
// and releases the list slot if the reflector holds one. It belongs to the machine's goroutine.
type hangTimer struct {
	options *Options
	alarm   alarm         // for the next check
	slot    chan struct{} // the channel to which the held list slot returns; nil if none is held

	spell         // since the last sign of life of the hanging request
	ticket uint64 // this reflector's place among the lines of the process; 0 if it has none
}

// asks records that a request of a kind is pending; "" means none that can hang.
func (h *hangTimer) asks(ctx context.Context, kind string) {
	h.options.Journal.write(func(p *journalState) { p.asked, p.askedAt = kind, p.clock.Now() })
	h.look(ctx)
}

// giveBack releases the list slot if the reflector holds one.
func (h *hangTimer) giveBack() {
	if h.slot != nil {
		h.slot <- struct{}{}
		h.slot = nil
	}
}

// look checks for a hanging request, and arms the timer for the next check.
func (h *hangTimer) look(ctx context.Context) {
	hang, again := h.options.Journal.hang()
	switch {
	case hang.what != "":
		h.giveBack()
		again = h.logHang(ctx, hang)
	case h.goes():
		h.end(ctx, h.options, h.options.Clock.Now(), stateGoesOn, "hung")
		h.ticket = 0
	}
	if h.alarm.disarm(); again > 0 {
		h.alarm.arm(again)
	}
}

// goesOn checks whether a request that was said to hang still does, after an event has arrived.
func (h *hangTimer) goesOn(ctx context.Context) {
	if !h.since.IsZero() {
		h.look(ctx)
	}
}

// logHang logs once that a request hangs, and returns the time until it may, or 0 if it has: the end of the
// request is looked at without a timer.
func (h *hangTimer) logHang(ctx context.Context, hang awaited) (again time.Duration) {
	h.begin(ctx, h.options, hang.since, stateHangs, hang.what)
	wait, others, mine := h.options.Servers.hangs.turn(&h.ticket, time.Now())
	if mine {
		h.level = 0 // the warning has an end, too
		h.options.warn(ctx, "A request hangs, and the cache gets old", "reason", hang.what,
			"hangs", h.options.Clock.Since(hang.since).Round(time.Millisecond), "linesOfOthers", others)
	}
	return wait
}
