// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var updateFigures = flag.Bool("figures.update", false, "take the figures of README.md over from docs/benchmarks")

// figureRow is a row of a table of figures in README.md: text, three figures, and where they are
// from.
var figureRow = regexp.MustCompile("(?m)^\\| ([^|]+) \\|([^|]+)\\|([^|]+)\\|([^|]+)\\| `([a-z]+/[\\w/-]+)`: ([^|]+) \\|$")

// TestFiguresInReadme: the figures of README.md are those of docs/benchmarks, and the bars that it
// shows are drawn from them. make charts brings both up to date.
func TestFiguresInReadme(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	measured := benchmarkFigures(t)
	var count int
	want := figureRow.ReplaceAllStringFunc(string(readme), func(line string) string {
		count++
		cells := figureRow.FindStringSubmatch(line)
		figures, ok := measured[cells[5]+": "+cells[6]]
		assert.True(t, ok, "docs/benchmarks has no row %s with a measure %q", cells[5], cells[6])
		return fmt.Sprintf("| %s | %s | %s | %s | `%s`: %s |", cells[1], figures[0], figures[1], figures[2], cells[5], cells[6])
	})
	require.Equal(t, 8, count)
	if *updateFigures {
		require.NoError(t, os.WriteFile("README.md", []byte(want), 0o644))
		return
	}
	assert.Equal(t, want, string(readme))
	for _, file := range []string{"docs/pictures/figures-light.svg", "docs/pictures/figures-dark.svg"} {
		picture, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, cells := range figureRow.FindAllStringSubmatch(string(readme), -1) {
			for _, text := range []string{cells[1], strings.TrimSpace(cells[2]) + " → " + strings.TrimSpace(cells[3])} {
				assert.Contains(t, string(picture), ">"+strings.ReplaceAll(text, "`", "")+"<", file)
			}
		}
	}
}

// benchmarkFigures returns client-go's median, ours, and the ratio, of each "row: measure".
func benchmarkFigures(t *testing.T) map[string][3]string {
	t.Helper()
	text, err := os.ReadFile("docs/benchmarks/README.md")
	require.NoError(t, err)
	figures, row := map[string][3]string{}, ""
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if len(cells) != 6 {
			continue
		}
		if name := strings.Trim(cells[0], "|` "); name != "" {
			row = name
		}
		median := func(cell string) string { return strings.SplitN(cell, " (", 2)[0] }
		figures[row+": "+cells[2]] = [3]string{median(cells[3]), median(cells[4]), strings.TrimSuffix(cells[5], " |")}
	}
	return figures
}
