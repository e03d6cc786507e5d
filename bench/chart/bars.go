// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/stats"
)

const (
	// rowHeight is the height of the two bars of a row, frameHeight what the
	// rest of a picture takes.
	rowHeight   = 0.75 * vg.Centimeter
	frameHeight = 3 * vg.Centimeter
	barWidth    = 0.27 // of the distance between two rows
)

// bars draws the first measure of each row on a logarithmic scale on which the
// first side's median is 1, and returns the height that the picture needs. The
// bars end at the medians; the lines over them are the ranges.
func bars(canvas *plot.Plot, d *report.Document, p report.Picture) vg.Length {
	rows := slices.Clone(p.Bars)
	slices.Reverse(rows) // the first one on top
	var names []string
	var sides [2]barsOf
	for i, row := range rows {
		m := row.Measures[0]
		both := m.Summaries()
		names = append(names, row.Name+"  "+m.Name)
		for side := range sides {
			at := float64(i) + barWidth*(0.5-float64(side))
			sides[side].add(at, both[side], both[0].Median)
		}
	}
	lowest := 1.0
	for side := range sides {
		lowest = min(lowest, sides[side].lowest())
	}
	left := lowest / 2
	for side := range sides {
		sides[side].left, sides[side].color = left, side
		canvas.Add(&sides[side])
		canvas.Legend.Add(d.Sides[side].Name, &sides[side])
	}
	canvas.NominalY(names...)
	canvas.X.Scale, canvas.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ratioTicks(left))
	canvas.X.Label.Text = "relative to the median of " + d.Sides[0].Name + "; less is better; bar: median, line: range"
	canvas.X.Min, canvas.X.Max = left, max(canvas.X.Max, 1)*1.3
	canvas.Y.Min, canvas.Y.Max = -0.6, float64(len(rows))-0.4
	canvas.Legend.Left = true
	canvas.Legend.Top = true
	canvas.Legend.YOffs = 0.9 * vg.Centimeter
	canvas.Title.Padding = vg.Points(22)
	return frameHeight + rowHeight*vg.Length(len(rows))
}

// ratioTicks are powers of ten, with 2 and 5 between them where there is room
// for their labels.
func ratioTicks(from float64) []plot.Tick {
	var ticks []plot.Tick
	roomy := from > 0.02
	for power := math.Floor(math.Log10(from)); power <= 2; power++ {
		for _, step := range []float64{1, 2, 5} {
			tick := plot.Tick{Value: step * math.Pow(10, power)}
			if step == 1 || roomy {
				tick.Label = stats.Format(tick.Value)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// barsOf are the bars of one side.
type barsOf struct {
	color    int // number of the side
	left     float64
	at       []float64
	measures []stats.Summary // over the first side's median
}

func (b *barsOf) add(at float64, s stats.Summary, unit float64) {
	b.at = append(b.at, at)
	b.measures = append(b.measures, stats.Summary{N: s.N, Median: s.Median / unit, Min: s.Min / unit, Max: s.Max / unit})
}

// lowest is the lowest value above zero.
func (b *barsOf) lowest() float64 {
	lowest := 1.0
	for _, m := range b.measures {
		if m.Min > 0 {
			lowest = min(lowest, m.Min)
		}
	}
	return lowest
}

// Plot draws the bars.
func (b *barsOf) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	place := func(value float64) vg.Length { return x(max(value, b.left)) }
	line := draw.LineStyle{Color: colors[b.color], Width: vg.Points(1)}
	for i, m := range b.measures {
		low, high := y(b.at[i]-barWidth/2), y(b.at[i]+barWidth/2)
		c.FillPolygon(colors[b.color], []vg.Point{
			{X: place(b.left), Y: low}, {X: place(m.Median), Y: low}, {X: place(m.Median), Y: high}, {X: place(b.left), Y: high},
		})
		middle := y(b.at[i])
		line.Color = gridColor
		if m.Min < m.Median {
			c.StrokeLine2(line, place(m.Min), middle, place(m.Median), middle) // within the bar
		}
		line.Color = colors[b.color]
		c.StrokeLine2(line, place(m.Median), middle, place(m.Max), middle)
		c.StrokeLine2(line, place(m.Max), low, place(m.Max), high)
	}
}

// DataRange is what the axes must show.
func (b *barsOf) DataRange() (xmin, xmax, ymin, ymax float64) {
	xmax = 1
	for _, m := range b.measures {
		xmax = max(xmax, m.Max)
	}
	return b.left, xmax, 0, float64(len(b.measures))
}

// Thumbnail is the side's color in the legend.
func (b *barsOf) Thumbnail(c *draw.Canvas) {
	c.FillPolygon(colors[b.color], []vg.Point{
		{X: c.Min.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Min.Y}, {X: c.Max.X, Y: c.Max.Y}, {X: c.Min.X, Y: c.Max.Y},
	})
}

var _ plot.Thumbnailer = (*barsOf)(nil)
