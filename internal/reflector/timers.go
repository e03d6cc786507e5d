// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
)

// alarm rings once while it is armed.
type alarm struct {
	timer clock.Timer      // nil: not armed
	rings <-chan time.Time // delivers when it is time; nil, and so never ready, unless armed
}

// arm arms it on real time.
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

// resyncTimer rings every resync period while it is armed, in the machine's goroutine, so that a
// Resync never runs next to another call of the store.
type resyncTimer struct {
	options *Options
	alarm   alarm
}

// begin starts a period. Without a resync period it does nothing.
func (t *resyncTimer) begin() {
	if t.alarm.disarm(); t.options.ResyncPeriod != 0 {
		t.alarm.armBy(t.options.Clock, t.options.ResyncPeriod)
	}
}

// fire serves a period that is over: the sink is resynced if ShouldResync agrees, and the next
// period starts afterwards. The error is a *resyncError.
func (t *resyncTimer) fire(ctx context.Context) error {
	if t.options.ShouldResync == nil || t.options.ShouldResync() {
		klog.FromContext(ctx).V(4).Info("Resyncing the store", "reflector", t.options.Name)
		if err := t.options.Sink.Resync(); err != nil {
			return &resyncError{cause: event.Discreet(err)}
		}
	}
	t.begin()
	return nil
}

// silence looks at a stream at regular steps and gives it up when nothing came for limit. A look
// that comes late shows that the reflector itself was held up, by its store or with the whole
// process; then it begins anew, as it does after an event. The zero value never gives up.
type silence struct {
	alarm // for a look
	clock clock.Clock
	step  time.Duration
	limit time.Duration
	armed func() bool                                                  // nil: always
	still func(ctx context.Context, received int, quiet time.Duration) // a step passed without events; nil: nothing to do
	err   error

	due   time.Time     // when the alarm rings
	seen  int           // events received at the last look
	quiet time.Duration // since when that did not change, in whole steps
}

func (s *silence) begin() {
	s.due = s.clock.Now().Add(s.step)
	s.armBy(s.clock, s.step)
}

// restart begins anew.
func (s *silence) restart(received int) {
	if s.timer != nil {
		s.begin()
		s.seen, s.quiet = received, 0
	}
}

// check takes a look. It returns err when the limit is reached.
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

// hangLook is the time between two looks at what hangs, for the line that it goes on.
const hangLook = 10 * time.Second

// hangTimer rings when what a server has to send is overdue. The log then hears of that, as it does
// when it is over, and the list slot, if one is held, goes to others. It belongs to the machine's
// goroutine.
type hangTimer struct {
	options *Options
	alarm   alarm         // for the next look
	slot    chan struct{} // where the list slot belongs that is held; nil: none is

	since  time.Time // when what hangs gave its last sign of life; zero: nothing hangs
	warned bool      // of what hangs, by this reflector
	ticket uint64    // of the line about it
}

// asks notes that a request of a kind is in hand from now on; "": none that can hang.
func (h *hangTimer) asks(ctx context.Context, kind string) {
	h.options.Journal.write(func(p *pages) { p.asked, p.askedAt = kind, p.clock.Now() })
	h.look(ctx)
}

// giveBack gives the list slot back, if one is held.
func (h *hangTimer) giveBack() {
	if h.slot != nil {
		h.slot <- struct{}{}
		h.slot = nil
	}
}

// look does what there is to do now, and arms the timer for the next look.
func (h *hangTimer) look(ctx context.Context) {
	hang, again := h.options.Journal.hang()
	switch {
	case hang.what != "":
		h.giveBack()
		again = h.tellOf(ctx, hang)
	case !h.since.IsZero():
		h.over(ctx)
	}
	if h.alarm.disarm(); again > 0 {
		h.alarm.arm(again)
	}
}

// tellOf tells the log what hangs, once, and returns when to look again.
func (h *hangTimer) tellOf(ctx context.Context, hang awaited) (again time.Duration) {
	if h.since.IsZero() {
		h.options.tell(ctx, stateHangs, "reason", hang.what)
		h.since = hang.since
	}
	wait, others, mine := h.options.Servers.hangs.turn(&h.ticket, time.Now())
	if h.warned = h.warned || mine; mine {
		h.options.say(ctx, 0, "Warning: a request hangs, and the cache gets old", "reason", hang.what,
			"hangs", h.options.Clock.Since(hang.since).Round(time.Millisecond), "linesOfOthers", others)
	}
	return cmp.Or(wait, hangLook)
}

// over tells the log that nothing hangs any more: everybody, if that has the warning.
func (h *hangTimer) over(ctx context.Context) {
	level := h.options.stateLevel()
	if h.warned {
		level = 0
	}
	h.options.tellAt(ctx, level, stateGoesOn, "hung", h.options.Clock.Since(h.since).Round(time.Millisecond))
	h.since, h.warned, h.ticket = time.Time{}, false, 0
}
