// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
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
	path := filepath.Join(t.TempDir(), "all.json")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	back, err := Read(path)
	require.NoError(t, err)
	assert.Equal(t, document(), back)

	require.NoError(t, os.WriteFile(path, b.Bytes()[1:], 0o644))
	_, err = Read(path)
	assert.ErrorContains(t, err, path)
	_, err = Read(path + ".none")
	assert.ErrorIs(t, err, os.ErrNotExist)
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
	cold, warm := d.Rows[0], d.Rows[0]
	cold.Name, warm.Name = "store/get cold", "store/get warm"
	cold.Draw(0, "latency", "percentile", "us", []Point{{50, 1}})
	cold.Draw(1, "latency", "percentile", "us", []Point{{50, 2}})
	cold.Draw(1, "latency", "percentile", "us", []Point{{50, 3}})
	d.Rows = []Row{d.Rows[0], cold, warm, d.Rows[1]}

	pictures := d.Pictures()
	require.Len(t, pictures, 2)
	assert.Equal(t, "bars-store.svg", pictures[0].File)
	assert.Equal(t, Bar{Label: "store/get hot", Color: 1, Share: 0.5, Figures: "104 → 52.0"}, pictures[0].Bars[0])
	assert.Len(t, pictures[0].Bars, 3)
	assert.Equal(t, "store-get-cold-latency.svg", pictures[1].File)
	assert.True(t, pictures[1].Log)
	require.Len(t, pictures[1].Lines, 2)
	assert.Len(t, pictures[1].Lines[1].Curve.Rounds[1], 2)

	assert.NotContains(t, markdown(t, d), "![")
	d.Charts, d.Notes = "charts", "## Notes\n"
	text := markdown(t, d)
	assert.Contains(t, text, `
![Store: CPU, nanoseconds per operation, as a share of what client-go takes: store/get hot 0.500, store/get cold 0.500, store/get warm 0.500](charts/bars-store.svg)
![store/get cold: latency in microseconds over percentile, lines of client-go and kinformer](charts/store-get-cold-latency.svg)

## Sync`)
	assert.True(t, strings.HasSuffix(text, "\n## Notes\n"))
}

// rowsOf makes rows of one group, of which the second side takes half.
func rowsOf(measure string, names ...string) (all []Row) {
	for _, name := range names {
		r := Row{Group: "G", Name: name}
		for round := range 3 {
			r.Record(0, measure, "us/object", float64(10+round))
			r.Record(1, measure, "us/object", float64(5+round))
		}
		all = append(all, r)
	}
	return all
}

func labels(p Picture) (all []string) {
	for _, b := range p.Bars {
		all = append(all, b.Label)
	}
	return all
}

// TestFewBars: a picture has one measure, and of a group with many rows the largest ones.
func TestFewBars(t *testing.T) {
	mixed := &Document{Rows: append(rowsOf("CPU", "a", "b", "c"), rowsOf("heap, held", "d", "e", "f", "g")...)}
	mixed.Rows = append(mixed.Rows, rowsOf("rare", "h", "i")...)
	pictures := mixed.Pictures()
	require.Len(t, pictures, 2)
	assert.Equal(t, []string{"a", "b", "c"}, labels(pictures[0]))
	assert.Equal(t, "bars-g-heap-held.svg", pictures[1].File)
	assert.Equal(t, []string{"d", "e", "f", "g"}, labels(pictures[1]))

	var names []string
	for _, objects := range []string{"100", "1000", "10000", "100000"} {
		names = append(names, "size/"+objects+"-0/get", "size/"+objects+"-1/get", "size/"+objects+"-3/get", "size/"+objects+"-3/list")
	}
	sizes := (&Document{Rows: rowsOf("CPU", names...)}).Pictures()
	require.Len(t, sizes, 1)
	assert.Equal(t, names[12:], labels(sizes[0]))
}

// TestBarsOfDirectDecoding: what a row measures with package direct, too, is a bar beside the
// other.
func TestBarsOfDirectDecoding(t *testing.T) {
	d := &Document{Rows: rowsOf("CPU", "http/json-list", "http/json-watch", "http/protobuf-list")}
	for i := range d.Rows {
		d.Rows[i].Record(0, "tapped, CPU", "us/object", 20)
		d.Rows[i].Record(1, "tapped, CPU", "us/object", 5)
	}
	pictures := d.Pictures()
	require.Len(t, pictures, 1)
	require.Len(t, pictures[0].Bars, 6)
	assert.Equal(t, Bar{Label: "http/json-list with direct", Color: Direct, Share: 0.25, Figures: "20.0 → 5.00"}, pictures[0].Bars[1])
}

func TestBarsSayWhatMayBeChance(t *testing.T) {
	m := Measure{Samples: [2][]float64{{10, 11, 12}, {11, 12, 13}}}
	assert.Equal(t, "11.0 → 12.0, ≈", m.bar("x", 1).Figures)
	m.Samples[1] = []float64{1, 50, 200}
	assert.Equal(t, "11.0 → 50.0, noisy", m.bar("x", 1).Figures)
}

func TestWords(t *testing.T) {
	for unit, want := range map[string]string{
		"ns/op": "nanoseconds per operation", "us/object": "microseconds per object", "events/s": "events per second",
		"MB": "megabytes", "B/object": "bytes per object", "per informer": "per informer", "percentile": "percentile",
	} {
		assert.Equal(t, want, Words(unit))
	}
}

func TestShownFiguresAreNotCompared(t *testing.T) {
	d := document()
	d.Rows[1].Show(0, "rate", "events/s", 1)
	d.Rows[1].Show(1, "rate", "events/s", 4)
	assert.Contains(t, markdown(t, d), "|  |  | rate, events/s | 1.00 | 4.00 |  |\n")
}
