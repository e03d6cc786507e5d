// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCores(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	require.NoError(t, ForgetPeak(os.Getpid()))
	cores, err := Cores()
	require.NoError(t, err)
	assert.Positive(t, cores.All)
	assert.InDelta(t, 0.1, Ticks{All: 550, Stolen: 20}.StolenSince(Ticks{All: 450, Stolen: 10}), 1e-9)
}
