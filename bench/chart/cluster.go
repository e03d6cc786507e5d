// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/kinformer/cache/bench/internal/report"
	"github.com/kinformer/cache/bench/internal/stats"
)

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
		if err := light.clusterPicture(f, filepath.Join(out, f.File)); err != nil {
			return fmt.Errorf("%s: %w", f.File, err)
		}
	}
	return nil
}

// clusterPicture draws one figure into a file.
func (t theme) clusterPicture(f report.Figure, path string) error {
	canvas := t.plotLines()
	names := make([]string, len(t.sides))
	for _, line := range f.Lines {
		if line.Color < 0 || line.Color >= len(t.sides) {
			return fmt.Errorf("%w: %d", errColor, line.Color)
		}
		drawn, dots, err := plotter.NewLinePoints(placed(line.Points, f.X == "percentile"))
		if err != nil {
			return fmt.Errorf("%s: %w", line.Label, err)
		}
		drawn.Color, drawn.Width, dots.Color = t.sides[line.Color], vg.Points(1.5), t.sides[line.Color]
		canvas.Add(drawn, dots)
		names[line.Color] = line.Label
	}
	frame(canvas, f)
	return t.save(path, heading{title: f.Title, names: names}, canvas, lineHeight)
}

// frame makes the axes: whole powers of ten upwards, and each x that there is.
func frame(canvas *plot.Plot, f report.Figure) {
	canvas.X.Label.Text, canvas.Y.Label.Text = f.X, report.Words(f.Y)
	powersOfTen(canvas)
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
