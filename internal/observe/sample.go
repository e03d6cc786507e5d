// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"sync"
	"time"
)

const (
	// sampled is how many objects are looked at: the mean of 64 pods of one cluster is within a
	// tenth of that of all.
	sampled = 64
	// sampleSteps bounds the values that are looked at in one sample: 64 pods have some 30,000, at
	// 30 ns each.
	sampleSteps = 50_000
	// sampleAge is how long an estimate is good for: the mean size of objects changes slowly.
	sampleAge = 10 * time.Minute

	// The process may look at budgetMost values at once, 6 ms, and at budgetRate more each second,
	// a thousandth of a core.
	budgetMost = 200_000
	budgetRate = 30_000
)

// Estimate is how much memory objects take, by a sample of them. The zero value is none.
type Estimate struct {
	Sampled int       // how many objects were looked at
	At      time.Time // when
	Object  float64   // mean bytes of one, with what it shares with others of the sample counted once
	Key     float64   // mean bytes of the text of its key
}

// Budget bounds what samples cost a process. The zero value is full.
type Budget struct {
	mu struct {
		sync.Mutex
		spent float64 // of budgetMost, so far
		at    time.Time
	}
}

// allows reports whether a sample may be taken: for a first estimate if anything is left, for a
// newer one if half of it is, so that those who have none get theirs.
func (b *Budget) allows(now time.Time, first bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch gone := now.Sub(b.mu.at); {
	case gone > 0:
		b.mu.spent, b.mu.at = max(0, b.mu.spent-gone.Seconds()*budgetRate), now
	case gone < -time.Second: // another clock, of another test; not only somebody who was slow to ask
		b.mu.spent, b.mu.at = 0, now
	}
	return b.mu.spent < budgetMost/2 || first && b.mu.spent < budgetMost
}

func (b *Budget) spend(steps int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.spent += float64(steps)
}

// Sample is the estimate of one set of objects. The zero value has none yet. It keeps no object.
type Sample struct {
	mu struct {
		sync.Mutex
		known Estimate
	}
}

// Of returns an estimate: the last one, or if that is old, or there is none, and the budget allows
// it, a new one of the objects that take returns, with the bytes of their keys.
func (s *Sample) Of(b *Budget, now time.Time, take func(most int) (objects []any, keys int)) Estimate {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.mu.known
	first := known.Sampled == 0
	if !first && now.Sub(known.At) < sampleAge || !b.allows(now, first) {
		return *known
	}
	objects, keys := take(sampled)
	if len(objects) == 0 {
		return *known
	}
	bytes, looked, left := sizeOf(objects, sampleSteps)
	b.spend(sampleSteps - left)
	*known = Estimate{
		Sampled: looked, At: now,
		Object: float64(bytes) / float64(looked), Key: float64(keys) / float64(len(objects)),
	}
	return *known
}
