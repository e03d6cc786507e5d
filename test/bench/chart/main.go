// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chart draws the table of figures of README.md as bars, and docs/pictures/demo.txt, the
// output of make demo, as a terminal. Its argument is the repository's root.
//
//	go run ./chart ..
package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "chart: it takes one argument, the repository's root")
		os.Exit(1)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// run draws the pictures of a repository.
func run(root string) error {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return err
	}
	bars := figures(string(readme))
	for name, t := range map[string]theme{"light": light, "dark": dark} {
		if err := os.WriteFile(filepath.Join(root, "docs/pictures/figures-"+name+".svg"), []byte(drawBars(bars, t)), 0o644); err != nil {
			return err
		}
	}
	demo, err := os.ReadFile(filepath.Join(root, "docs/pictures/demo.txt"))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs/pictures/demo.svg"), []byte(drawTerminal("make demo", string(demo))), 0o644)
}

// bar is a figure of kinformer as a share of client-go's.
type bar struct {
	label, figures string
	share          float64
	direct         bool
}

// figureRow matches a row of the table of figures in README.md: text, client-go's figure, kinformer's
// figure, ratio, and the row of the benchmark.
var figureRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\| ([\\d.,]+) \\| ([\\d.,]+) \\| [^|]+ \\| `[a-z]+/")

func figures(readme string) (all []bar) {
	for _, cells := range figureRow.FindAllStringSubmatch(readme, -1) {
		all = append(all, bar{
			label: strings.ReplaceAll(cells[1], "`", ""), figures: cells[2] + " → " + cells[3],
			share: number(cells[3]) / number(cells[2]), direct: strings.Contains(cells[1], "`direct`"),
		})
	}
	return all
}

// number returns the number at the beginning of a cell, or 0 if there is none.
func number(cell string) float64 {
	word, _, _ := strings.Cut(strings.TrimSpace(cell), " ")
	value, _ := strconv.ParseFloat(strings.ReplaceAll(word, ",", ""), 64)
	return value
}

// theme has the colors of the page, text, grid and sides.
type theme [7]string

var (
	light = theme{"#ffffff", "#1f2328", "#d8dee4", "#8a939e", "#0b7a75", "#c85a1e", "#4b4ea8"}
	dark  = theme{"#0d1117", "#e6edf3", "#30363d", "#8b949e", "#3fb8af", "#f0883e", "#a5a8ff"}
)

// rules returns the CSS rules of the classes c0 to c6, which fill, and s0 to s6, which draw lines.
func (t theme) rules() string {
	var b strings.Builder
	for i, color := range t {
		fmt.Fprintf(&b, ".c%d{fill:%s}.s%d{stroke:%s;fill:none}", i, color, i, color)
	}
	return b.String()
}

const (
	width  = 980.0
	margin = 18.0
	leaded = 20.0 // the height of a line of text
	letter = 8.6  // the mean width of a letter in DejaVu Sans, which is wider than Arial
	page   = 0    // indexes into a theme
	ink    = 1
	grid   = 2
	side   = 3 // client-go; the other sides follow
)

// drawing is the content of a picture in SVG.
type drawing struct {
	strings.Builder
}

func (d *drawing) text(x, y float64, anchor, said string) {
	fmt.Fprintf(d, "<text class=\"c%d\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", ink, x, y, anchor, html.EscapeString(said))
}

func (d *drawing) box(color int, x, y, w, h float64) {
	fmt.Fprintf(d, "<rect class=\"c%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", color, x, y, w, h)
}

func (d *drawing) line(color int, thick float64, points ...[2]float64) {
	fmt.Fprintf(d, "<polyline class=\"s%d\" stroke-width=\"%.1f\" points=\"", color, thick)
	for _, p := range points {
		fmt.Fprintf(d, "%.1f,%.1f ", p[0], p[1])
	}
	d.WriteString("\"/>\n")
}

// names writes names after boxes of their colors.
func (d *drawing) names(y float64, colors []int, names []string) {
	x := margin
	for i, name := range names {
		d.box(colors[i], x, y-11, 12, 12)
		d.text(x+18, y, "start", name)
		x += 18 + letter*float64(len(name)) + 24
	}
}

// svg returns the picture with its page.
func (d *drawing) svg(height float64, rules string) string {
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "+
		"font-family=\"Arial,Helvetica,sans-serif\" font-size=\"14\">\n<style>%s</style>\n<rect class=\"c%d\" width=\"100%%\" height=\"100%%\"/>\n%s</svg>\n",
		width, height, width, height, rules, page, d.String())
}

// drawBars draws bars on a linear axis from zero, on which client-go is 1, with the figures beside
// them.
func drawBars(bars []bar, t theme) string {
	var d drawing
	labels, figures, longest := 0.0, letter*float64(len("client-go → kinformer")), 1.25
	for _, b := range bars {
		labels, figures = max(labels, letter*float64(len(b.label))), max(figures, letter*float64(len(b.figures)))
		longest = max(longest, b.share)
	}
	d.text(margin, margin+12, "start", "What kinformer takes, as a share of what client-go takes. Less is better.")
	d.names(margin+12+leaded*1.2, []int{side + 1, side + 2}, []string{"kinformer", "kinformer with package direct"})
	left, right := margin+labels+10, width-margin-figures-10
	x := func(share float64) float64 { return left + (right-left)*share/longest }
	top := margin + 4.2*leaded
	bottom := top + 1.2*leaded*float64(len(bars))
	d.text(right+10, top-8, "start", "client-go → kinformer")
	d.text(x(1), top-8, "middle", "client-go")
	for share := 0.0; share <= longest; share += 0.25 {
		d.line(grid, 1, [2]float64{x(share), top}, [2]float64{x(share), bottom})
		d.text(x(share), bottom+leaded, "middle", fmt.Sprint(share))
	}
	for i, b := range bars {
		y, color := top+1.2*leaded*float64(i), side+1
		if b.direct {
			color++
		}
		d.text(left-10, y+16, "end", b.label)
		d.box(color, x(0), y+4, x(b.share)-x(0), 15)
		d.text(right+10, y+16, "start", b.figures)
	}
	d.line(side, 2, [2]float64{x(1), top}, [2]float64{x(1), bottom})
	return d.svg(bottom+2*leaded, t.rules())
}
