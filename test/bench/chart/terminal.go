// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	column = 8.0 // the width of a character in the picture
	lines  = 18.0
)

// ratio matches "3.20x", or ">100x" in HTML.
var ratio = regexp.MustCompile(`(&gt;)?[0-9.]+x\b`)

// drawTerminal returns a picture of a command and its output in a terminal. The width of a line
// depends only on its characters, and not on the reader's monospaced font.
func drawTerminal(command, output string) string {
	var d strings.Builder
	widest, y := 0, lines
	for line := range strings.Lines("$ " + command + "\n" + output) {
		line = strings.TrimRight(line, "\n")
		y += lines
		words := strings.TrimLeft(line, " ")
		length := utf8.RuneCountInString(words)
		if length == 0 {
			continue
		}
		indent := len(line) - len(words)
		widest = max(widest, indent+length)
		words = strings.ReplaceAll(html.EscapeString(words), " ", "\u00a0") // or runs of spaces become one
		words = ratio.ReplaceAllStringFunc(words, func(x string) string {
			if strings.HasPrefix(x, "0") { // client-go is better
				return x
			}
			return `<tspan class="ratio">` + x + `</tspan>`
		})
		fmt.Fprintf(&d, "<text x=\"%.0f\" y=\"%.0f\" textLength=\"%.0f\" lengthAdjust=\"spacingAndGlyphs\">%s</text>\n",
			margin+column*float64(indent), y, column*float64(length), words)
	}
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %[2]v\" width=\"%.0[1]f\" height=\"%[2]v\" "+
		"font-family=\"monospace\" font-size=\"13\">\n<style>text{fill:%s}.ratio{fill:%s;font-weight:bold}</style>\n"+
		"<rect width=\"100%%\" height=\"100%%\" rx=\"6\" fill=\"%s\"/>\n%s</svg>\n",
		2*margin+column*float64(widest), y+lines, dark[ink], dark[side+1], dark[page], d.String())
}
