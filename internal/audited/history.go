// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package audited

import (
	"maps"
	"sync"
	"time"
)

// Outcome is how an audit ended, in one of few words.
type Outcome string

const (
	Equal       Outcome = "equal"       // to the server; findings that were gone at a second look do not count
	Differs     Outcome = "different"   // from the server, twice
	Expired     Outcome = "expired"     // the server had forgotten the version, again and again
	Unvouched   Outcome = "unvouched"   // the cache had no version that the server vouches for
	Unsupported Outcome = "unsupported" // the server does not list as of a version
	Failed      Outcome = "failed"      // for any other reason
)

// Ahead is the kind of the finding that the server does not know the version of the cache. It is
// one of the whole cache.
const Ahead = "ahead"

// Audit is one that has ended.
type Audit struct {
	Outcome Outcome
	At      time.Time // its end
	Version string    // that was compared
	Took    time.Duration
	Found   map[string]int // what differs from the server, by kind; confirmed findings only
}

// differing returns how many objects differed.
func (a *Audit) differing() (n int) {
	for _, of := range a.Found {
		n += of
	}
	return n
}

// Figures sum up the audits of an informer.
type Figures struct {
	Audits, Found map[string]int64 // by outcome, and what was found by kind; nil: nothing to count
	Passing       int64            // findings that were gone at a second look
	Relists       int64            // that audits have asked for
	Last          Audit            // zero: there was none
	Differing     int              // objects that differed when an audit could last compare them; a cache that is ahead counts as one
}

// History is what is known of the audits of an informer. The zero value is that of none, and
// anybody may use it.
type History struct {
	mu struct {
		sync.Mutex
		figures  Figures
		ahead    bool      // the last audit that could compare has found that
		repaired time.Time // when a relist was last asked for
		right    time.Time // when an audit last found nothing after a relist
	}
}

// Note adds an audit that has ended. If it began before a repair that worked, what it found is
// over.
func (h *History) Note(a Audit, passing int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := &h.mu.figures
	if f.Audits == nil {
		f.Audits = map[string]int64{}
	}
	f.Audits[string(a.Outcome)]++
	for kind, n := range a.Found {
		if f.Found == nil {
			f.Found = map[string]int64{}
		}
		f.Found[kind] += int64(n)
	}
	f.Passing += int64(passing)
	f.Last = a
	if before := a.At.Add(-a.Took).Before(h.mu.right); !before && (a.Outcome == Equal || a.Outcome == Differs) {
		f.Differing, h.mu.ahead = a.differing(), a.Found[Ahead] > 0
	}
}

// MayRepair reports whether a relist may be asked for, the last one being that long ago at least,
// and if so takes it for asked for.
func (h *History) MayRepair(now time.Time, least time.Duration) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if last := h.mu.repaired; !last.IsZero() && now.Sub(last) < least {
		return false
	}
	h.mu.repaired = now
	h.mu.figures.Relists++
	return true
}

// Repaired notes that nothing differs any more.
func (h *History) Repaired() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.figures.Differing, h.mu.ahead, h.mu.right = 0, false, time.Now()
}

// Differing returns Figures().Differing, and whether that is because the cache is ahead.
func (h *History) Differing() (objects int, ahead bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.mu.figures.Differing, h.mu.ahead
}

// Figures returns what is known, in memory of the caller's own but for Last.Found, which nobody
// changes.
func (h *History) Figures() Figures {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.mu.figures
	f.Audits, f.Found = maps.Clone(f.Audits), maps.Clone(f.Found)
	return f
}
