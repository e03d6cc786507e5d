// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

type thing struct{ texts []string }

// things returns n objects with a number of texts, each of which is a step.
func things(n, texts int) []any {
	var all []any
	for range n {
		all = append(all, &thing{make([]string, texts)})
	}
	return all
}

func taking(objects []any, asked *int) func(int) ([]any, int) {
	return func(most int) ([]any, int) {
		*asked++
		return objects[:min(most, len(objects))], 10 * min(most, len(objects))
	}
}

func TestSample(t *testing.T) {
	var s sample
	b := newBudget()
	now, asked := time.Now(), 0
	assert.Zero(t, s.of(b, now, taking(nil, &asked)), "of nothing")
	got := s.of(b, now, taking(things(100, 8), &asked))
	assert.Equal(t, estimate{sampled: 64, at: now, object: 32 + 128, key: 10}, got)
	assert.Equal(t, 2, asked)
	assert.Equal(t, got, s.of(b, now.Add(sampleAge-1), taking(nil, &asked)), "it is good for a while")
	assert.Equal(t, 2, asked)
	later := now.Add(sampleAge)
	assert.Equal(t, later, s.of(b, later, taking(things(1, 1), &asked)).at)
	assert.Equal(t, 3, asked)
	assert.Equal(t, later, s.of(b, later.Add(sampleAge), taking(nil, &asked)).at, "of nothing there is none that is newer")
}

// TestBudget: samples stop when the budget is used up, newer ones at half of it, and continue when
// it has grown.
func TestBudget(t *testing.T) {
	b := newBudget()
	now, asked := time.Now(), 0
	large := taking(things(64, 2000), &asked)
	first := func() (taken bool) {
		before := asked
		(&sample{}).of(b, now, large)
		return asked > before
	}
	for range budgetMost / sampleSteps {
		assert.True(t, first())
	}
	assert.False(t, first(), "it is used up")
	assert.Zero(t, (&sample{}).of(b, now, large), "then there is no estimate")

	var old sample
	known := old.of(newBudget(), now.Add(-2*sampleAge), large)
	assert.NotZero(t, known)
	now = now.Add(time.Second)
	assert.Equal(t, known, old.of(b, now, large), "a little is left to those who have none")
	assert.True(t, first())
	now = now.Add(time.Hour)
	assert.NotEqual(t, known, old.of(b, now, large))
}
