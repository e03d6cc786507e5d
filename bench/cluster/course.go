// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"time"
)

// point is an amount of memory, in MiB, at a time since the soak began.
type point struct {
	at  time.Duration
	mib float64
}

// course has points in the order of time, at about equal distances.
type course []point

const (
	// settling is the least time before a slope begins. A cluster begins uniform, with a compact
	// heap; how it becomes mixed is no leak.
	settling = 20 * time.Minute
	// fewest is how many points a slope takes: one for each of its means.
	fewest = slopeBins

	never = time.Duration(math.MaxInt64)
)

// since says where the memory was, and how it rose since the tables of shared texts and parts were
// full, but not before settling.
func (c course) since(full time.Duration) string {
	least, most := math.Inf(1), 0.0
	begin := max(full, settling)
	var settled course
	for _, p := range c {
		least, most = min(least, p.mib), max(most, p.mib)
		if p.at >= begin {
			settled = append(settled, p)
		}
	}
	text := fmt.Sprintf("%.0f to %.0f MiB; ", least, most)
	switch {
	case full == never:
		return text + "no slope: the tables of shared texts and parts were never full"
	case len(settled) < fewest:
		return text + fmt.Sprintf("no slope: %d samples since minute %.0f, and it takes %d", len(settled), begin.Minutes(), fewest)
	}
	slope, uncertain := settled.slope()
	return text + fmt.Sprintf("since minute %.0f %+.1f ± %.1f MiB an hour (%d samples)", begin.Minutes(), slope, uncertain, len(settled))
}

// slope returns by how many MiB an hour the memory rises, and the standard error of that.
func (c course) slope() (slope, uncertain float64) {
	var samples []float64
	for _, p := range c {
		samples = append(samples, p.mib)
	}
	last := len(c) - 1
	hour := float64(last) / (c[last].at - c[0].at).Hours()
	slope, uncertain = slopeOf(samples)
	return slope * hour, uncertain * hour
}

func mib(bytes uint64) float64 { return float64(bytes) / (1 << 20) }
