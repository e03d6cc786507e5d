// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// The size of a chart, in units of its own: it is drawn as wide as there is room.
const (
	chartWidth  = 300
	chartHeight = 60
)

// chartSpans are the times that charts may show, the first that all samples fit into.
var chartSpans = []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, chartSpan}

// chartGap is how long nobody has looked if a line is interrupted.
const chartGap = 30 * time.Second

// chart is the course of one figure.
type chart struct {
	Title     string
	Now, Most string
	Lines     []string // the points of each, as SVG has them: "x,y x,y"
}

// charts are those of an informer.
type charts struct {
	Span   string // that they show, up to now
	Charts []chart
}

// point is a value at a time.
type point struct {
	at    time.Time
	value float64
}

// chartsOf draws samples.
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

// spanOf returns the time that a chart shows of samples from so long ago on.
func spanOf(age time.Duration) time.Duration {
	for _, span := range chartSpans {
		if age <= span {
			return span
		}
	}
	return chartSpan
}

// draw draws values of a figure from 0 up to the largest. A point alone is no line.
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

// unbroken returns the parts of at least two points that have no gap.
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
