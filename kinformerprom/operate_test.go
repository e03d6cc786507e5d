// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/metrics"
)

// dashboard is what the tests look at.
type dashboard struct {
	Panels []struct {
		ID                 int
		Title, Description string
		GridPos            struct{ X, Y, W, H int }
		Targets            []struct{ Expr, LegendFormat string }
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	text, err := os.ReadFile("dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &d))
	return d
}

// queries are all expressions of the dashboard.
func (d dashboard) queries() (all []string) {
	for _, panel := range d.Panels {
		for _, target := range panel.Targets {
			all = append(all, target.Expr)
		}
	}
	return all
}

// TestDashboard: ten panels beside each other, each with what it asks.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	require.Len(t, d.Panels, 10)
	places, ids := map[[2]int]string{}, map[int]bool{}
	for _, panel := range d.Panels {
		assert.False(t, ids[panel.ID], panel.Title)
		ids[panel.ID] = true
		assert.NotEmpty(t, panel.Description)
		assert.NotEmpty(t, panel.Targets, panel.Title)
		at := panel.GridPos
		assert.LessOrEqual(t, at.X+at.W, 24, panel.Title)
		for x := at.X; x < at.X+at.W; x++ {
			for y := at.Y; y < at.Y+at.H; y++ {
				assert.Empty(t, places[[2]int{x, y}], "where %s is", panel.Title)
				places[[2]int{x, y}] = panel.Title
			}
		}
	}
	for _, question := range []string{"Is it synced", "Is it fresh", "Who is slow", "What is dropped", "What it costs"} {
		assert.True(t, strings.Contains(fmt.Sprint(d.Panels), question), question)
	}
}

// exported returns the names of the series that the collector exports, and their labels.
func exported() map[string][]string {
	names := map[string][]string{}
	for _, m := range metrics.All() {
		labels := m.Labels
		if !m.OfProcess {
			labels = append(labels, metrics.InformerLabels...)
		}
		names[m.Name] = labels
		switch m.Kind {
		case metrics.Histogram:
			delete(names, m.Name)
			names[m.Name+"_bucket"] = append(labels, "le")
			fallthrough
		case metrics.Summary:
			delete(names, m.Name)
			names[m.Name+"_sum"], names[m.Name+"_count"] = labels, labels
		}
	}
	return names
}

var (
	seriesNamed = regexp.MustCompile(`\b(?:kin|in)former_\w+`)
	selector    = regexp.MustCompile(`\b(kinformer_\w+)\{([^}]*)\}`)
	labelNamed  = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
)

// TestNames: the dashboard and the rules ask for series, and for labels, that the collector has.
func TestNames(t *testing.T) {
	names := exported()
	rules, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	d := readDashboard(t)
	asked := d.queries()
	for _, v := range d.Templating.List {
		asked = append(asked, v.Definition)
	}
	for _, expr := range regexp.MustCompile(`(?m)^ +expr: (.*)$`).FindAllStringSubmatch(string(rules), -1) {
		asked = append(asked, expr[1])
	}
	count := 0
	for _, expr := range asked {
		for _, name := range seriesNamed.FindAllString(expr, -1) {
			assert.Contains(t, names, name, expr)
			count++
		}
		for _, s := range selector.FindAllStringSubmatch(expr, -1) {
			for _, label := range labelNamed.FindAllStringSubmatch(s[2], -1) {
				assert.Contains(t, append(names[s[1]], "job", "instance"), label[1], expr)
			}
		}
	}
	assert.Greater(t, count, 25)
	for _, name := range seriesNamed.FindAllString(string(rules), -1) { // in what it says, too
		if _, histogram := names[name+"_bucket"]; !histogram {
			assert.Contains(t, names, name)
		}
	}
}

// promtool runs Prometheus' tool. Without it the test is skipped, but not in CI.
func promtool(t *testing.T, arguments ...string) {
	t.Helper()
	tool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("KINFORMER_CI") != "" {
			t.Fatal("promtool is not installed: .ci/run installs it")
		}
		t.Skip("promtool is not installed: it comes with Prometheus, in Debian's package prometheus")
	}
	out, err := exec.Command(tool, arguments...).CombinedOutput()
	assert.NoError(t, err, "%s", out)
}

// TestRules: promtool accepts the alert rules, and its tests of them pass.
func TestRules(t *testing.T) {
	promtool(t, "check", "rules", "rules.yml")
	promtool(t, "test", "rules", "rules_test.yml")
}

// TestEachRuleIsTested: there is an input on which each alert fires.
func TestEachRuleIsTested(t *testing.T) {
	rules, err := os.ReadFile("rules.yml")
	require.NoError(t, err)
	tests, err := os.ReadFile("rules_test.yml")
	require.NoError(t, err)
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	require.Len(t, alerts, 7)
	for _, alert := range alerts {
		assert.Regexp(t, `- alertname: `+alert[1]+`\n +eval_time: \w+\n +exp_alerts:`, string(tests))
	}
}

// TestQueries: promtool can read what the dashboard asks.
func TestQueries(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	for i, expr := range readDashboard(t).queries() {
		expr = strings.ReplaceAll(expr, "$__rate_interval", "1m")
		fmt.Fprintf(&rules, "  - {record: 'query:%d', expr: %q}\n", i, expr)
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	promtool(t, "check", "rules", "--lint-fatal", file)
}
