// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/test/bench/internal/child"
	"github.com/kinformer/cache/test/bench/internal/report"
)

// TestMain also runs the server process of the rows that use HTTP.
func TestMain(m *testing.M) {
	child.Become(roles)
	os.Exit(m.Run())
}

// tinyObjects is the population of the rows.
const tinyObjects = 200

// TestEveryRow runs each row once on both sides with few objects. The workload must succeed, both
// sides must end in the same state, and every figure must be a finite number. Rows have names of their own.
func TestEveryRow(t *testing.T) {
	names := map[string]bool{}
	for _, w := range rows(tinyObjects) {
		assert.NotEmpty(t, w.group, w.name)
		assert.NotEmpty(t, w.title, w.name)
		assert.False(t, names[w.name], "two rows are called %s", w.name)
		names[w.name] = true
		t.Run(w.name, func(t *testing.T) { tryTiny(t, w) })
	}
}

func tryTiny(t *testing.T, w row) {
	e := &env{sides: sides(), n: tinyObjects, seed: 1, scale: 0.001}
	r := runner{env: e, sides: e.sides, rounds: 1, progress: io.Discard}
	results, err := r.run(t.Context(), []row{w}, regexp.MustCompile(""))
	require.NoError(t, err)
	require.Len(t, results, 1)
	require.NotEmpty(t, results[0].Measures)
	for _, m := range results[0].Measures {
		for side, samples := range m.Samples {
			require.Len(t, samples, 1, "%s of %s", m.Name, e.sides[side].name)
			assert.False(t, math.IsNaN(samples[0]) || math.IsInf(samples[0], 0), "%s of %s: %v", m.Name, e.sides[side].name, samples[0])
		}
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	err := run(t.Context(), []string{
		"-quick", "-control", "-n", "100", "-rounds", "1", "-run", "^fanout/0-1$",
		"-cpuprofile", filepath.Join(dir, "p."),
	}, &stdout, io.Discard)
	require.NoError(t, err)
	assert.Contains(t, stdout.String(), "| `fanout/0-1` | watch events, handlers: 1, ResultChan: unbuffered | CPU, ns/event |")
	assert.Contains(t, stdout.String(), "| client-go again | v0.37.2 |")
	assert.Contains(t, stdout.String(), "100 objects")
	profiles, err := filepath.Glob(filepath.Join(dir, "p.fanout-0-1.client-go*.1.cpu.pprof"))
	require.NoError(t, err)
	assert.Len(t, profiles, 2, "one for each side")
}

func TestFloorsNameRowsThatAQuickRunHas(t *testing.T) {
	floors, err := readFloors("floors.txt")
	require.NoError(t, err)
	err = floors.Check(nil, names(rows(quickObjects)))
	assert.NotErrorIs(t, err, report.ErrUnknown)
	assert.NotErrorIs(t, err, report.ErrUnguarded)
	_, err = readFloors("no such file")
	assert.Error(t, err)
}
