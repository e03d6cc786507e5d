// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Command chart draws what tables of this repository say: the figures of README.md as bars, and
// what docs/benchmarks/cluster.md has of several sizes as lines. It is given the repository's root.
//
//	go run ./chart ..
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// run draws all pictures of a repository.
func run(root string) error {
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, "docs/benchmarks/cluster.md"))
	if err != nil {
		return err
	}
	bars := figures(string(readme))
	pictures := map[string]string{
		"docs/pictures/figures-light.svg": drawBars(bars, light), "docs/pictures/figures-dark.svg": drawBars(bars, dark),
	}
	for name, text := range clusterPictures(string(page)) {
		pictures["docs/benchmarks/cluster/"+name] = text
	}
	for name, text := range pictures {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
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

// courses are the columns that are drawn over the number of nodes.
var courses = []struct{ file, column, title, unit string }{
	{"cpu", "CPU, % of a core", "CPU time while nothing goes wrong", "% of a core"},
	{"rss", "RSS steady", "memory while nothing goes wrong", "MiB"},
	{"storm", "peak of the storm", "most memory after an outage", "MiB"},
	{"sync", "synced after", "time to sync", "s"},
}

// line is that of a side.
type line struct {
	label  string
	points [][2]float64
}

// clusterPictures draws the courses of each encoding of which there are several sizes.
func clusterPictures(page string) map[string]string {
	made := map[string]string{}
	for _, encoding := range []string{"json", "protobuf"} {
		_, group, _ := strings.Cut(page, "\n## "+encoding+", watch-lists\n")
		group, _, _ = strings.Cut(group, "\nThe other phases")
		rows := table(group)
		for _, c := range courses {
			lines := linesOf(rows, c.column)
			if slices.ContainsFunc(lines, func(l line) bool { return len(l.points) > 1 }) {
				made[encoding+"-watch-lists-"+c.file+".svg"] = drawLines(c.title+" ("+encoding+")", c.unit, lines)
			}
		}
	}
	return made
}

// table are the cells of the lines of a table, its head first.
func table(text string) (rows [][]string) {
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "| ") {
			rows = append(rows, strings.Split(strings.Trim(l, "| \n"), " | "))
		}
	}
	return rows
}

// linesOf are a column by side, over the number of nodes.
func linesOf(rows [][]string, column string) (all []line) {
	if len(rows) == 0 {
		return nil
	}
	at := slices.Index(rows[0], column)
	for _, cells := range rows[1:] {
		if at < 0 || at >= len(cells) || number(cells[at]) <= 0 { // the axes are logarithmic
			continue
		}
		i := slices.IndexFunc(all, func(l line) bool { return l.label == cells[1] })
		if i < 0 {
			i, all = len(all), append(all, line{label: cells[1]})
		}
		all[i].points = append(all[i].points, [2]float64{number(cells[0]), number(cells[at])})
	}
	return all
}
