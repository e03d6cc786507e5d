// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cputime

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUsageOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	before, err := Of(os.Getpid())
	require.NoError(t, err)
	assert.Greater(t, before.RSS, uint64(1<<20))
	after := before
	for held := make([]byte, 64<<20); after.CPU < before.CPU+3*tick; { // until /proc shows the work
		for i := range held {
			held[i]++
		}
		after, err = Of(os.Getpid())
		require.NoError(t, err)
		assert.Greater(t, after.RSS, uint64(64<<20))
		assert.GreaterOrEqual(t, after.Peak, uint64(64<<20))
	}
	_, err = Of(-1)
	assert.Error(t, err)
}
