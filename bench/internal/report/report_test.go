// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/bench/internal/measure"
)

func document() *Document {
	get := Row{Group: "Store", Name: "store/get hot", Title: "GetByKey of 64 keys"}
	for round, sample := range []float64{100, 104, 110} {
		get.Record(0, "CPU", "ns/op", sample)
		get.Record(1, "CPU", "ns/op", sample/2)
		get.Record(0, "worst", "us", float64(1+round*1000))
		get.Record(1, "worst", "us", 2)
	}
	sync := Row{Group: "Sync", Name: "sync/list", Title: "first list"}
	sync.Record(0, "CPU", "ms", 12630)
	sync.Record(1, "CPU", "ms", 12630)
	return &Document{
		Machine:    measure.Machine{CPU: "Some CPU", Cores: 2, GOMAXPROCS: 2, MemoryBytes: 8 << 30, OS: "linux/amd64", Go: "go1.26.8"},
		Sides:      [2]Side{{"client-go", "v0.37.2"}, {"kinformer", "v0.1.0"}},
		LoadBefore: "0.10 0.20 0.30", LoadAfter: "1.10 0.40 0.30",
		Command: "make bench", Objects: 1000, Rounds: 3, Seed: 1, Quick: true,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 90 * time.Second,
		Rows: []Row{get, sync},
	}
}

func markdown(t *testing.T, d *Document) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, d.WriteMarkdown(&b))
	return b.String()
}

func TestMarkdownNamesMachineVersionsAndLoad(t *testing.T) {
	text := markdown(t, document())
	for _, want := range []string{
		"# client-go and kinformer, side by side",
		"Written by `make bench`; do not edit.",
		"| machine | Some CPU, 2 cores (GOMAXPROCS 2), 8 GiB |",
		"| system | linux/amd64, go1.26.8 |",
		"| client-go | v0.37.2 |",
		"| kinformer | v0.1.0 |",
		"| load average | 0.10 0.20 0.30 before, 1.10 0.40 0.30 after",
		"| run | quick, 1000 objects, 3 rounds, seed 1 |",
		"| taken | 2026-01-02 03:04 UTC, in 1m30s |",
	} {
		assert.Contains(t, text, want)
	}
	assert.NotContains(t, text, "busy with other work")
}

func TestMarkdownTables(t *testing.T) {
	text := markdown(t, document())
	_, tables, found := strings.Cut(text, "\n## ")
	require.True(t, found)
	assert.Equal(t, `Store

| row | what | measure | client-go | kinformer | ratio |
|---|---|---|---:|---:|---:|
| `+"`store/get hot`"+` | GetByKey of 64 keys | CPU, ns/op | 104 (100 – 110) | 52.0 (50.0 – 55.0) | 2.00 |
|  |  | worst, us | 1,001 (1.00 – 2,001) | 2.00 | noisy |

## Sync

| row | what | measure | client-go | kinformer | ratio |
|---|---|---|---:|---:|---:|
| `+"`sync/list`"+` | first list | CPU, ms | 12,630 | 12,630 | ≈ 1.00 |
`, tables)
}

func TestMarkdownWarnsOfABusyMachine(t *testing.T) {
	d := document()
	d.Busy = true
	assert.Contains(t, markdown(t, d), "**The machine was busy with other work")
}

func TestJSONKeepsEverySample(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, document().WriteJSON(&b))
	var back Document
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	assert.Equal(t, *document(), back)
}

func TestBenchstatHasOneLinePerSideAndRound(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, document().WriteBenchstat(&b))
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	require.Len(t, lines, 3+6+2)
	assert.Equal(t, "cpu: Some CPU", lines[2])
	assert.Equal(t, "BenchmarkStore/get-hot/side=client-go-2 1 100 CPU-ns/op 1 worst-us", lines[3])
	assert.Equal(t, "BenchmarkStore/get-hot/side=kinformer-2 1 50 CPU-ns/op 2 worst-us", lines[6])
	assert.Equal(t, "BenchmarkSync/list/side=kinformer-2 1 12630 CPU-ms", lines[10])
}

type brokenWriter struct{}

var errBroken = errors.New("disk full")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestWriteErrorsAreReturned(t *testing.T) {
	assert.ErrorIs(t, document().WriteMarkdown(brokenWriter{}), errBroken)
	assert.ErrorIs(t, document().WriteJSON(brokenWriter{}), errBroken)
	assert.ErrorIs(t, document().WriteBenchstat(brokenWriter{}), errBroken)
}

func TestPicturesFollowTheResults(t *testing.T) {
	d := document()
	assert.Empty(t, d.Pictures(), "one row a group and no curves")
	again := d.Rows[0]
	again.Name = "store/get cold"
	again.Curves = nil
	again.Draw(0, "latency", "percentile", "us", []Point{{50, 1}})
	again.Draw(1, "latency", "percentile", "us", []Point{{50, 2}})
	again.Draw(1, "latency", "percentile", "us", []Point{{50, 3}})
	d.Rows = []Row{d.Rows[0], again, d.Rows[1]}

	pictures := d.Pictures()
	require.Len(t, pictures, 2)
	assert.Equal(t, "bars-store.svg", pictures[0].File)
	assert.Len(t, pictures[0].Bars, 2)
	assert.Equal(t, "store-get-cold-latency.svg", pictures[1].File)
	assert.True(t, pictures[1].Log)
	require.Len(t, pictures[1].Lines, 2)
	assert.Len(t, pictures[1].Lines[1].Curve.Rounds[1], 2)

	assert.NotContains(t, markdown(t, d), "![")
	d.Charts, d.Notes = "charts", "## Notes\n"
	text := markdown(t, d)
	assert.Contains(t, text, "\n![Store](charts/bars-store.svg)\n![store/get cold: latency](charts/store-get-cold-latency.svg)\n\n## Sync")
	assert.True(t, strings.HasSuffix(text, "\n## Notes\n"))
}

func TestShownFiguresAreNotCompared(t *testing.T) {
	d := document()
	d.Rows[1].Show(0, "rate", "events/s", 1)
	d.Rows[1].Show(1, "rate", "events/s", 4)
	assert.Contains(t, markdown(t, d), "|  |  | rate, events/s | 1.00 | 4.00 |  |\n")
}
