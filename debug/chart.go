// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The size of a chart, in its own units: it is scaled to the available width.
const (
	chartWidth  = 300
	chartHeight = 60
)

// chartSpans are the possible time spans of charts. The first one that has room for all samples is
// used.
var chartSpans = []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, chartSpan}

// chartGap is the longest time between two samples that a line connects.
const chartGap = 30 * time.Second

// chart is the graph of one value.
type chart struct {
	Title     string
	Now, Most string
	Lines     []string // the points of each line in SVG form: "x,y x,y"
}

// charts are the charts of an informer.
type charts struct {
	Span   string // the time span, up to now
	Charts []chart
}

// point is a value at a time.
type point struct {
	at    time.Time
	value float64
}

// chartsOf returns the charts of samples.
func chartsOf(samples []sample) charts {
	if len(samples) == 0 {
		return charts{}
	}
	var rates, lags, heaps []point
	for i, s := range samples {
		if i > 0 {
			last := samples[i-1]
			rates = append(rates, point{s.at, max(0, float64(s.events-last.events)/s.at.Sub(last.at).Seconds())})
		}
		lags = append(lags, point{s.at, s.lag})
		heaps = append(heaps, point{s.at, float64(s.heap)})
	}
	now := samples[len(samples)-1].at
	span := spanOf(now.Sub(samples[0].at))
	return charts{shortly(span), []chart{
		draw("Events/s", rates, now, span, rateText),
		draw("Lag", lags, now, span, seconds),
		draw("Heap of the process", heaps, now, span, func(v float64) string { return size(int64(v)) }),
	}}
}

// spanOf returns the time span for samples of a given age.
func spanOf(age time.Duration) time.Duration {
	for _, span := range chartSpans {
		if age <= span {
			return span
		}
	}
	return chartSpan
}

// draw returns the chart of a value, scaled from 0 to its maximum. A single point is not a line.
func draw(title string, points []point, now time.Time, span time.Duration, text func(float64) string) chart {
	if len(points) == 0 {
		return chart{Title: title}
	}
	most := 0.0
	for _, p := range points {
		most = max(most, p.value)
	}
	c := chart{Title: title, Now: text(points[len(points)-1].value), Most: text(most)}
	for _, line := range unbroken(points) {
		var b strings.Builder
		for _, p := range line {
			x := chartWidth * (1 - now.Sub(p.at).Seconds()/span.Seconds())
			y := float64(chartHeight)
			if most > 0 {
				y *= 1 - p.value/most
			}
			fmt.Fprintf(&b, "%.1f,%.1f ", x, y)
		}
		c.Lines = append(c.Lines, strings.TrimSpace(b.String()))
	}
	return c
}

// unbroken splits points at gaps, and returns the parts with at least two points.
func unbroken(points []point) (lines [][]point) {
	begin := 0
	for i := range points {
		if i+1 < len(points) && points[i+1].at.Sub(points[i].at) <= chartGap {
			continue
		}
		if i > begin {
			lines = append(lines, points[begin:i+1])
		}
		begin = i + 1
	}
	return lines
}

func rateText(r float64) string { return strconv.FormatFloat(r, 'f', 1, 64) }
