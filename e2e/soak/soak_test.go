// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/e2e/soak"
)

// TestNothingLostNothingInvented is a short run. make soak runs as long as one likes.
func TestNothingLostNothingInvented(t *testing.T) {
	summary, err := soak.Run(t.Context(), soak.Config{
		Seed: 1, Duration: 15 * time.Second, Names: 60, Pause: 10 * time.Millisecond, Out: t.Output(),
	})
	require.NoError(t, err)
	assert.Empty(t, summary.Violations)
	assert.NotZero(t, summary.Checks)
	assert.NotEmpty(t, summary.Faults)
	assert.NotZero(t, summary.Counts["notifications"])
	assert.NotZero(t, summary.Counts["reads"])
	assert.NotZero(t, summary.Counts["decoded directly"])
	assert.NotZero(t, summary.Counts["audits: objects"])
}

// TestAuditsFindLies: informers that are lied to are found to be wrong in just what they are, and
// are repaired.
func TestAuditsFindLies(t *testing.T) {
	summary, err := soak.Run(t.Context(), soak.Config{
		Seed: 1, Duration: 10 * time.Second, Names: 60, Pause: 10 * time.Millisecond, Faults: "^informer: lied to$", Out: t.Output(),
	})
	require.NoError(t, err)
	assert.Empty(t, summary.Violations)
	for _, what := range []string{
		"lies: events lost", "lies: objects altered", "lies: objects made up",
		"lied to: audits", "lied to: found missing", "lied to: found extra", "lied to: found stale", "lied to: repaired",
	} {
		assert.NotZero(t, summary.Counts[what], what)
	}
}
