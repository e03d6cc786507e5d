// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

var sink [][]byte

func TestRegionCountsTimeAndAllocations(t *testing.T) {
	usage, err := Region(func() error {
		sink = nil
		for range 100 {
			sink = append(sink, make([]byte, 10_000))
		}
		first, err := cputime.Used()
		for start, cpu := time.Now(), first; err == nil && (time.Since(start) < 20*time.Millisecond || cpu-first < 20*time.Millisecond); {
			cpu, err = cputime.Used()
		}
		return err
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, usage.Wall, 20*time.Millisecond)
	assert.GreaterOrEqual(t, usage.CPU, 20*time.Millisecond)
	assert.GreaterOrEqual(t, usage.Allocs, uint64(100))
	assert.GreaterOrEqual(t, usage.Bytes, uint64(1_000_000))
	broken := errors.New("broken")
	_, err = Region(func() error { return broken })
	assert.ErrorIs(t, err, broken)
}

func TestPeakHeapSeesMemoryThatIsGoneAfterwards(t *testing.T) {
	const size = 32 << 20
	peak, err := PeakHeap(LiveHeap(), 1, func() error {
		held := make([]byte, size)
		runtime.GC()
		runtime.KeepAlive(held)
		return nil
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, float64(peak), float64(size)*0.9)
	assert.Less(t, peak, uint64(size)*2)
}

func TestStolenSince(t *testing.T) {
	assert.InDelta(t, 0.1, Ticks{All: 550, Stolen: 20}.StolenSince(Ticks{All: 450, Stolen: 10}), 1e-9)
}

// TestVersions checks that a module taken from a folder of the working directory has no version.
func TestVersions(t *testing.T) {
	info := &debug.BuildInfo{Deps: []*debug.Module{
		{Path: ClientGo, Version: "v0.37.2"},
		{Path: Kinformer, Version: "v0.0.0-00010101000000-000000000000", Replace: &debug.Module{Path: "../", Version: "(devel)"}},
	}}
	version, beside := versionIn(info, ClientGo)
	assert.Equal(t, "v0.37.2", version)
	assert.False(t, beside)
	_, beside = versionIn(info, Kinformer)
	assert.True(t, beside)
	version, beside = versionIn(info, "no.such/module")
	assert.Equal(t, "unknown", version)
	assert.False(t, beside)
	assert.NotEmpty(t, revision(t.Context()))
}
