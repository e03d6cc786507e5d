// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"math"
	"time"
)

// HeapSample is what is alive of the heap after a collection.
type HeapSample struct {
	After time.Duration // since the start of the run
	Bytes uint64
}

// heapSlope returns how the heap grows, in MiB an hour, and the standard error of that, by least
// squares; NaN for fewer than three samples.
func heapSlope(samples []HeapSample) (slope, deviation float64) {
	n := float64(len(samples))
	if n < 3 {
		return math.NaN(), math.NaN()
	}
	var sumX, sumY float64
	for _, s := range samples {
		sumX, sumY = sumX+s.After.Hours(), sumY+mib(s.Bytes)
	}
	meanX, meanY := sumX/n, sumY/n
	var xx, xy, yy float64
	for _, s := range samples {
		x, y := s.After.Hours()-meanX, mib(s.Bytes)-meanY
		xx, xy, yy = xx+x*x, xy+x*y, yy+y*y
	}
	slope = xy / xx
	return slope, math.Sqrt(max(0, yy-slope*xy) / (n - 2) / xx)
}
