// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var updateTable = flag.Bool("metrics.update", false, "write the table of docs/observability.md")

const (
	tableBegins = "| metric | labels | unit | meaning |\n| --- | --- | --- | --- |\n"
	page        = "../../docs/observability.md"
)

// row returns the line for a metric in the table of the document.
func row(m *Metric) string {
	var labels []string
	for _, l := range m.Labels {
		labels = append(labels, "`"+l+"`")
	}
	unit := map[string]string{"s": "seconds", "By": "bytes", "1": "0 or 1"}[m.Unit]
	if unit == "" {
		unit = strings.ReplaceAll(strings.Trim(m.Unit, "{}")+"s", "chs", "ches")
	}
	help := m.Help
	if m.Sparse {
		help += " *"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.Name, strings.Join(labels, ", "), unit, help)
}

// TestPage: docs/observability.md has each metric with its labels, unit and meaning.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	before, after, found := strings.Cut(string(text), tableBegins)
	require.True(t, found)
	table, after, found := strings.Cut(after, "\n\n")
	require.True(t, found)
	var want strings.Builder
	for _, m := range All() {
		want.WriteString(row(m))
	}
	if *updateTable {
		require.NoError(t, os.WriteFile(page, []byte(before+tableBegins+want.String()+"\n"+after), 0o644))
		return
	}
	assert.Equal(t, want.String(), table+"\n")
	for _, l := range InformerLabels {
		assert.Contains(t, before, "`"+l+"`")
	}
}
