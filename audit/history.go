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

// How an audit ended, as in inspect.AuditStats.Ended.
const (
	outcomeEqual       = "equal"     // findings that were gone at a second look do not count
	outcomeDifferent   = "different" // twice
	outcomeExpired     = "expired"
	outcomeUnvouched   = "unvouched"
	outcomeUnsupported = "unsupported"
	outcomeFailed      = "failed" // for any other reason
)

// history is what is known of the audits of an informer. The zero value is that of none, and
// anybody may use it.
type history struct {
	mu struct {
		sync.Mutex
		stats    inspect.AuditStats
		ahead    bool      // the last audit that could compare has found that
		repaired time.Time // when a relist was last asked for
		right    time.Time // when an audit last found nothing after a relist
	}
}

// historyOf returns the history that an informer keeps.
func historyOf(kept *atomic.Value) *history {
	kept.CompareAndSwap(nil, &history{})
	return kept.Load().(*history)
}

// note adds an audit that has ended, with what it found, by kind, and how many findings were gone at
// a second look. If it began before a repair that worked, what it found is over.
func (h *history) note(result inspect.AuditResult, found map[Kind]int, passing int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, differing := &h.mu.stats, 0
	if s.Ended == nil {
		s.Ended = map[string]int64{}
	}
	s.Ended[result.Outcome]++
	for kind, n := range found {
		if s.Found == nil {
			s.Found = map[string]int64{}
		}
		s.Found[string(kind)] += int64(n)
		differing += n
	}
	s.Passing += int64(passing)
	s.Last = result
	compared := result.Outcome == outcomeEqual || result.Outcome == outcomeDifferent
	if compared && !result.At.Add(-result.Took).Before(h.mu.right) {
		s.Differing, h.mu.ahead = differing, found[Ahead] > 0
	}
}

// mayRepair reports whether a relist may be asked for, the last one being that long ago at least,
// and if so takes it for asked for.
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

// noteRepaired notes that nothing differs any more.
func (h *history) noteRepaired() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.stats.Differing, h.mu.ahead, h.mu.right = 0, false, time.Now()
}

// Differing returns how many objects differ, and whether that is because the cache is ahead.
func (h *history) Differing() (objects int, ahead bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.stats.Differing, h.mu.ahead
}

// Stats returns what is known, in memory of the caller's own.
func (h *history) Stats() inspect.AuditStats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.mu.stats
	s.Ended, s.Found = maps.Clone(s.Ended), maps.Clone(s.Found)
	return s
}
