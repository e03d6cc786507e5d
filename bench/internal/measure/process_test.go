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

func TestReadingOfThisProcess(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc")
	}
	p := Process(os.Getpid())
	before, err := p.Read()
	require.NoError(t, err)
	assert.Greater(t, before.RSS, uint64(1<<20))
	after := before
	for held := make([]byte, 64<<20); after.CPU < before.CPU+3*tick; { // until /proc shows the work
		for i := range held {
			held[i]++
		}
		after, err = p.Read()
		require.NoError(t, err)
		assert.Greater(t, after.RSS, uint64(64<<20))
	}
	peak, err := p.Peak()
	require.NoError(t, err)
	assert.GreaterOrEqual(t, peak, uint64(64<<20))
	require.NoError(t, p.Forget())
	_, err = Process(-1).Read()
	assert.Error(t, err)
	cores, err := Cores()
	require.NoError(t, err)
	assert.Positive(t, cores.All)
	assert.InDelta(t, 0.1, Ticks{All: 550, Stolen: 20}.StolenSince(Ticks{All: 450, Stolen: 10}), 1e-9)
}
