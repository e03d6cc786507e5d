// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package rules_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// clusterRow is a row of a table of figures of 10,000 nodes: a text with a column of
// docs/benchmarks/cluster.md, and the figures of client-go, with direct, and with ShareParts.
var clusterRow = regexp.MustCompile("(?m)^\\| [^|`]+\\(`([^`]+)`\\) \\| ([^|]+) \\| ([^|]+) \\| ([^|]+) \\|$")

// TestClusterFigures: what README.md and docs/cluster.md say of 10,000 nodes was measured.
func TestClusterFigures(t *testing.T) {
	for file, group := range map[string]string{"README.md": "protobuf", "docs/cluster.md": "json"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		measured := clusterFigures(t, group)
		rows := clusterRow.FindAllStringSubmatch(string(text), -1)
		assert.GreaterOrEqual(t, len(rows), 4, file)
		for _, row := range rows {
			assert.Equal(t, measured[row[1]], row[2:], "%s: %s", file, row[1])
		}
	}
}

// clusterFigures returns the figures of the sides at 10,000 nodes by column, of an encoding.
func clusterFigures(t *testing.T, encoding string) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("docs/benchmarks/cluster.md")
	require.NoError(t, err)
	_, group, ok := strings.Cut(string(page), "\n## "+encoding+", watch-lists\n")
	require.True(t, ok, encoding)
	group, _, _ = strings.Cut(group, "\n## ")
	figures, columns := map[string][]string{}, []string(nil)
	for line := range strings.Lines(group) {
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		switch {
		case cells[0] == "nodes":
			columns = cells
		case cells[0] == "10000" && !slices.Contains(cells, "kinformer"):
			require.Len(t, cells, len(columns))
			for i, cell := range cells {
				figures[columns[i]] = append(figures[columns[i]], cell)
			}
		}
	}
	return figures
}
