// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build interleave

package fanout

import (
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/kinformer/cache/internal/eventlog"
	"github.com/kinformer/cache/internal/interleave"
	"github.com/kinformer/cache/internal/interleave/time"
)

// act is what a handler does in a call.
type act uint8

const (
	fine   act = iota // returns
	slow              // takes longer than a quick call
	blocks            // until it is released
	panics
	exits  // ends its goroutine
	leaves // removes itself
)

// hearer is a handler that notes what it hears, and fails the schedule where that is wrong.
type hearer struct {
	*Listener
	street   *street
	does     []act // in its calls, from the first on
	joined   bool
	initial  []line // what it finds
	from     int    // of the street's changes it hears those from here on, after that
	heard    []line
	known    map[string]thing // what it knows, by name
	owed     map[string]int   // the versions that it has to hear of because of a resync
	rounds   map[string]int   // how many resyncs it may hear of, by name
	calling  int              // calls in progress
	returned int              // calls that have, or did what else ends one
	lost     bool             // an initial call has not returned
	leaving  bool             // Remove was called
	gone     bool             // Remove has returned
	before   int              // how many calls were outstanding when changes were distributed last
	removed  bool             // it was removed before that
	may      int              // calls that may begin nevertheless
	told     int              // how often it was told that it is disconnected
}

func (h *hearer) OnAdd(obj any, initial bool) {
	t := obj.(thing)
	if was, found := h.known[t.name]; found {
		h.fail("it knows %v already", was)
	}
	h.hear(added(t, initial), t)
}

func (h *hearer) OnUpdate(was, is any) {
	old, t := was.(thing), is.(thing)
	l := updated(old, t)
	if l.resync = old == t; l.resync {
		h.rounds[t.name]--
	}
	if h.known[t.name] != old || old.version > t.version || h.rounds[t.name] < 0 {
		h.fail("it knows %v, not %v before %v", h.known[t.name], old, t)
	}
	h.hear(l, t)
}

// OnDelete may tell of a version that was merged with its end.
func (h *hearer) OnDelete(obj any) {
	t := obj.(thing)
	if was, found := h.known[t.name]; !found || was != t && !h.coalesces {
		h.fail("it knows %v, not %v", was, t)
	}
	h.hear(deleted(t), t)
}

// learn notes what it knows now.
func (h *hearer) learn(l line, t thing) {
	h.known[t.name] = t
	if l == deleted(t) {
		delete(h.known, t.name)
	}
	if h.owed[t.name] <= t.version {
		delete(h.owed, t.name)
	}
}

func (h *hearer) fail(format string, args ...any) {
	interleave.Fail(fmt.Errorf("handler "+h.name+": "+format+", after %v", append(args, h.heard)...))
}

// hear is one call. It begins some time after it was decided on.
func (h *hearer) hear(l line, t thing) {
	interleave.Point()
	h.begin(l)
	h.learn(l, t)
	ended := false
	defer func() { h.end(l, ended) }()
	h.act(h.returned + h.calling)
	interleave.Point()
	ended = true
}

func (h *hearer) begin(l line) {
	*h.street.answers++
	switch {
	case h.street.stopped, isOver(h.finished):
		h.fail("%s after the end", l.text)
	case h.gone && h.may == 0:
		h.fail("%s after its removal", l.text)
	case h.calling == h.parallel:
		h.fail("%s during another call", l.text)
	case l.initial && isOver(h.synced):
		h.fail("%s although it has synced", l.text)
	case h.gone:
		h.may--
	}
	if !h.coalesces && !l.resync {
		if next, ok := h.next(l.name); !ok || next != l {
			h.fail("%s instead of %s", l.text, next.text)
		}
	}
	if h.calling++; !l.resync {
		h.heard = append(h.heard, l)
	}
}

// next is what it should hear next, of one name if it has several consumers.
func (h *hearer) next(name string) (next line, ok bool) {
	skip := len(h.heard)
	all := slices.Concat(h.initial, h.street.changes[h.from:])
	if h.parallel > 1 {
		other := func(l line) bool { return l.name != name }
		skip = len(slices.DeleteFunc(slices.Clone(h.heard), other))
		all = slices.DeleteFunc(all, other)
	}
	if skip >= len(all) {
		return line{}, false
	}
	return all[skip], true
}

func (h *hearer) act(call int) {
	if call > len(h.does) {
		return
	}
	switch h.does[call-1] {
	case slow:
		time.Sleep(2 * quickCall)
	case blocks:
		interleave.Await(func() bool { return h.street.released })
	case panics:
		panic("as it pleases")
	case exits:
		runtime.Goexit()
	case leaves:
		h.remove()
	}
}

