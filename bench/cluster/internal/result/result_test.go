// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/bench/cluster/internal/follow"
	"github.com/kinformer/cache/bench/internal/report"
)

// of makes a result of which so many in 100,000 events were late.
func of(nodes int, side string, over int64) Result {
	latency := follow.PhaseReport{Name: Steady, Prompt: follow.Latency{
		Events: 100_000, P50: 900, P99: 12_345, P999: 234_567, Max: 12_345_678, Over: over,
		Curve: [][2]float64{{50, 900}, {99.9, 234_567}, {100, 12_345_678}},
	}}
	return Result{
		Spec:    Spec{Nodes: nodes, Side: side, Encoding: "json", Speed: 10, Steady: time.Minute, Churn: 1},
		Version: "v1", Sync: 2 * time.Second,
		Phases: []Phase{
			{Name: Start, Wall: 2 * time.Second, CPU: time.Second, Peak: 300 << 20},
			{Name: Steady, Wall: time.Minute, CPU: 6 * time.Second, CollectCPU: 600 * time.Millisecond, RSS: 200 << 20, Latency: latency,
				Notes: map[string]NoteCount{"leases": {Changes: 6000}, "pods": {Changes: 1200}}},
			{Name: Storm, Wall: time.Minute, Peak: 500 << 20},
		},
	}
}

func TestResultsAreKept(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "state")
	_, there, err := Kept(folder, Spec{Nodes: 10})
	require.NoError(t, err)
	assert.False(t, there)
	one, other := of(1000, "client-go", 0), of(20, "direct", 0)
	require.NoError(t, Keep(folder, of(20, "direct", 7)))
	require.NoError(t, Keep(folder, one))
	require.NoError(t, Keep(folder, other))
	got, there, err := Kept(folder, other.Spec)
	require.NoError(t, err)
	assert.True(t, there)
	assert.Equal(t, other, got, "the later one")
	slower := other.Spec
	slower.Speed = 1
	_, there, err = Kept(folder, slower)
	require.NoError(t, err)
	assert.False(t, there, "of another kind")
	require.NoError(t, os.WriteFile(filepath.Join(folder, one.Spec.file()), []byte("{"), 0o644))
	_, _, err = Kept(folder, one.Spec)
	assert.Error(t, err)
}

func TestTheOrderOfReports(t *testing.T) {
	lists := of(1, "client-go", 0)
	lists.Spec.Lists = true
	protobuf := of(1, "client-go", 0)
	protobuf.Spec.Encoding = "protobuf"
	single := of(1, "client-go", 0)
	single.Spec.Procs = 1
	want := []Result{of(20, "client-go", 0), of(20, "direct", 0), of(1000, "client-go", 0), protobuf, lists, single}
	all := []Result{single, lists, protobuf, of(1000, "client-go", 0), of(20, "direct", 0), of(20, "client-go", 0)}
	Sort(all)
	assert.Equal(t, want, all)
	files, groups := map[string]bool{}, map[string]bool{}
	for _, r := range all {
		files[r.Spec.file()], groups[r.Spec.group()] = true, true
	}
	assert.Len(t, files, len(all))
	assert.Len(t, groups, 4)
	assert.Equal(t, "json-watch-lists-gomaxprocs-1-x.svg", pictureOf(single.Spec, "x"))
}

func TestMarkdown(t *testing.T) {
	var b strings.Builder
	all := []Result{of(100, "client-go", 99), of(100, "direct", 99), of(1000, "client-go", 101), of(1000, "direct", 100), of(5000, "client-go", 0)}
	require.NoError(t, WriteMarkdown(&b, all, "make it", "pictures"))
	text := b.String()
	assert.Contains(t, text, "Written by `make it`")
	assert.Contains(t, text, "| json, watch-lists | client-go | 100 | 1000 |", "what is larger does not count")
	assert.Contains(t, text, "| json, watch-lists | kinformer, decoding directly | 1000 | none was run |")
	assert.Contains(t, text, "| 1000 | client-go | 120 | 900 us | 12.3 ms | 235 ms | 12.3 s | 99.899 % | 10.0 | 1.0 | 200 MiB | 300 MiB | 500 MiB | 2.50 | 2.0 s | 0.0 s |")
	assert.Contains(t, text, "![memory, steady (json, watch-lists)](pictures/json-watch-lists-rss.svg)")
	b.Reset()
	failed := of(100, "client-go", 0)
	failed.Failed = "out of\nmemory"
	require.NoError(t, WriteMarkdown(&b, []Result{failed}, "x", ""))
	assert.Contains(t, b.String(), "| 500 MiB | 2.50 | 2.0 s | 0.0 s |\n\n100 nodes, client-go: the run failed. out of; memory\n")
	assert.Contains(t, b.String(), "| json, watch-lists | client-go | none was run | 100 |")
	failed.Phases = slices.DeleteFunc(failed.Phases, func(p Phase) bool { return p.Name == Storm })
	require.NoError(t, WriteMarkdown(&b, []Result{failed}, "x", ""))
	assert.Contains(t, b.String(), "| 200 MiB | 300 MiB | failed |\n")
	failed.Phases = nil
	require.NoError(t, WriteMarkdown(&b, []Result{failed}, "x", ""))
	assert.Contains(t, b.String(), "| 100 | client-go | failed |\n")
	require.NoError(t, WriteMarkdown(&b, nil, "x", ""))
}

func TestFigures(t *testing.T) {
	failed, single := of(5000, "direct", 0), of(10, "direct", 0)
	failed.Failed, failed.Phases, failed.Sync = "out of memory", failed.Phases[:2], 0
	all := Figures([]Result{of(100, "client-go", 0), of(100, "direct", 0), of(1000, "client-go", 0), of(1000, "direct", 0), failed})
	require.Len(t, all, 6)
	cpu := all[1]
	assert.Equal(t, "json-watch-lists-cpu.svg", cpu.File)
	require.Len(t, cpu.Lines, 2)
	assert.Equal(t, report.FigureLine{Label: "kinformer, decoding directly", Color: 2, Points: []report.Point{{100, 10}, {1000, 10}, {5000, 10}}}, cpu.Lines[1])
	assert.Len(t, all[3].Lines[1].Points, 2, "it did not come through the storm")
	assert.Equal(t, "latency at 1000 nodes (json, watch-lists)", all[5].Title, "the most that both have")
	require.Len(t, all[5].Lines, 2)
	assert.Equal(t, report.Point{99.9, 234.567}, all[5].Lines[0].Points[1])
	assert.Len(t, Figures([]Result{single}), 1, "one size is no course")
	failed.Phases = nil
	assert.Empty(t, Figures([]Result{failed}))
}
