// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// theme has the colors of a picture on light or on dark pages.
type theme struct {
	back, ink, grid color.RGBA
	// sides are client-go, kinformer, kinformer that decodes directly, and the last with sharing.
	sides [4]color.RGBA
}

var (
	light = theme{
		back: rgb(0xffffff), ink: rgb(0x1f2328), grid: rgb(0xd8dee4),
		sides: [4]color.RGBA{rgb(0x8a939e), rgb(0x0b7a75), rgb(0xc85a1e), rgb(0x4b4ea8)},
	}
	dark = theme{
		back: rgb(0x0d1117), ink: rgb(0xe6edf3), grid: rgb(0x30363d),
		sides: [4]color.RGBA{rgb(0x8b949e), rgb(0x3fb8af), rgb(0xf0883e), rgb(0xa5a8ff)},
	}
)

func rgb(hex uint32) color.RGBA {
	return color.RGBA{R: uint8(hex >> 16 & 0xff), G: uint8(hex >> 8 & 0xff), B: uint8(hex & 0xff), A: 0xff}
}

// colors are all of them, in one order for all themes.
func (t theme) colors() []color.RGBA {
	return append([]color.RGBA{t.back, t.ink, t.grid}, t.sides[:]...)
}

const (
	width     = 22 * vg.Centimeter
	margin    = 0.5 * vg.Centimeter
	inside    = width - 3*margin // the margin on the right is wider: labels of ticks reach into it
	titleSize = 14
	textSize  = 11
	leading   = 1.45 // the distance of two lines over the size of their letters
)

// style is how text of a size is written. The widths of the font's letters are those of Arial,
// Helvetica, and what browsers have in their place.
func (t theme) style(size vg.Length) draw.TextStyle {
	return draw.TextStyle{
		Color:   t.ink,
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		Handler: text.Plain{Fonts: font.DefaultCache},
	}
}

// dress gives the axes of a plot the font and the colors.
func (t theme) dress(canvas *plot.Plot) {
	canvas.BackgroundColor = nil // it is under the heading, too
	written := t.style(textSize)
	for _, axis := range []*plot.Axis{&canvas.X, &canvas.Y} {
		for _, style := range []*draw.TextStyle{&axis.Label.TextStyle, &axis.Tick.Label} {
			style.Color, style.Font = written.Color, written.Font
		}
		axis.Color, axis.Tick.Color = t.ink, t.ink
	}
}

// heading is what stands over a plot.
type heading struct {
	title string
	says  string
	names []string // of the sides, by their colors; "" is not there
}

// height is what a heading takes.
func (h heading) height(t theme) vg.Length {
	lines := leading*titleSize*vg.Length(len(wrapped(t.style(titleSize), h.title))) +
		leading*textSize*vg.Length(len(wrapped(t.style(textSize), h.says)))
	if len(h.names) > 0 {
		lines += leading * textSize
	}
	return lines + 0.5*textSize
}

// draw writes the heading on top of a canvas.
func (h heading) draw(c draw.Canvas, t theme) {
	y := c.Max.Y
	write := func(size vg.Length, said string) {
		style := t.style(size)
		style.YAlign = draw.YTop
		for _, line := range wrapped(style, said) {
			c.FillText(style, vg.Point{X: c.Min.X, Y: y}, line)
			y -= leading * size
		}
	}
	write(titleSize, h.title)
	write(textSize, h.says)
	style, x := t.style(textSize), c.Min.X
	style.YAlign = draw.YTop
	for side, name := range h.names {
		if name == "" {
			continue
		}
		low, high := y-textSize, y-0.1*textSize
		c.FillPolygon(t.sides[side], box(x, x+textSize, low, high))
		x += 1.5 * textSize
		c.FillText(style, vg.Point{X: x, Y: y}, name)
		x += style.Width(name) + 2*textSize
	}
}

// box are the corners of a rectangle.
func box(left, right, low, high vg.Length) []vg.Point {
	return []vg.Point{{X: left, Y: low}, {X: right, Y: low}, {X: right, Y: high}, {X: left, Y: high}}
}

// wrapped breaks a text into lines that fit into a picture.
func wrapped(style draw.TextStyle, said string) (lines []string) {
	line := ""
	for _, word := range strings.Fields(said) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && style.Width(longer) > inside {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	if line == "" {
		return lines
	}
	return append(lines, line)
}

// save draws a plot of that height under its heading into a file.
func (t theme) save(path string, h heading, canvas *plot.Plot, height vg.Length) error {
	top := h.height(t)
	svg := vgsvg.New(width, 2*margin+top+height)
	all := draw.New(svg)
	all.SetColor(t.back)
	all.Fill(all.Rectangle.Path())
	all = draw.Crop(all, margin, -2*margin, margin, -margin)
	h.draw(all, t)
	canvas.Draw(draw.Crop(all, 0, 0, 0, -top))
	var picture bytes.Buffer
	if _, err := svg.WriteTo(&picture); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	if err := os.WriteFile(path, t.finish(picture.Bytes()), 0o644); err != nil {
		return fmt.Errorf("draw: %w", err)
	}
	return nil
}

// finish names fonts that every viewer has, and gives a light picture the colors for dark pages.
func (t theme) finish(svg []byte) []byte {
	svg = bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans"), []byte("font-family:Arial,Helvetica,sans-serif"))
	if t != light {
		return svg
	}
	const start = "<g transform="
	return bytes.Replace(svg, []byte(start), []byte(darkRules()+start), 1)
}

// darkRules are rules by which what is drawn in the light colors has the dark ones where the
// reader prefers dark pages.
func darkRules() string {
	var b strings.Builder
	for i, from := range light.colors() {
		for _, property := range []string{"fill", "stroke"} {
			fmt.Fprintf(&b, "[style*=\"%[1]s:%[2]s\"]{%[1]s:%[3]s!important}\n", property, hex(from), hex(dark.colors()[i]))
		}
	}
	return "<style>@media (prefers-color-scheme:dark){\n" + b.String() + "}</style>\n"
}

// hex is a color as package vgsvg writes it.
func hex(c color.RGBA) string {
	red, green, blue, opaque := c.RGBA()
	unit := 255 / float64(opaque)
	return fmt.Sprintf("#%02X%02X%02X", int(float64(red)*unit), int(float64(green)*unit), int(float64(blue)*unit))
}
