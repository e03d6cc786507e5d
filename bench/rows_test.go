// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"math"
	"regexp"
	"runtime/debug"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryRow runs each row once, tiny, on both sides: its workload works,
// both sides end alike, and every figure is one. Rows that spend seconds
// waiting for a relist or a resync wait at the same time.
func TestEveryRow(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // rows of heaps change it, side by side
	var waiting sync.WaitGroup
	defer waiting.Wait()
	all := rows()
	for _, m := range methods() { // those of rows are about more objects
		all = append(all, sized{m, tinyObjects / 2, m.indexes[len(m.indexes)-1], !m.whole}.row())
	}
	for _, w := range all {
		if w.objects > tinyObjects {
			continue
		}
		try := func() { t.Run(w.name, func(t *testing.T) { tryTiny(t, w) }) }
		if w.waits {
			waiting.Go(try)
		} else {
			try()
		}
	}
}

// tinyObjects are enough for the smallest of rows that differ in the number only.
const tinyObjects = 200

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

func TestRowsHaveNamesOfTheirOwn(t *testing.T) {
	names := map[string]bool{}
	for _, w := range rows() {
		assert.NotEmpty(t, w.group, w.name)
		assert.NotEmpty(t, w.title, w.name)
		assert.False(t, names[w.name], "two rows are called %s", w.name)
		names[w.name] = true
	}
}
