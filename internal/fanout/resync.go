// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"slices"
	"sync"
	"time"

	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
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

func (r *resyncSchedule) init(logger klog.Logger, requested, check time.Duration, now time.Time) {
	r.requested = requested
	r.mu.period = effectiveResyncPeriod(logger, requested, check)
	r.mu.next = now.Add(r.mu.period)
}

// decide reports whether the handler is due at now, and plans the next time if so.
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

// effectiveResyncPeriod is how often a handler is resynced by an informer that checks every check;
// 0 is never.
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

// unreadResyncs are the resyncs of all objects that a consumer has not come to. The log has only a
// record of each without the objects, so that it keeps them for none but those they are for.
//
// One is enough: an object that has not changed since is in it, and what has changed is in the log
// after it. So a consumer that has one to deliver, however late, is not given another.
type unreadResyncs struct {
	unread   []*event.Snapshot // for each record in the log ahead that is for the consumer, in order
	complete bool              // the last of them and the log after it have all that is in the store
}

// add appends a resync, or reports that it would say nothing that will not be said.
func (u *unreadResyncs) add(all *event.Snapshot) (needed bool) {
	if u.complete {
		return false
	}
	u.unread, u.complete = append(u.unread, all), true
	return true
}

// pop removes the first resync.
func (u *unreadResyncs) pop() *event.Snapshot {
	first := u.unread[0]
	u.unread = slices.Delete(u.unread, 0, 1)
	return first
}

func (u *unreadResyncs) empty() bool { return len(u.unread) == 0 }
