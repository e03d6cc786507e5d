// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSummarize(t *testing.T) {
	assert.Equal(t, Summary{}, Summarize(nil))
	assert.Equal(t, Summary{N: 3, Median: 2, Min: 1, Max: 9}, Summarize([]float64{9, 1, 2}))
	assert.Equal(t, Summary{N: 4, Median: 2.5, Min: 1, Max: 9}, Summarize([]float64{9, 3, 1, 2}))

	samples := []float64{3, 1, 2}
	Summarize(samples)
	assert.Equal(t, []float64{3, 1, 2}, samples, "the caller's samples keep their order")
}

func TestSpread(t *testing.T) {
	assert.Zero(t, Summarize([]float64{5, 5, 5}).Spread())
	assert.Zero(t, Summarize([]float64{0, 0}).Spread())
	assert.InDelta(t, 0.5, Summarize([]float64{8, 10, 13}).Spread(), 1e-9)
	assert.True(t, math.IsInf(Summarize([]float64{0, 0, 4}).Spread(), 1))
}

func TestCompare(t *testing.T) {
	calm := Summarize([]float64{10, 11, 12})
	tests := map[string]struct {
		a, b Summary
		want string
	}{
		"better":            {Summarize([]float64{20, 22, 24}), calm, "2.00"},
		"worse":             {calm, Summarize([]float64{20, 22, 24}), "0.500"},
		"ranges touch":      {Summarize([]float64{11, 12, 13}), calm, "≈ 1.09"},
		"noise hides it":    {Summarize([]float64{5, 22, 50}), calm, "noisy"},
		"better in any way": {Summarize([]float64{24, 100, 500}), calm, "noisy (≥ 2.00)"},
		"worse in any way":  {Summarize([]float64{0.1, 1, 3}), calm, "noisy (≤ 0.300)"},
		"both zero":         {Summarize([]float64{0, 0}), Summarize([]float64{0, 0}), "-"},
		"other side zero":   {calm, Summarize([]float64{0, 0}), "+Inf"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, test.want, Compare(test.a, test.b).String())
		})
	}
}

func TestNoisyOnEitherSide(t *testing.T) {
	calm, wild := Summarize([]float64{10, 11, 12}), Summarize([]float64{1, 10, 30})
	assert.False(t, Compare(calm, calm).Noisy)
	assert.True(t, Compare(calm, wild).Noisy)
	assert.True(t, Compare(wild, calm).Noisy)
}

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	assert.Zero(t, Percentile(nil, 0.5))
	assert.Equal(t, 50.0, Percentile(hundred, 0.5))
	assert.Equal(t, 99.0, Percentile(hundred, 0.99))
	assert.Equal(t, 100.0, Percentile(hundred, 0.999))
	assert.Equal(t, 1.0, Percentile(hundred, 0))
	assert.Equal(t, 100.0, Percentile(hundred, 1))
}

func TestFormat(t *testing.T) {
	for want, x := range map[string]float64{
		"0": 0, "0.0123": 0.01234, "0.00034": 0.000344, "1.66": 1.661, "43.2": 43.18, "891": 891.2, "999": 999.4,
		"1,000": 999.6, "12,630": 12630.4, "1,234,567": 1234567, "-12,630": -12630, "-1.50": -1.5,
		"NaN": math.NaN(),
	} {
		assert.Equal(t, want, Format(x))
	}
}

func TestClose(t *testing.T) {
	for ratio, want := range map[float64]bool{1: true, 1.14: true, 0.88: true, 1.16: false, 0.86: false, math.NaN(): false} {
		assert.Equal(t, want, Verdict{Ratio: ratio}.Close(), ratio)
	}
}
