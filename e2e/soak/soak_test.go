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
	for _, what := range []string{"notifications", "reads", "reads: hunting", "decoded directly", "audits: objects"} {
		assert.NotZero(t, summary.Counts[what], what)
	}
}

// TestAuditsFindWhatWasPlanted: stores that were changed are found to be wrong in just that, and
// are repaired.
func TestAuditsFindWhatWasPlanted(t *testing.T) {
	summary, err := soak.Run(t.Context(), soak.Config{
		Seed: 1, Duration: 10 * time.Second, Names: 60, Pause: 10 * time.Millisecond, Faults: "^informer: store changed$", Out: t.Output(),
	})
	require.NoError(t, err)
	assert.Empty(t, summary.Violations)
	for _, what := range []string{"found missing", "found extra", "found different", "repaired"} {
		assert.NotZero(t, summary.Counts["stores changed: "+what], what)
	}
}
