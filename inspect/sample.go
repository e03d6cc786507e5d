// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"sync"
	"time"
)

const (
	// mostSampled is how many objects are looked at: the mean of 64 pods of one cluster is within a
	// tenth of that of all.
	mostSampled = 64
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

// estimate is how much memory objects take, by a sample of them. The zero value is none.
type estimate struct {
	sampled int       // how many objects were looked at
	at      time.Time // when
	object  float64   // mean bytes of one, with what it shares with others of the sample counted once
	key     float64   // mean bytes of the text of its key
}

// budget bounds what samples cost a process. The zero value is full.
type budget struct {
	mu struct {
		sync.Mutex
		spent float64 // of budgetMost, so far
		at    time.Time
	}
}

// allows reports whether a sample may be taken: for a first estimate if anything is left, for a
// newer one if half of it is, so that those who have none get theirs.
func (b *budget) allows(now time.Time, first bool) bool {
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

func (b *budget) spend(steps int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.mu.spent += float64(steps)
}

// sample is the estimate of one set of objects. The zero value has none yet. It keeps no object.
type sample struct {
	mu struct {
		sync.Mutex
		known estimate
	}
}

// of returns an estimate: the last one, or if that is old, or there is none, and the budget allows
// it, a new one of the objects that take returns, with the bytes of their keys.
func (s *sample) of(b *budget, now time.Time, take func(most int) (objects []any, keys int)) estimate {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := &s.mu.known
	first := known.sampled == 0
	if !first && now.Sub(known.at) < sampleAge || !b.allows(now, first) {
		return *known
	}
	objects, keys := take(mostSampled)
	if len(objects) == 0 {
		return *known
	}
	bytes, looked, left := sizeOf(objects, sampleSteps)
	b.spend(sampleSteps - left)
	*known = estimate{
		sampled: looked, at: now,
		object: float64(bytes) / float64(looked), key: float64(keys) / float64(len(objects)),
	}
	return *known
}
