// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"time"

	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// resyncTimer rings every resync period while it is armed. It belongs to the machine's goroutine, so that a Resync
// never runs next to another call of the store.
type resyncTimer struct {
	r     *reflector
	timer clock.Timer // nil: not armed
}

// arm starts a period. Without a resync period it does nothing.
func (t *resyncTimer) arm() {
	t.disarm()
	if t.r.resyncPeriod != 0 {
		t.timer = t.r.clock.NewTimer(t.r.resyncPeriod)
	}
}

func (t *resyncTimer) disarm() {
	if t.timer != nil {
		t.timer.Stop()
		t.timer = nil
	}
}

// C delivers when a period is over. It is nil, and so never ready, unless armed.
func (t *resyncTimer) C() <-chan time.Time {
	if t.timer == nil {
		return nil
	}
	return t.timer.C()
}

// fire serves a period that is over: the sink is resynced if shouldResync agrees, and the next period starts
// afterwards. The error is a *resyncError.
func (t *resyncTimer) fire(ctx context.Context) error {
	if t.r.shouldResync == nil || t.r.shouldResync() {
		klog.FromContext(ctx).V(4).Info("Resyncing the store", "reflector", t.r.name)
		if err := t.r.sink.resync(); err != nil {
			return &resyncError{cause: discreet(err)}
		}
	}
	t.arm()
	return nil
}
