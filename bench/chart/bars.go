// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/kinformer/cache/bench/internal/report"
)

const (
	rowHeight  = 0.62 * vg.Centimeter // of a bar, with what is around it
	axisHeight = 1.5 * vg.Centimeter  // of the axis below the bars, and the words over them
	barWidth   = 0.66                 // of the distance between two bars
	gap        = 8                    // between the axis and the figures, in points
)

// saveBars draws bars: the second side's share of what the first one takes, on a linear axis from
// zero on which the first one is 1, with the figures beside them.
func (t theme) saveBars(path string, h heading, p report.Picture) error {
	h.names = namesOf(p)
	return t.save(path, h, t.plotBars(p), axisHeight+rowHeight*vg.Length(len(p.Bars)))
}

// namesOf are the names of the colors of bars, if there is more than one.
func namesOf(p report.Picture) []string {
	for _, b := range p.Bars {
		if b.Color == report.Direct {
			return []string{"", p.Sides[1], p.Sides[1] + " with package direct"}
		}
	}
	return nil
}

func (t theme) plotBars(p report.Picture) *plot.Plot {
	bars := slices.Clone(p.Bars)
	slices.Reverse(bars) // the first one on top
	var names []string
	var labels vg.Length
	style, longest := t.style(textSize), 0.0
	figures := style.Width(over(p.Sides))
	for _, b := range bars {
		names = append(names, b.Label)
		labels, figures = max(labels, style.Width(b.Label)), max(figures, style.Width(b.Figures))
		longest = max(longest, b.Share)
	}
	step := shareStep(longest)
	drawn := &barPlot{bars: bars, sides: p.Sides, end: max(1.25, math.Ceil(longest/step)*step), theme: t}
	drawn.ticks = shareTicks(drawn.end, step)
	canvas := plot.New()
	t.dress(canvas)
	canvas.NominalY(names...)
	canvas.X.Width = 0
	canvas.X.Tick.Marker = plot.ConstantTicks(drawn.ticks)
	room := inside - labels - 4*gap // for axis and figures
	canvas.X.Min, canvas.X.Max = 0, drawn.end*float64(room/(room-figures-gap))
	canvas.Y.Min, canvas.Y.Max = -0.6, float64(len(bars))+0.5
	canvas.Add(drawn)
	return canvas
}

// over is what stands over the figures.
func over(sides [2]string) string { return sides[0] + " → " + sides[1] }

// shareStep is the distance of two ticks: a round number, and not many of them.
func shareStep(longest float64) float64 {
	step := 0.25
	for _, factor := range []float64{2, 2, 5, 2, 2.5, 2, 2, 2.5, 2} {
		if longest <= 8*step {
			break
		}
		step *= factor
	}
	return step
}

// shareTicks are those of the axis, 1 among them.
func shareTicks(end, step float64) (ticks []plot.Tick) {
	for value := 0.0; value <= end; value += step {
		ticks = append(ticks, plot.Tick{Value: value, Label: strconv.FormatFloat(value, 'g', -1, 64)})
	}
	return ticks
}

// barPlot are the bars, the line of the first side, and the figures.
type barPlot struct {
	bars  []report.Bar // from below
	sides [2]string
	ticks []plot.Tick
	end   float64 // of the axis
	theme theme
}

// Plot draws them.
func (b *barPlot) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	top := y(float64(len(b.bars)) - 0.4)
	for _, tick := range b.ticks {
		c.StrokeLine2(draw.LineStyle{Color: b.theme.grid, Width: vg.Points(0.75)}, x(tick.Value), c.Min.Y, x(tick.Value), top)
	}
	style := b.theme.style(textSize)
	for i, bar := range b.bars {
		low, high := y(float64(i)-barWidth/2), y(float64(i)+barWidth/2)
		c.FillPolygon(b.theme.sides[bar.Color], box(x(0), x(bar.Share), low, high))
		style.YAlign = draw.YCenter
		c.FillText(style, vg.Point{X: x(b.end) + gap, Y: y(float64(i))}, bar.Figures)
	}
	c.StrokeLine2(draw.LineStyle{Color: b.theme.sides[0], Width: vg.Points(2)}, x(1), c.Min.Y, x(1), top)
	style.YAlign = draw.YBottom
	c.FillText(style, vg.Point{X: x(b.end) + gap, Y: top + gap/2}, over(b.sides))
	style.XAlign = draw.XCenter
	c.FillText(style, vg.Point{X: x(1), Y: top + gap/2}, b.sides[0])
}

var _ plot.Plotter = (*barPlot)(nil)
