// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// Summary is the median and the range of some samples.
type Summary struct {
	// N is the number of samples.
	N int
	// Median is the middle sample, or the mean of the two in the middle.
	Median float64
	// Min and Max are the smallest and the largest sample.
	Min, Max float64
}

// Summarize condenses samples, which it leaves as they are. No samples give
// the zero Summary.
func Summarize(samples []float64) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	sorted := slices.Sorted(slices.Values(samples))
	return Summary{N: len(sorted), Median: median(sorted), Min: sorted[0], Max: sorted[len(sorted)-1]}
}

func median(sorted []float64) float64 {
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// Spread is the range as a fraction of the median: 0.25 when all samples lie
// within a quarter of the median. It is 0 when all samples are equal, and
// infinite when only the median is 0.
func (s Summary) Spread() float64 {
	if s.Max == s.Min {
		return 0
	}
	return (s.Max - s.Min) / math.Abs(s.Median)
}

// NoiseLimit is the spread from which the median of one side says too little
// to be divided by another: the range is then as wide as the median is high.
const NoiseLimit = 1.0

// Verdict compares side A with side B for a measure of which less is better.
type Verdict struct {
	// Ratio is A's median over B's: above 1, B is better.
	Ratio float64
	// Noisy says that a side's spread exceeds NoiseLimit, so that Ratio means
	// little.
	Noisy bool
	// Bound is what the ratio is at least (above 1) or at most (below 1) when
	// the two ranges do not touch, however noisy they are; else 0.
	Bound float64
	// Best is A's worst sample over B's best one: what the ratio can be at most.
	Best float64
}

// Compare judges the samples of two sides.
func Compare(a, b Summary) Verdict {
	v := Verdict{
		Ratio: a.Median / b.Median,
		Noisy: a.Spread() > NoiseLimit || b.Spread() > NoiseLimit,
		Best:  a.Max / b.Min,
	}
	switch {
	case a.Min > b.Max:
		v.Bound = a.Min / b.Max
	case a.Max < b.Min:
		v.Bound = a.Max / b.Min
	}
	return v
}

// closeRatio is how far apart two sides may be and still be close.
const closeRatio = 1.15

// Close reports whether the sides are within 15 % of each other, so that few
// samples do not tell which is better.
func (v Verdict) Close() bool { return v.Ratio < closeRatio && v.Ratio > 1/closeRatio }

// String is the verdict as it stands in a table: the ratio, after "≈" where
// the two ranges touch; or "noisy" with the bound where there is one; or a
// dash where both sides are zero.
func (v Verdict) String() string {
	switch {
	case math.IsNaN(v.Ratio):
		return "-"
	case !v.Noisy && v.Bound == 0:
		return "≈ " + Format(v.Ratio)
	case !v.Noisy:
		return Format(v.Ratio)
	case v.Bound > 1:
		return "noisy (≥ " + Format(v.Bound) + ")"
	case v.Bound > 0:
		return "noisy (≤ " + Format(v.Bound) + ")"
	}
	return "noisy"
}

// Percentile returns the smallest sample that at least the fraction p of all
// samples do not exceed (nearest rank). The samples must be sorted; none give
// 0.
func Percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := int(math.Ceil(p * float64(len(sorted))))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// Format writes a figure with three significant digits; from 1000 on as a
// whole number with thousands apart.
func Format(x float64) string {
	switch {
	case math.IsNaN(x), math.IsInf(x, 0):
		return strconv.FormatFloat(x, 'g', -1, 64)
	case x == 0:
		return "0"
	case math.Abs(x) >= 999.5:
		return thousands(strconv.FormatFloat(x, 'f', 0, 64))
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	if digits > 4 {
		return strconv.FormatFloat(x, 'g', 2, 64)
	}
	return strconv.FormatFloat(x, 'f', max(digits, 0), 64)
}

// thousands puts commas into a whole number.
func thousands(number string) string {
	sign, digits := "", number
	if strings.HasPrefix(number, "-") {
		sign, digits = "-", number[1:]
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	return b.String()
}
