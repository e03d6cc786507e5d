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

// TestNothingLostNothingInvented is a short run; make soak runs for any duration.
func TestNothingLostNothingInvented(t *testing.T) {
	config := soak.Default()
	config.Seed, config.Duration, config.Names, config.Pause, config.Out = 1, 15*time.Second, 60, 10*time.Millisecond, t.Output()
	summary, err := soak.Run(t.Context(), config)
	require.NoError(t, err)
	assert.Empty(t, summary.Violated)
	assert.NotZero(t, summary.Checks)
	assert.NotEmpty(t, summary.Faults)
	for _, what := range []string{"notifications", "reads", "decoded directly", "audits: objects"} {
		assert.NotZero(t, summary.Counts[what], what)
	}
}
