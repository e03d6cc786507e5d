// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/stats"
)

// lineHeight is the height of a picture of lines, without its heading.
const lineHeight = 9 * vg.Centimeter

// saveLines draws curves, a line for each round.
func (t theme) saveLines(path string, p report.Picture) error {
	canvas := t.plotLines()
	for _, line := range p.Lines {
		for _, points := range line.Curve.Rounds[line.Side] {
			drawn, err := plotter.NewLine(placed(points, p.Log))
			if err != nil {
				return fmt.Errorf("%s: %w", p.Sides[line.Side], err)
			}
			drawn.Color, drawn.Width = t.sides[line.Side], vg.Points(1.2)
			canvas.Add(drawn)
		}
	}
	curve := p.Lines[0].Curve
	canvas.X.Label.Text, canvas.Y.Label.Text = report.Words(curve.X), report.Words(curve.Y)
	if p.Log {
		canvas.X.Tick.Marker = plot.ConstantTicks(percentileTicks())
		powersOfTen(canvas)
	} else {
		canvas.Y.Min = min(0, canvas.Y.Min)
	}
	return t.save(path, heading{title: p.Title, says: p.Says, names: p.Sides[:]}, canvas, lineHeight)
}

// plotLines is a plot with a grid, and no lines yet.
func (t theme) plotLines() *plot.Plot {
	canvas := plot.New()
	t.dress(canvas)
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = t.grid, t.grid
	canvas.Add(grid)
	return canvas
}

// lowestShown is what a value of zero is drawn as where the axis is logarithmic: the clock's
// resolution, in microseconds.
const lowestShown = 0.01

// powersOfTen makes the vertical axis logarithmic, between whole powers of ten.
func powersOfTen(canvas *plot.Plot) {
	canvas.Y.Scale, canvas.Y.Tick.Marker = plot.LogScale{}, powerTicks{}
	canvas.Y.Min = math.Pow(10, math.Floor(math.Log10(max(canvas.Y.Min, lowestShown))))
	canvas.Y.Max = math.Pow(10, math.Ceil(math.Log10(max(canvas.Y.Max, 10*canvas.Y.Min))))
}

// placed is where points lie. Percentiles lie where the share of what is above them falls by equal
// factors, so that 99 and 99.9 are as far apart as 90 and 99; the last, 100, is drawn where 99.99
// would follow.
func placed(points []report.Point, percentiles bool) plotter.XYs {
	xys := make(plotter.XYs, 0, len(points))
	for _, p := range points {
		x, y := p[0], p[1]
		if percentiles {
			x, y = percentilePlace(x), max(y, lowestShown)
		}
		xys = append(xys, plotter.XY{X: x, Y: y})
	}
	return xys
}

func percentilePlace(percentile float64) float64 {
	return -math.Log10(1 - min(percentile, 99.997)/100)
}

func percentileTicks() []plot.Tick {
	var ticks []plot.Tick
	for _, p := range []float64{10, 50, 90, 99, 99.9, 99.99} {
		ticks = append(ticks, plot.Tick{Value: percentilePlace(p), Label: strconv.FormatFloat(p, 'f', -1, 64)})
	}
	return append(ticks, plot.Tick{Value: percentilePlace(100), Label: "max"})
}

// powerTicks are the powers of ten and, unlabeled, what lies between.
type powerTicks struct{}

// Ticks returns the ticks of the range.
func (powerTicks) Ticks(lowest, highest float64) []plot.Tick {
	var ticks []plot.Tick
	for power := math.Floor(math.Log10(lowest)); power <= math.Ceil(math.Log10(highest)); power++ {
		for step := 1.0; step < 10; step++ {
			tick := plot.Tick{Value: step * math.Pow(10, power)}
			if step == 1 {
				tick.Label = stats.Format(tick.Value)
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}
