// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/test/bench/internal/measure"
)

func TestMarkdown(t *testing.T) {
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
	d := &Document{
		Machine: measure.Machine{CPU: "Some CPU", Cores: 2, GOMAXPROCS: 2, MemoryBytes: 8 << 30, OS: "linux/amd64", Go: "go1.26.8"},
		Sides:   [2]Side{{"client-go", "v0.37.2"}, {"kinformer", "v0.1.0"}},
		Command: "make bench", Objects: 1000, Rounds: 3, Seed: 1, Quick: true, Busy: true,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 90 * time.Second, Rows: []Row{get, sync},
	}
	var b strings.Builder
	require.NoError(t, d.WriteMarkdown(&b))
	for _, want := range []string{
		"Written by `make bench`; do not edit.", "| machine | Some CPU, 2 cores (GOMAXPROCS 2), 8 GiB |",
		"| run | quick, 1000 objects, 3 rounds, seed 1 |", "| taken | 2026-01-02 03:04 UTC, in 1m30s |", "busy with other work",
	} {
		assert.Contains(t, b.String(), want)
	}
	_, tables, _ := strings.Cut(b.String(), "\n## ")
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

func TestSummarize(t *testing.T) {
	assert.Equal(t, Summary{}, Summarize(nil))
	assert.Equal(t, Summary{N: 3, Median: 2, Min: 1, Max: 9}, Summarize([]float64{9, 1, 2}))
	samples := []float64{9, 3, 1, 2}
	assert.Equal(t, Summary{N: 4, Median: 2.5, Min: 1, Max: 9}, Summarize(samples))
	assert.Equal(t, []float64{9, 3, 1, 2}, samples, "the caller's samples keep their order")
}

func TestCompare(t *testing.T) {
	calm := Summarize([]float64{10, 11, 12})
	for name, test := range map[string]struct {
		a, b Summary
		want string
	}{
		"better":            {Summarize([]float64{20, 22, 24}), calm, "2.00"},
		"worse":             {calm, Summarize([]float64{20, 22, 24}), "0.500"},
		"ranges touch":      {Summarize([]float64{11, 12, 13}), calm, "≈ 1.09"},
		"noise hides it":    {Summarize([]float64{5, 22, 50}), calm, "noisy"},
		"better in any way": {Summarize([]float64{24, 100, 500}), calm, "noisy (≥ 2.00)"},
		"worse in any way":  {Summarize([]float64{0.1, 1, 3}), calm, "noisy (≤ 0.300)"},
		"both zero":         {Summarize([]float64{0, 0}), Summarize([]float64{0, 0}), "-"},
		"other side zero":   {calm, Summarize([]float64{0, 0}), "+Inf"},
	} {
		assert.Equal(t, test.want, Compare(test.a, test.b).String(), name)
	}
}

func TestPercentile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	assert.Zero(t, Percentile(nil, 0.5))
	for p, want := range map[float64]float64{0: 1, 0.5: 50, 0.99: 99, 0.999: 100, 1: 100} {
		assert.Equal(t, want, Percentile(hundred, p), p)
	}
}

func TestFormat(t *testing.T) {
	for want, x := range map[string]float64{
		"0": 0, "0.0123": 0.01234, "0.00034": 0.000344, "1.66": 1.661, "43.2": 43.18, "891": 891.2, "999": 999.4,
		"1,000": 999.6, "12,630": 12630.4, "1,234,567": 1234567, "-12,630": -12630, "-1.50": -1.5,
		"NaN": math.NaN(),
	} {
		assert.Equal(t, want, Format(x))
	}
}

func TestClose(t *testing.T) {
	for ratio, want := range map[float64]bool{1: true, 1.14: true, 0.88: true, 1.16: false, 0.86: false, math.NaN(): false} {
		assert.Equal(t, want, Verdict{Ratio: ratio}.Close(), ratio)
	}
}

// results returns a row whose CPU time is halved, whose allocations are zero on both sides, and
// whose wall time is noisy.
func results() []Row {
	get := Row{Name: "store/get"}
	get.Record(0, "CPU", "ns/op", 200)
	get.Record(1, "CPU", "ns/op", 100)
	get.Record(0, "allocations", "allocs/op", 0)
	get.Record(1, "allocations", "allocs/op", 0)
	for i, wall := range []float64{100, 200, 900} {
		get.Record(0, "wall", "ns/op", wall)
		get.Record(1, "wall", "ns/op", []float64{300, 700, 800}[i])
	}
	return []Row{get}
}

func TestCheck(t *testing.T) {
	for name, test := range map[string]struct {
		floors string
		want   error
	}{
		"reached":            {"store/get | CPU, ns/op | 1.5", nil},
		"just reached":       {"store/get | CPU, ns/op | 2", nil},
		"below":              {"store/get | CPU, ns/op | 2.1", ErrBelow},
		"no ratio":           {"store/get | allocations, allocs/op | 1", ErrBelow},
		"noisy, reached":     {"store/get | wall, ns/op | 3", nil},
		"noisy, below":       {"store/get | wall, ns/op | 3.1", ErrBelow},
		"unknown row":        {"store/get | CPU, ns/op | 1\nstore/got | CPU, ns/op | 1", ErrUnknown},
		"unknown measure":    {"store/get | CPU, us/op | 1", ErrUnknown},
		"not run":            {"store/get | CPU, ns/op | 1\nstore/left | CPU, ns/op | 1", ErrMissing},
		"without a floor":    {"# nothing", ErrUnguarded},
		"with empty lines":   {"store/get | CPU, ns/op | 1\n\n# more", nil},
		"a pattern, reached": {"store/* | CPU, ns/op | 1.5", nil},
		"a pattern, below":   {"store/* | CPU, ns/op | 2.1", ErrBelow},
		"a pattern of none":  {"store/get | CPU, ns/op | 1\nother/* | CPU, ns/op | 1", ErrUnknown},
	} {
		floors, err := ParseFloors(test.floors)
		require.NoError(t, err)
		known := []string{"store/get"}
		if name == "not run" {
			known = append(known, "store/left")
		}
		if err = floors.Check(results(), known); test.want == nil {
			assert.NoError(t, err, name)
		} else {
			assert.ErrorIs(t, err, test.want, name)
		}
	}
}

func TestEveryFindingIsNamed(t *testing.T) {
	floors, err := ParseFloors("store/get | CPU, ns/op | 3\nstore/other | CPU, ns/op | 1")
	require.NoError(t, err)
	err = floors.Check(results(), []string{"store/get"})
	assert.ErrorIs(t, err, ErrBelow)
	assert.ErrorIs(t, err, ErrUnknown)
	assert.ErrorContains(t, err, "store/get, CPU, ns/op: 2.00 is less than 3.00")
	assert.ErrorContains(t, err, "store/other")
}

func TestMalformedFloors(t *testing.T) {
	for _, text := range []string{"store/get", "store/get | -", "store/get | CPU | x", "a | b | 1 | 2", "a | b | 1\na | b | 2"} {
		_, err := ParseFloors(text)
		assert.Error(t, err, text)
		assert.ErrorContains(t, err, "line")
	}
}
