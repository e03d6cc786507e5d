// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"time"
)

const (
	// evictedBytes exceeds the size of a core's private caches and the reach of its TLB.
	evictedBytes = 8 << 20
	cacheLine    = 64
	// coldOperations is the number of measured operations per phase in a full run.
	coldOperations = 1000
)

// evict evicts a store from a core's private caches by reading other memory, which was written before:
// the kernel maps all pages that were never written to one page of zeros. A caller that keeps the sum
// keeps the compiler from removing the loads.
func evict(other []byte) (sum byte) {
	for i := 0; i < len(other); i += cacheLine {
		sum += other[i]
	}
	return sum
}

// coldRound measures single operations, each after evicting the store, the objects and the code
// from the caches. The sample is the median duration of an operation. For several phases, the
// sample is the mean of their medians, or the sum if they are paired. On both sides it includes two
// readings of the clock.
func (s sized) coldRound(e *env, targets []target) (outcome, error) {
	targets = targets[:min(len(targets), e.ops(coldOperations))]
	took := make([]time.Duration, len(targets))
	var reads int64
	var total time.Duration
	other, target := bytes.Repeat([]byte{1}, evictedBytes), new(target)
	for _, do := range s.phases {
		for i := range targets {
			runtime.KeepAlive(evict(other))
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
