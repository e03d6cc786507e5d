// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"math"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestEveryRow runs each row once on both sides with few objects. The workload must succeed, both
// sides must end in the same state, and every figure must be a finite number.
func TestEveryRow(t *testing.T) {
	for _, w := range rows(tinyObjects) {
		t.Run(w.name, func(t *testing.T) { tryTiny(t, w) })
	}
}

// tinyObjects is the population of the rows.
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
	for _, w := range rows(tinyObjects) {
		assert.NotEmpty(t, w.group, w.name)
		assert.NotEmpty(t, w.title, w.name)
		assert.False(t, names[w.name], "two rows are called %s", w.name)
		names[w.name] = true
	}
}
