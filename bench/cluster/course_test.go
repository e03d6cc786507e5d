// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// filled is the live heap of an hour with a sample each minute, which rises for so long.
func filled(until time.Duration) (c course) {
	for at := time.Duration(0); at < time.Hour; at += time.Minute {
		c = append(c, point{at, 147 + min(at, until).Minutes()})
	}
	return c
}

// TestSlopesBeginWhenTheTablesAreFull: what fills up to a limit does not rise for ever.
func TestSlopesBeginWhenTheTablesAreFull(t *testing.T) {
	assert.Equal(t, "147 to 158 MiB; since minute 20 +0.0 ± 0.0 MiB an hour (40 samples)", filled(11*time.Minute).since(11*time.Minute))
	assert.Equal(t, "147 to 165 MiB; since minute 20 +0.0 ± 0.0 MiB an hour (40 samples)", filled(18*time.Minute).since(0))
	assert.Equal(t, "147 to 172 MiB; since minute 25 +0.0 ± 0.0 MiB an hour (35 samples)", filled(25*time.Minute).since(25*time.Minute))
	assert.Equal(t, "147 to 206 MiB; since minute 20 +60.0 ± 0.0 MiB an hour (40 samples)", filled(time.Hour).since(11*time.Minute))
}

func TestThereIsNoSlopeOfAFewSamples(t *testing.T) {
	assert.Equal(t, "147 to 158 MiB; no slope: 19 samples since minute 41, and it takes 20", filled(11*time.Minute).since(41*time.Minute))
	assert.Equal(t, "147 to 158 MiB; no slope: 0 samples since minute 20, and it takes 20", filled(11 * time.Minute)[:20].since(0))
	assert.Equal(t, "147 to 158 MiB; no slope: the tables of shared texts and parts were never full", filled(11*time.Minute).since(never))
}
