// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"time"
)

const (
	// evictedBytes is more than a core's own caches hold, and than its TLB maps.
	evictedBytes = 8 << 20
	cacheLine    = 64
	// coldOperations is how many operations of a phase are measured in a full run.
	coldOperations = 1000
)

// evictor empties a core's own caches of a store, by reading other memory.
type evictor struct {
	memory []byte
	sum    byte // keeps the compiler from leaving out the loads
}

func newEvictor() *evictor {
	e := &evictor{memory: make([]byte, evictedBytes)}
	for i := range e.memory {
		e.memory[i] = byte(i) // the kernel backs pages that were never written by one page of zeros
	}
	return e
}

func (e *evictor) evict() {
	for i := 0; i < len(e.memory); i += cacheLine {
		e.sum += e.memory[i]
	}
}

// coldRound measures one operation at a time, each after the caches were evicted: of the store, of the
// objects and of the code. The sample is the median of the operations; of several phases, the mean of
// their medians, or the sum if they are paired. It includes two readings of the clock, on both sides.
func (s sized) coldRound(e *env, targets []target) (outcome, error) {
	targets = targets[:min(len(targets), e.ops(coldOperations))]
	took := make([]time.Duration, len(targets))
	var reads int64
	var total time.Duration
	other, target := newEvictor(), new(target)
	for _, do := range s.phases {
		for i := range targets {
			other.evict()
			*target = targets[i]
			start := time.Now()
			n, err := do(target)
			took[i] = time.Since(start)
			if err != nil {
				return outcome{}, fmt.Errorf("%s: %w", s.name, err)
			}
			reads += int64(n)
		}
		slices.Sort(took)
		total += took[len(took)/2]
	}
	if !s.paired {
		total /= time.Duration(len(s.phases))
	}
	check, err := s.check(targets, reads)
	return outcome{samples: []sample{{"wall", "ns/op", float64(total)}}, check: check}, err
}
