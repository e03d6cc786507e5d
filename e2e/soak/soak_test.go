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

// run runs without violations.
func run(t *testing.T, faults string, d time.Duration) *soak.Summary {
	config := soak.Default()
	config.Seed, config.Duration, config.Names, config.Pause, config.Faults, config.Out = 1, d, 60, 10*time.Millisecond, faults, t.Output()
	summary, err := soak.Run(t.Context(), config)
	require.NoError(t, err)
	assert.Empty(t, summary.Violations)
	return summary
}

// TestNothingLostNothingInvented is a short run. make soak runs as long as one likes.
func TestNothingLostNothingInvented(t *testing.T) {
	summary := run(t, ".", 15*time.Second)
	assert.NotZero(t, summary.Checks)
	assert.NotEmpty(t, summary.Faults)
	for _, what := range []string{"notifications", "reads", "reads: hunting", "decoded directly", "audits: objects"} {
		assert.NotZero(t, summary.Counts[what], what)
	}
}

// TestAuditsFindWhatWasPlanted: stores that were changed are found to be wrong in just that, and
// are repaired.
func TestAuditsFindWhatWasPlanted(t *testing.T) {
	summary := run(t, "^informer: store changed$", 10*time.Second)
	for _, what := range []string{"found missing", "found extra", "found different", "repaired"} {
		assert.NotZero(t, summary.Counts["stores changed: "+what], what)
	}
}