func (h *hearer) end(l line, ended bool) {
	h.calling--
	h.returned++
	h.lost = h.lost || l.initial && !ended
	if l.initial && isOver(h.synced) {
		h.fail("%s has not returned, and it has synced", l.text)
	}
	if isOver(h.finished) || h.street.stopped {
		h.fail("%s has not returned, and it is over", l.text)
	}
}

// remove has it called no more, apart from the calls that are running.
func (h *hearer) remove() {
	h.leaving = true
	h.street.Remove(h.Listener)
	if !h.gone {
		h.gone, h.may = true, h.parallel-h.calling
	}
}

func (h *hearer) disconnected(err error) {
	interleave.Point()
	if h.told++; h.told > 1 || h.street.stopped || !errors.Is(err, ErrDisconnected) {
		h.fail("it is told %v", err)
	}
}

// waiting is how many notifications it has not returned from. A call that has returned may not be
// counted yet.
func (h *hearer) waiting() int {
	return len(h.street.changes) - h.from - max(0, h.returned-len(h.initial))
}

// checkBound is called when so many changes were distributed.
func (h *hearer) checkBound(n int) {
	if !h.joined || !h.bounded || h.removed || h.leaving || h.street.stopping {
		return
	}
	if closed := isOver(h.closing); h.waiting() > h.max && !closed {
		h.fail("it is behind %d", h.waiting())
	} else if closed && h.before+n < h.max {
		h.fail("it was behind %d and is removed", h.before)
	}
}

// look asks for its figures. Quick calls of one run are counted when all have returned.
func (h *hearer) look() {
	before, removed := h.returned, h.gone
	figures := h.Figures()
	calls, all := int(figures.Times.Calls), len(h.initial)+len(h.street.changes)-h.from
	switch {
	case calls > h.returned, before > calls+eventlog.SegmentSize:
		h.fail("of %d to %d calls %d are counted", before, h.returned, calls)
	case figures.Pending < 0, figures.Pending > all-calls:
		h.fail("of %d calls %d are counted and %d pending", all, calls, figures.Pending)
	case removed && !figures.Removed:
		h.fail("it is not removed")
	}
	*h.street.answers++
}

// isThrough reports whether it has heard all that there is, and is at rest.
func (h *hearer) isThrough() bool {
	return h.returned == len(h.initial)+len(h.street.changes)-h.from && h.consumers[0].mu.state == consumerParked
}

// check looks at it when no thread is left.
func (h *hearer) check() error {
	if !h.joined {
		return nil
	}
	*h.street.answers++
	figures := h.Figures()
	switch removed := h.closed.Load(); {
	case h.calling > 0:
		return errors.New("it is in a call")
	case removed != isOver(h.finished):
		return errors.New("its end is not told")
	case figures.Working || figures.Pending > 0 || figures.Times.Calls != uint64(h.returned):
		return fmt.Errorf("it has heard %v, and its figures are %+v", h.heard, figures)
	case figures.Disconnected != (h.told == 1):
		return errors.New("it was not told that it is disconnected")
	case !removed && (h.isBehind() || len(h.owed) > 0):
		return fmt.Errorf("it has heard nothing but %v, of %v %v", h.heard, h.initial, h.street.changes[h.from:])
	}
	return errors.Join(h.checkSynced(), h.checkConsumers())
}

// isBehind reports whether something was left out.
func (h *hearer) isBehind() bool {
	if !h.coalesces {
		return len(h.heard) != len(h.initial)+len(h.street.changes)-h.from
	}
	return len(h.known) != len(h.street.state) ||
		slices.ContainsFunc(h.street.state, func(t thing) bool { return h.known[t.name] != t })
}

func (h *hearer) checkSynced() error {
	synced, failure := isOver(h.synced), h.syncError()
	switch {
	case synced == (failure != nil) && (h.street.synced || h.lost):
		return fmt.Errorf("synced %v, and %v", synced, failure)
	case synced && (h.lost || !h.street.synced):
		return errors.New("it has synced")
	}
	return nil
}

// checkConsumers: they keep nothing that was distributed.
func (h *hearer) checkConsumers() error {
	for _, c := range h.consumers {
		quick := c.run.quick
		if c.run.quick = false; c.run.more() || c.run.changes != nil || c.run.bulk != nil {
			return fmt.Errorf("it keeps %+v", c.run)
		}
		c.run.quick = quick
		if c.mu.state == consumerAtWork || c.mu.cursor.InLog() || c.mu.first != nil || c.mu.resyncs != nil || c.mu.pending.len() > 0 {
			return fmt.Errorf("it is not at rest: %+v", &c.mu)
		}
	}
	return nil
}
