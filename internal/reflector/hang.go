// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reflector

import (
	"context"
	"time"

	"k8s.io/klog/v2"
)

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

	// hangLook is the time between two looks at what hangs, for the line that it goes on.
	hangLook = 10 * time.Second
)

// awaited is what a server has to send next. The zero value is nothing, which never hangs.
type awaited struct {
	what  string        // it belongs to, in words
	since time.Time     // the last sign of life
	limit time.Duration // of the time since then
}

// hangs reports whether it should have come by now.
func (a awaited) hangs(now time.Time) bool { return a.what != "" && now.Sub(a.since) >= a.limit }

// asks notes that a request of a kind is in hand from now on; "": none that can hang.
func (p *Report) asks(kind string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.asked, p.mu.askedAt = kind, p.mu.clock.Now()
}

// holdsUp notes whether the sink has no room, so that nobody reads the watch.
func (p *Report) holdsUp(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.heldUp = on; !on {
		p.mu.followed = p.mu.clock.Now()
	}
}

// requestLocked returns what is awaited of the request in hand.
func (p *Report) requestLocked() awaited {
	a := awaited{since: p.mu.askedAt, limit: hangLimit}
	switch p.mu.asked {
	case KindList:
		at, seen := p.decoding.Received()
		a.what, a.since = "a list", latest(a.since, at)
		if !seen {
			a.limit = unseenLimit
		}
	case KindWatchList:
		a.what, a.since = "a watch-list", latest(a.since, p.heardAt())
	case KindWatch:
		a.what = "the opening of a watch"
	}
	return a
}

// bookmarkLocked returns what is awaited of a watch besides its opening: a bookmark, if any has
// ever come, also from the next watch. None is due while requests fail, or the sink has no room.
func (p *Report) bookmarkLocked(now time.Time) awaited {
	if p.mu.followed.IsZero() || !p.bookmarked.Load() || p.mu.known.Failures > 0 {
		return awaited{}
	}
	a := awaited{"the watch", latest(p.mu.followed, p.heardAt()), bookmarkLimit}
	if p.mu.heldUp {
		a.since = now
	}
	return a
}

// hangLocked returns what hangs, the request if both do, since the older sign of life, and when it
// is worth looking again; 0: not before something is asked for.
func (p *Report) hangLocked() (hang awaited, again time.Duration) {
	now := p.mu.clock.Now()
	for _, a := range []awaited{p.requestLocked(), p.bookmarkLocked(now)} {
		left := a.limit - now.Sub(a.since)
		switch {
		case a.what == "":
		case !a.hangs(now):
			if again == 0 || left < again {
				again = left
			}
		case hang.what == "":
			hang = a
		case a.since.Before(hang.since):
			hang.since = a.since
		}
	}
	if p.mu.asked == KindList {
		again = min(again, hangLimit) // its bytes may come to be seen
	}
	return hang, again
}

func (p *Report) hang() (hang awaited, again time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hangLocked()
}

// heardAt returns when the last watch event or bookmark came; zero: none yet.
func (p *Report) heardAt() time.Time {
	heard := p.heard.Load()
	if heard == 0 {
		return time.Time{}
	}
	return time.Unix(0, heard)
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// hangTimer rings when what a server has to send is overdue. The log then hears of that, as it does
// when it is over, and the list slot, if one is held, goes to others. It belongs to the machine's
// goroutine.
type hangTimer struct {
	*Options
	slot chan struct{} // where the list slot belongs that is held; nil: none is

	timer *time.Timer      // nil: not armed
	rings <-chan time.Time // delivers when it is time for a look

	since  time.Time // when what hangs gave its last sign of life; zero: nothing hangs
	warned bool      // of what hangs, by this reflector
	ticket uint64    // of a line that waits for its turn, else 0
}

// asks notes that a request of a kind is in hand from now on; "": none that can hang.
func (h *hangTimer) asks(ctx context.Context, kind string) {
	h.Report.asks(kind)
	h.look(ctx)
}

// requestOf is request for one of a kind, which is in hand meanwhile. After an error it stays so:
// Report.failed has to know whether it hung.
func requestOf[T any](ctx context.Context, t *timers, kind string, send func(context.Context) (T, error), discard func(T)) (T, error) {
	t.hang.asks(ctx, kind)
	value, err := request(ctx, t, send, discard)
	if err == nil {
		t.hang.asks(ctx, "")
	}
	return value, err
}

func (h *hangTimer) arm(after time.Duration) {
	h.disarm()
	h.timer = time.NewTimer(after)
	h.rings = h.timer.C
}

func (h *hangTimer) disarm() {
	if h.timer != nil {
		h.timer.Stop()
		h.timer, h.rings = nil, nil
	}
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
	hang, again := h.Report.hang()
	switch {
	case hang.what != "":
		h.giveBack()
		again = h.tellOf(ctx, hang)
	case !h.since.IsZero():
		h.over(ctx)
	}
	if h.disarm(); again > 0 {
		h.arm(again)
	}
}

// tellOf tells the log what hangs, once, and returns when to look again.
func (h *hangTimer) tellOf(ctx context.Context, hang awaited) (again time.Duration) {
	if h.since.IsZero() {
		h.tell(ctx, stateHangs, "A request hangs", "reason", hang.what)
		h.since, h.ticket = hang.since, h.Servers.hangs.ask()
	}
	if h.ticket == 0 {
		return hangLook
	}
	wait, others, mine := h.Servers.hangs.turn(h.ticket, time.Now())
	if wait > 0 {
		return wait
	}
	if h.ticket = 0; mine {
		h.warned = true
		klog.FromContext(ctx).Info("Warning: a request hangs, and the cache gets old", "reflector", h.Name, "type", h.TypeDescription,
			"reason", hang.what, "hangs", h.Clock.Since(hang.since).Round(time.Millisecond), "linesOfOthers", others)
	}
	return hangLook
}

// over tells the log that nothing hangs any more: everybody, if that has the warning.
func (h *hangTimer) over(ctx context.Context) {
	hung := h.Clock.Since(h.since).Round(time.Millisecond)
	if h.warned {
		klog.FromContext(ctx).Info("Nothing hangs any more", "state", stateGoesOn, "reflector", h.Name, "type", h.TypeDescription, "hung", hung)
	} else {
		h.tell(ctx, stateGoesOn, "Nothing hangs any more", "hung", hung)
	}
	h.since, h.warned, h.ticket = time.Time{}, false, 0
}
