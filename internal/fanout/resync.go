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

// resyncSchedule computes when a handler is due for a resync.
type resyncSchedule struct {
	requested time.Duration // requested by the user

	mu struct {
		sync.Mutex
		period time.Duration // effective period; 0 means never
		next   time.Time
	}
}

func (r *resyncSchedule) init(logger klog.Logger, requested, check time.Duration, now time.Time) {
	r.requested = requested
	r.mu.period = effectiveResyncPeriod(logger, requested, check)
	r.mu.next = now.Add(r.mu.period)
}

// decide reports whether the handler is due at now. If so, it schedules the next time.
func (r *resyncSchedule) decide(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	due := r.mu.period != 0 && !now.Before(r.mu.next)
	if due {
		r.mu.next = now.Add(r.mu.period)
	}
	return due
}

// fit adjusts the period to the interval between the informer's checks.
func (r *resyncSchedule) fit(logger klog.Logger, check time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mu.period = effectiveResyncPeriod(logger, r.requested, check)
}

// effectiveResyncPeriod returns the period between resyncs of a handler, given the interval between
// the informer's checks. 0 means never.
func effectiveResyncPeriod(logger klog.Logger, requested, check time.Duration) time.Duration {
	switch {
	case requested == 0:
		return 0
	case check == 0:
		event.Warn(logger, 0, "The handler gets no resyncs, because its informer does not resync", "requested", requested)
		return 0
	default:
		return max(requested, check)
	}
}

// unreadResyncs are the resyncs of all objects that a consumer has not yet reached. The log has
// only a record of each without the objects, so that the objects are kept only for the consumers
// that need them.
//
// One outstanding resync is enough: it has each object that has not changed since, and the log has
// the changes after it. So a consumer with an undelivered resync, however late, gets no other one.
type unreadResyncs struct {
	unread   []*event.Snapshot // one for each record ahead in the log that is for the consumer, in order
	complete bool              // the last of them and the log after it cover all objects of the store
}

// add appends a resync. It returns false if the resync is redundant.
func (u *unreadResyncs) add(all *event.Snapshot) (needed bool) {
	if u.complete {
		return false
	}
	u.unread, u.complete = append(u.unread, all), true
	return true
}

// pop removes and returns the first resync.
func (u *unreadResyncs) pop() *event.Snapshot {
	first := u.unread[0]
	u.unread = slices.Delete(u.unread, 0, 1)
	return first
}

func (u *unreadResyncs) empty() bool { return len(u.unread) == 0 }
