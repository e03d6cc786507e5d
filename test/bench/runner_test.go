// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// always returns a row that runs try.
func always(name string, try trial) row {
	return row{group: "Test", name: name, title: name,
		setup: func(context.Context, *env) (trial, error) { return try, nil }}
}

// runTest runs rows that need no objects, and returns the progress output and the names of the
// results.
func runTest(t *testing.T, rounds int, pattern string, all ...row) (*bytes.Buffer, []string, error) {
	t.Helper()
	var progress bytes.Buffer
	r := runner{env: &env{}, sides: sides(), rounds: rounds, progress: &progress}
	results, err := r.run(t.Context(), all, regexp.MustCompile(pattern))
	var names []string
	for _, result := range results {
		names = append(names, result.Name)
	}
	return &progress, names, err
}

func one(value float64, c check) outcome {
	return outcome{samples: []sample{{"time", "s", value}}, check: c}
}

func TestSidesTakeTurnsAndEachRoundBeginsWithTheOther(t *testing.T) {
	var order []int
	_, _, err := runTest(t, 3, "", always("x", func(_ context.Context, s side) (outcome, error) {
		order = append(order, s.index)
		return one(1, check{}), nil
	}))
	require.NoError(t, err)
	assert.Equal(t, []int{0, 1, 1, 0, 0, 1}, order)
}

// TestErrorsNameRowSideAndRound checks the errors of a side, and of different ends.
func TestErrorsNameRowSideAndRound(t *testing.T) {
	broken := errors.New("broken")
	_, _, err := runTest(t, 2, "", always("x/y", func(_ context.Context, s side) (outcome, error) {
		return one(1, check{}), []error{nil, broken}[s.index]
	}))
	require.ErrorIs(t, err, broken)
	assert.ErrorContains(t, err, "x/y: kinformer, round 1")
	_, _, err = runTest(t, 1, "", always("x", func(_ context.Context, s side) (outcome, error) {
		return one(1, check{Adds: int64(s.index)}), nil
	}))
	require.ErrorIs(t, err, errDiffer)
	assert.ErrorContains(t, err, "round 1")
	assert.ErrorContains(t, err, fmt.Sprintf("%+v and %+v", check{Adds: 0}, check{Adds: 1}))
}

func TestResultsKeepTheOrderOfTheRowsAndThePatternChooses(t *testing.T) {
	try := func(context.Context, side) (outcome, error) { return one(1, check{}), nil }
	light := always("b/light", try)
	light.light = true
	progress, names, err := runTest(t, 1, "^[ab]/", always("a/full", try), light, always("c/other", try))
	require.NoError(t, err)
	assert.Equal(t, []string{"a/full", "b/light"}, names)
	assert.Regexp(t, `(?s)^b/light .*\na/full .*\n$`, progress.String(), "light rows run first")
}

func TestOnlyOneKindOfObjectsIsKept(t *testing.T) {
	e := &env{n: 10, seed: 1}
	e.use(false)
	full, err := e.population(t.Context())
	require.NoError(t, err)
	again, err := e.population(t.Context())
	require.NoError(t, err)
	assert.Same(t, full, again)
	redecoded, err := e.redecoded(t.Context())
	require.NoError(t, err)
	assert.NotSame(t, full.Pods[0], redecoded.Pods[0])
	assert.Equal(t, full.Pods[0], redecoded.Pods[0])

	e.use(true)
	assert.Nil(t, e.first)
	assert.Nil(t, e.second)
	light, err := e.population(t.Context())
	require.NoError(t, err)
	assert.Empty(t, light.Pods[0].Spec.Containers)
	e.use(true)
	assert.NotNil(t, e.first)
}

func TestCloseSidesGetMoreRounds(t *testing.T) {
	rounds := func(w row, ratio float64) int {
		done := 0
		try := always("x", func(_ context.Context, s side) (outcome, error) {
			done++
			return one([]float64{ratio, 1}[s.index], check{}), nil
		})
		w.group, w.name, w.setup = try.group, try.name, try.setup
		r := runner{env: &env{}, sides: sides(), rounds: 3, more: 7, progress: io.Discard}
		_, err := r.run(t.Context(), []row{w}, regexp.MustCompile(""))
		require.NoError(t, err)
		return done / 2
	}
	assert.Equal(t, 7, rounds(row{}, 1.1))
	assert.Equal(t, 7, rounds(row{}, 0.9))
	assert.Equal(t, 3, rounds(row{}, 1.2))
	assert.Equal(t, 3, rounds(row{}, 0.8))
	assert.Equal(t, 2, rounds(row{rounds: 2}, 1))
}
