// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"image/color"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/kinformer/cache/bench/internal/report"
)

// colors are those of the two sides.
var colors = [2]color.RGBA{{R: 0x8a, G: 0x93, B: 0x9e, A: 0xff}, {R: 0x0b, G: 0x7a, B: 0x75, A: 0xff}}

var gridColor = color.RGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff}

const width = 18 * vg.Centimeter

// picture draws one picture into a file.
func picture(d *report.Document, p report.Picture, path string) error {
	canvas := plot.New()
	canvas.Title.Text = p.Title
	canvas.Title.Padding = vg.Points(6)
	canvas.Legend.Top = true
	height := 9 * vg.Centimeter
	var err error
	if len(p.Bars) > 0 {
		height = bars(canvas, d, p)
	} else {
		err = lines(canvas, p)
	}
	if err != nil {
		return err
	}
	if err := canvas.Save(width, height, path); err != nil {
		return fmt.Errorf("save: %w", err)
	}
	return nil
}
