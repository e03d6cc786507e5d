// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kinformer/cache/inspect"
)

// The outcomes of an audit, as in inspect.AuditStats.Ended.
const (
	outcomeEqual       = "equal"     // findings that a second comparison did not confirm do not count
	outcomeDifferent   = "different" // confirmed by a second comparison
	outcomeExpired     = "expired"
	outcomeUnvouched   = "unvouched"
	outcomeUnsupported = "unsupported"
	outcomeFailed      = "failed" // for any other reason
)

// history is the record of the audits of an informer. The zero value is empty and ready for use by
// any number of goroutines.
type history struct {
	mu struct {
		sync.Mutex
		stats    inspect.AuditStats
		ahead    bool      // whether the last completed comparison found the cache ahead
		repaired time.Time // when a relist was last requested
		right    time.Time // when an audit last found no difference after a relist
	}
}

// historyOf returns the history of an informer.
func historyOf(value *atomic.Value) *history {
	value.CompareAndSwap(nil, &history{})
	return value.Load().(*history)
}

// note adds a completed audit: its confirmed findings by kind, and the number of findings that were
// not confirmed. If the audit began before a successful repair, its findings do not change
// Differing.
func (h *history) note(result inspect.AuditResult, found map[Kind]int, passing int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, differing := &h.mu.stats, 0
	if s.Ended == nil {
		s.Ended = map[string]int64{}
	}
	s.Ended[result.Outcome]++
	for kind, n := range found {
		if s.Confirmed == nil {
			s.Confirmed = map[string]int64{}
		}
		s.Confirmed[string(kind)] += int64(n)
		differing += n
	}
	s.Passing += int64(passing)
	s.Last = result
	compared := result.Outcome == outcomeEqual || result.Outcome == outcomeDifferent
	if compared && !result.At.Add(-result.Took).Before(h.mu.right) {
		s.Differing, h.mu.ahead = differing, found[Ahead] > 0
	}
}

// mayRepair reports whether a relist may be requested, because the last one was at least that long
// ago. If so, it records the request.
func (h *history) mayRepair(now time.Time, least time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.mu.repaired; !last.IsZero() && now.Sub(last) < least {
		return false
	}
	h.mu.repaired = now
	h.mu.stats.Relists++
	return true
}

// noteRepaired records that no object differs any more.
func (h *history) noteRepaired() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.stats.Differing, h.mu.ahead, h.mu.right = 0, false, time.Now()
}

// Differing returns the number of objects that differ, and whether the cache is ahead.
func (h *history) Differing() (objects int, ahead bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.stats.Differing, h.mu.ahead
}

// Stats returns the counts. The caller owns the maps.
func (h *history) Stats() inspect.AuditStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.mu.stats
	s.Ended, s.Confirmed = maps.Clone(s.Ended), maps.Clone(s.Confirmed)
	return s
}
