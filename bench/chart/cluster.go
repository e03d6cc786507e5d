// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/stats"
)

// palette are the colors of figures, those of the two sides first.
var palette = append(colors[:],
	color.RGBA{R: 0xc8, G: 0x5a, B: 0x1e, A: 0xff}, color.RGBA{R: 0x4b, G: 0x4e, B: 0xa8, A: 0xff})

var errColor = errors.New("there is no such color")

// clusterPictures draws all figures of a file into a folder, which has no others after that.
func clusterPictures(from, out string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("read figures: %w", err)
	}
	var all []report.Figure
	if err := json.Unmarshal(content, &all); err != nil {
		return fmt.Errorf("read figures: %s: %w", from, err)
	}
	if len(all) == 0 {
		return fmt.Errorf("%s: %w", from, errNothing)
	}
	if err := clear(out); err != nil {
		return err
	}
	for _, f := range all {
		if err := clusterPicture(f, filepath.Join(out, f.File)); err != nil {
			return fmt.Errorf("%s: %w", f.File, err)
		}
	}
	return nil
}

// clusterPicture draws one figure into a file.
func clusterPicture(f report.Figure, path string) error {
	canvas := plot.New()
	canvas.Title.Text, canvas.Title.Padding = f.Title, vg.Points(6)
	canvas.Legend.Top, canvas.Legend.Left = true, true
	grid := plotter.NewGrid()
	grid.Vertical.Color, grid.Horizontal.Color = gridColor, gridColor
	canvas.Add(grid)
	for _, line := range f.Lines {
		if line.Color < 0 || line.Color >= len(palette) {
			return fmt.Errorf("%w: %d", errColor, line.Color)
		}
		drawn, dots, err := plotter.NewLinePoints(placed(line.Points, f.X == "percentile"))
		if err != nil {
			return fmt.Errorf("%s: %w", line.Label, err)
		}
		drawn.Color, drawn.Width, dots.Color = palette[line.Color], vg.Points(1.5), palette[line.Color]
		canvas.Add(drawn, dots)
		canvas.Legend.Add(line.Label, drawn, dots)
	}
	frame(canvas, f)
	if err := canvas.Save(width, 9*vg.Centimeter, path); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	return nil
}

// frame makes the axes: whole powers of ten upwards, with room for the legend, and each x that
// there is.
func frame(canvas *plot.Plot, f report.Figure) {
	canvas.X.Label.Text, canvas.Y.Label.Text = f.X, f.Y
	canvas.Y.Scale, canvas.Y.Tick.Marker = plot.LogScale{}, powerTicks{}
	canvas.Y.Min = math.Pow(10, math.Floor(math.Log10(max(canvas.Y.Min, lowestShown))))
	canvas.Y.Max = math.Pow(10, math.Floor(math.Log10(max(canvas.Y.Max, lowestShown)))+1)
	if f.X == "percentile" {
		canvas.X.Tick.Marker = plot.ConstantTicks(percentileTicks())
		return
	}
	var ticks []plot.Tick
	for _, line := range f.Lines {
		for _, p := range line.Points {
			ticks = append(ticks, plot.Tick{Value: p[0], Label: stats.Format(p[0])})
		}
	}
	canvas.X.Scale, canvas.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks(ticks)
}
