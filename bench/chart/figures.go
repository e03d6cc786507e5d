// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// figure is a row of the table of figures in README.md.
type figure struct {
	what        string
	both        string  // client-go's and ours, as they are written there
	share, edge float64 // ours over client-go's, and where the bar ends
}

// figureRow is a row of that table: text, client-go's figure, ours, ratio, and where they are from.
var figureRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\| ([\\d.,]+) \\| ([\\d.,]+) \\| [^|]+ \\| `[a-z]+/")

// widest is where the axis of shares ends; bars that are longer end there.
const widest = 1.75

// readFigures returns the figures of a README.md, the last one first.
func readFigures(path string) (figures []figure, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read figures: %w", err)
	}
	for _, cells := range figureRow.FindAllStringSubmatch(string(content), -1) {
		theirs, err := number(cells[2])
		if err != nil {
			return nil, err
		}
		ours, err := number(cells[3])
		if err != nil {
			return nil, err
		}
		f := figure{what: strings.ReplaceAll(cells[1], "`", ""), both: cells[2] + " → " + cells[3], share: ours / theirs}
		f.edge = min(f.share, widest)
		figures = append(figures, f)
	}
	if len(figures) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNothing)
	}
	slices.Reverse(figures)
	return figures, nil
}

func number(cell string) (float64, error) {
	value, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64)
	if err != nil {
		return 0, fmt.Errorf("read figures: %w", err)
	}
	return value, nil
}

// theme has the colors of a picture for one mode of a browser.
type theme struct{ back, ink, grid, theirs, ours color.RGBA }

var themes = map[string]theme{
	"light": {back: color.RGBA{0xff, 0xff, 0xff, 0xff}, ink: color.RGBA{0x1f, 0x23, 0x28, 0xff}, grid: gridColor, theirs: colors[0], ours: colors[1]},
	"dark": {back: color.RGBA{0x0d, 0x11, 0x17, 0xff}, ink: color.RGBA{0xe6, 0xed, 0xf3, 0xff}, grid: color.RGBA{0x30, 0x36, 0x3d, 0xff},
		theirs: colors[0], ours: color.RGBA{0x3f, 0xb8, 0xaf, 0xff}},
}

// drawFigures draws the figures of a README.md into figures-light.svg and figures-dark.svg.
func drawFigures(readme, folder string) error {
	figures, err := readFigures(readme)
	if err != nil {
		return err
	}
	for name, theme := range themes {
		canvas := plotFigures(figures, theme)
		svg := vgsvg.New(22*vg.Centimeter, frameHeight+0.85*vg.Centimeter*vg.Length(len(figures)))
		all, margin := draw.New(svg), 0.5*vg.Centimeter
		all.SetColor(theme.back)
		all.Fill(all.Rectangle.Path())
		canvas.Draw(draw.Crop(all, margin, -2*margin, margin, -margin))
		var picture bytes.Buffer
		if _, err := svg.WriteTo(&picture); err != nil {
			return fmt.Errorf("draw figures: %w", err)
		}
		// a font that every viewer has
		fonts := bytes.ReplaceAll(picture.Bytes(), []byte("font-family:Liberation Sans"), []byte("font-family:Arial,Helvetica,sans-serif"))
		if err := os.WriteFile(filepath.Join(folder, "figures-"+name+".svg"), fonts, 0o644); err != nil {
			return fmt.Errorf("draw figures: %w", err)
		}
	}
	return nil
}

// plotFigures makes one bar for each figure, on a linear axis from 0 on which client-go is 1.
func plotFigures(figures []figure, colors theme) *plot.Plot {
	canvas := plot.New()
	canvas.BackgroundColor = nil // it is under the margin, too
	canvas.Title.Text = "kinformer, where client-go is 1: less is better"
	canvas.X.Label.Text = "share of what client-go takes; beside a bar: client-go → kinformer"
	canvas.X.Min, canvas.X.Max, canvas.Y.Min, canvas.Y.Max = 0, widest, -0.6, float64(len(figures))-0.4
	canvas.X.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.25, Label: "0.25"}, {Value: 0.5, Label: "0.5"},
		{Value: 0.75, Label: "0.75"}, {Value: 1, Label: "1: client-go"}, {Value: 1.25, Label: "1.25"}, {Value: 1.5, Label: "1.5"}}
	canvas.Title.TextStyle.Font.Size, canvas.X.Label.TextStyle.Font.Size = 13, 11
	var names []string
	for _, f := range figures {
		names = append(names, f.what)
	}
	canvas.NominalY(names...)
	for _, style := range []*draw.TextStyle{&canvas.Title.TextStyle, &canvas.X.Label.TextStyle, &canvas.X.Tick.Label, &canvas.Y.Tick.Label} {
		style.Color, style.Font.Typeface, style.Font.Variant = colors.ink, "Liberation", "Sans"
	}
	canvas.X.Color, canvas.X.Tick.Color, canvas.Title.Padding = colors.ink, colors.ink, vg.Points(6)
	canvas.Add(&figureBars{figures, colors})
	return canvas
}

// figureBars are the bars, each with its figures beside it, and the line of client-go.
type figureBars struct {
	figures []figure
	colors  theme
}

// Plot draws the bars.
func (b *figureBars) Plot(c draw.Canvas, p *plot.Plot) {
	x, y := p.Transforms(&c)
	one := draw.LineStyle{Color: b.colors.theirs, Width: vg.Points(2)}
	c.StrokeLine2(one, x(1), c.Min.Y, x(1), c.Max.Y)
	style := draw.TextStyle{Color: b.colors.ink, Font: font.Font{Typeface: "Liberation", Variant: "Sans", Size: 10}, Handler: text.Plain{Fonts: font.DefaultCache}, YAlign: draw.YCenter}
	for i, f := range b.figures {
		low, high := y(float64(i)-0.3), y(float64(i)+0.3)
		c.FillPolygon(b.colors.ours, []vg.Point{{X: x(0), Y: low}, {X: x(f.edge), Y: low}, {X: x(f.edge), Y: high}, {X: x(0), Y: high}})
		at := vg.Point{X: x(f.edge) + vg.Points(5), Y: y(float64(i))}
		if f.edge < 1 && at.X+style.Width(f.both) > x(1) {
			at.X = x(1) + vg.Points(5) // not across the line of client-go
		}
		c.FillText(style, at, f.both)
	}
}

var _ plot.Plotter = (*figureBars)(nil)
