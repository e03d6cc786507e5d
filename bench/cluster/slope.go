// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "math"

// slopeBins is into how many means samples are put together, so that those that follow each other
// closely, and are alike, do not pass for many.
const slopeBins = 20

// slopeOf returns by how much samples rise from one to the next, by least squares, and the standard
// error of that; infinite if there are too few to tell.
func slopeOf(samples []float64) (slope, uncertain float64) {
	n := min(slopeBins, len(samples))
	if n < 3 {
		return 0, math.Inf(1)
	}
	means, width := make([]float64, n), float64(len(samples))/float64(n)
	for i := range means {
		from, to := int(float64(i)*width), int(float64(i+1)*width)
		for _, s := range samples[from:to] {
			means[i] += s / float64(to-from)
		}
	}
	middle := float64(n-1) / 2
	var xx, xy, mean, squares float64
	for i, m := range means {
		x := float64(i) - middle
		xx += x * x
		xy += x * m
		mean += m / float64(n)
	}
	slope = xy / xx
	for i, m := range means {
		off := m - mean - slope*(float64(i)-middle)
		squares += off * off
	}
	return slope / width, math.Sqrt(squares/float64(n-2)/xx) / width
}
