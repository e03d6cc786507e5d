// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/bench/cluster/internal/result"
)

func TestSlopes(t *testing.T) {
	line, noise := make([]float64, 500), make([]float64, 500)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range line {
		line[i] = 100 + 0.5*float64(i)
		noise[i] = 100 + random.NormFloat64()
	}
	slope, uncertain := slopeOf(line)
	assert.InDelta(t, 0.5, slope, 1e-9)
	assert.InDelta(t, 0, uncertain, 1e-9)
	slope, uncertain = slopeOf(noise)
	assert.InDelta(t, 0, slope, 4*uncertain)
	assert.InEpsilon(t, 1/math.Sqrt(500.0*500*500/12), uncertain, 0.5, "what least squares give for such noise")
	_, uncertain = slopeOf([]float64{1, 2})
	assert.True(t, math.IsInf(uncertain, 1))
}

// TestSoak makes each fault once.
func TestSoak(t *testing.T) {
	needProc(t)
	s := result.Spec{Nodes: 20, Side: "shared", Encoding: "protobuf", Speed: 60, Churn: 20, Seed: 7, Steady: time.Second}
	var page strings.Builder
	require.NoError(t, soak(t.Context(), s, time.Second, &page, io.Discard))
	text := page.String()
	assert.Contains(t, text, "nothing was lost")
	for _, f := range faults {
		assert.Regexp(t, `[1-9]\d* times `+f.name, text)
	}
	assert.Contains(t, text, "12 audits of an informer")
	assert.Regexp(t, `live heap: [1-9]\d* to \d+ MiB; no slope: the tables of shared texts and parts were never full`, text)
	assert.Contains(t, text, "1.5 to 2 times its first value")
	assert.Regexp(t, `goroutines: \d+ to \d+`, text)
}
