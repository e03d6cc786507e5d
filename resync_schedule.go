// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"sync"
	"time"

	"k8s.io/klog/v2"
)

// resyncSchedule says when one handler is due for a resync.
type resyncSchedule struct {
	requested time.Duration // what the user asked for

	mu struct {
		sync.Mutex
		period time.Duration // what is possible; 0 is never
		next   time.Time
	}
}

func (r *resyncSchedule) init(requested, period time.Duration, now time.Time) {
	r.requested = requested
	r.mu.period = period
	r.mu.next = now.Add(period)
}

// decide tells whether the handler is due at now, and plans the next time if so.
func (r *resyncSchedule) decide(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := r.mu.period != 0 && !now.Before(r.mu.next)
	if due {
		r.mu.next = now.Add(r.mu.period)
	}
	return due
}

// fit adapts the period to how often the informer checks.
func (r *resyncSchedule) fit(logger klog.Logger, check time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.period = effectiveResyncPeriod(logger, r.requested, check)
}

// effectiveResyncPeriod is how often a handler is resynced by an informer that checks every check; 0 is never.
func effectiveResyncPeriod(logger klog.Logger, requested, check time.Duration) time.Duration {
	switch {
	case requested == 0:
		return 0
	case check == 0:
		logger.Info("Warning: no resyncs, because the informer does none", "requested", requested)
		return 0
	default:
		return max(requested, check)
	}
}
