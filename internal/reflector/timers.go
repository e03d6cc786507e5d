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
