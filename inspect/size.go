// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kinformer/cache/internal/footprint"
)

const (
	// mostSampled is the number of objects in a sample: the mean of 64 pods of one cluster is
	// within a tenth of the mean of all.
	mostSampled = 64
	// sampleSteps bounds the values that a sample visits: 64 pods have some 30,000, at 30 ns each.
	sampleSteps = 50_000
	// sampleAge is how long an estimate is used: the mean size of objects changes slowly.
	sampleAge = 10 * time.Minute

	// The process may visit budgetMost values at once, which takes 6 ms, and budgetRate more each
	// second, which takes a thousandth of a core.
	budgetMost = 200_000
	budgetRate = 30_000
)

// estimate is the memory of objects, estimated from a sample. The zero value means that there is
// none.
type estimate struct {
	sampled int       // the number of objects in the sample
	at      time.Time // the time of the sample
	object  float64   // mean bytes of an object; memory that objects of the sample share counts once
	key     float64   // mean bytes of the text of its key
}

// newBudget returns the budget of a process for samples, in visited values. A sample may overdraw
// it.
func newBudget() *rate.Limiter { return rate.NewLimiter(budgetRate, budgetMost) }

// allows reports whether a sample may be taken. A first estimate needs a positive budget, a newer
// one half of it, so that first estimates have precedence.
func allows(budget *rate.Limiter, now time.Time, first bool) bool {
	left := budget.TokensAt(now)
	return left > budgetMost/2 || first && left > 0
}

// sample is the estimate for one set of objects. The zero value has none. It keeps no object.
type sample struct {
	mu struct {
		sync.Mutex
		last estimate
	}
}

// of returns an estimate. It takes a new sample if the last one is old or missing and the budget
// allows one. take returns at most most objects, and the bytes of their keys.
func (s *sample) of(budget *rate.Limiter, now time.Time, take func(most int) (objects []any, keys int)) estimate {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.mu.last
	first := known.sampled == 0
	if !first && now.Sub(known.at) < sampleAge || !allows(budget, now, first) {
		return *known
	}
	objects, keys := take(mostSampled)
	if len(objects) == 0 {
		return *known
	}
	bytes, looked, left := footprint.Objects(objects, sampleSteps)
	budget.ReserveN(now, sampleSteps-left)
	*known = estimate{
		sampled: looked, at: now,
		object: float64(bytes) / float64(looked), key: float64(keys) / float64(len(objects)),
	}
	return *known
}
