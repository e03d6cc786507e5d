// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestHeapSlope(t *testing.T) {
	samples := func(mib ...uint64) (list []HeapSample) {
		for i, n := range mib {
			list = append(list, HeapSample{After: time.Duration(i) * 30 * time.Minute, Bytes: n << 20})
		}
		return list
	}
	slope, deviation := heapSlope(samples(100, 101, 102, 103))
	assert.InDelta(t, 2, slope, 1e-9)
	assert.InDelta(t, 0, deviation, 1e-6)
	slope, deviation = heapSlope(samples(100, 102, 100, 102, 100))
	assert.InDelta(t, 0, slope, 1e-9)
	assert.InDelta(t, 0.8, deviation, 1e-9)
	slope, _ = heapSlope(samples(100, 101))
	assert.True(t, math.IsNaN(slope), "two points say nothing")
}
