// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chart draws the table of figures of README.md as bars. It is given the repository's root.
//
//	go run ./chart ..
package main

import (
	"fmt"
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
	return nil
}

// bar is a figure of ours as a share of client-go's.
type bar struct {
	label, figures string
	share          float64
	direct         bool
}

// figureRow is a row of the table of figures in README.md: text, client-go's figure, ours, ratio,
// and where they are from.
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

// number reads the number that a cell begins with; 0 for none.
func number(cell string) float64 {
	word, _, _ := strings.Cut(strings.TrimSpace(cell), " ")
	value, _ := strconv.ParseFloat(strings.ReplaceAll(word, ",", ""), 64)
	return value
}
