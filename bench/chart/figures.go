// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/kinformer/cache/bench/internal/report"
)

// figureRow is a row of the table of figures in README.md: text, client-go's figure, ours, ratio,
// and where they are from.
var figureRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\| ([\\d.,]+) \\| ([\\d.,]+) \\| [^|]+ \\| `[a-z]+/")

// readFigures returns the figures of a README.md.
func readFigures(path string) (figures []report.Bar, err error) {
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
		f := report.Bar{Label: strings.ReplaceAll(cells[1], "`", ""), Color: 1, Share: ours / theirs, Figures: cells[2] + " → " + cells[3]}
		if strings.Contains(cells[1], "`direct`") {
			f.Color = report.Direct
		}
		figures = append(figures, f)
	}
	if len(figures) == 0 {
		return nil, fmt.Errorf("%s: %w", path, errNothing)
	}
	return figures, nil
}

func number(cell string) (float64, error) {
	value, err := strconv.ParseFloat(strings.ReplaceAll(cell, ",", ""), 64)
	if err != nil {
		return 0, fmt.Errorf("read figures: %w", err)
	}
	return value, nil
}

// drawFigures draws the figures of a README.md into figures-light.svg and figures-dark.svg.
func drawFigures(readme, folder string) error {
	figures, err := readFigures(readme)
	if err != nil {
		return err
	}
	h := heading{title: "What kinformer takes, as a share of what client-go takes", says: "Less is better."}
	p := report.Picture{Bars: figures, Sides: [2]string{"client-go", "kinformer"}}
	for name, theme := range map[string]theme{"light": light, "dark": dark} {
		if err := theme.saveBars(filepath.Join(folder, "figures-"+name+".svg"), h, p); err != nil {
			return err
		}
	}
	return nil
}
