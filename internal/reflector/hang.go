// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"cmp"
	"context"
	"time"
)

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
