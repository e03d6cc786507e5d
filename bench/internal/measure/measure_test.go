// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var sink [][]byte

func TestRegionCountsTimeAndAllocations(t *testing.T) {
	watch, err := StartCPU()
	require.NoError(t, err)
	usage, err := Region(func() error {
		sink = nil
		for range 100 {
			sink = append(sink, make([]byte, 10_000))
		}
		before, err := watch.Read()
		for start, cpu := time.Now(), before; err == nil && (time.Since(start) < 20*time.Millisecond || cpu-before < 20*time.Millisecond); {
			cpu, err = watch.Read()
		}
		return err
	})
	require.NoError(t, err)
	assert.GreaterOrEqual(t, usage.Wall, 20*time.Millisecond)
	assert.GreaterOrEqual(t, usage.CPU, 20*time.Millisecond)
	assert.GreaterOrEqual(t, usage.Allocs, uint64(100))
	assert.GreaterOrEqual(t, usage.Bytes, uint64(1_000_000))
}

func TestRegionPassesTheErrorOn(t *testing.T) {
	broken := errors.New("broken")
	_, err := Region(func() error { return broken })
	assert.ErrorIs(t, err, broken)
}

func TestStopwatchRunsForward(t *testing.T) {
	watch, err := StartCPU()
	require.NoError(t, err)
	first, err := watch.Read()
	require.NoError(t, err)
	second, err := watch.Read()
	require.NoError(t, err)
	assert.LessOrEqual(t, first, second)
}

func TestPeakHeapSeesMemoryThatIsGoneAfterwards(t *testing.T) {
	const size = 32 << 20
	course, err := PeakHeap(func() error {
		held := make([]byte, size)
		runtime.GC()
		runtime.KeepAlive(held)
		return nil
	})
	require.NoError(t, err)
	peak := course.Beyond(course.Base)
	assert.GreaterOrEqual(t, peak, float64(size)*0.9)
	assert.Less(t, peak, float64(size)*2)
}

func TestHeapCourseRunsThroughThePeak(t *testing.T) {
	const size = 32 << 20
	course := HeapCourse{Base: LiveHeap(), Start: time.Now()}
	ticks, finish, finished := make(chan time.Time), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		course.follow(ticks, finish)
	}()
	tick := func() { ticks <- time.Now(); ticks <- time.Now() } // the heap was read when the second is taken
	for range 3 {
		held := make([]byte, size)
		tick()
		runtime.KeepAlive(held)
		held = nil
		runtime.GC()
		<-time.After(pointInterval)
		tick()
	}
	close(finish)
	<-finished
	require.Greater(t, len(course.Points), 3)
	highest, lowest := uint64(0), course.Points[0].Bytes
	for i, p := range course.Points {
		highest, lowest = max(highest, p.Bytes), min(lowest, p.Bytes)
		assert.True(t, i == 0 || p.At > course.Points[i-1].At)
	}
	assert.Equal(t, highest, course.Peak)
	assert.GreaterOrEqual(t, course.Peak, course.Base+size*9/10)
	assert.Less(t, lowest, course.Base+size/2, "points are of their time")
}

func TestThisMachine(t *testing.T) {
	machine := ThisMachine()
	assert.Equal(t, runtime.NumCPU(), machine.Cores)
	assert.Equal(t, runtime.Version(), machine.Go)
	assert.Contains(t, machine.OS, runtime.GOOS)
	if runtime.GOOS == "linux" {
		assert.NotZero(t, machine.MemoryBytes)
		assert.NotZero(t, AvailableMemory())
		text, _ := Load()
		assert.NotEqual(t, "unknown", text)
	}
}

// TestVersions: what is built from a folder of the working directory has no version of its own.
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

func TestProfilesAreWrittenForTheRegion(t *testing.T) {
	prefix := filepath.Join(t.TempDir(), "x.")
	profiles := Profiles{CPU: prefix, Memory: prefix, Block: prefix}
	require.NoError(t, profiles.Around("row.side.1", func() error { return nil }))
	for _, name := range []string{
		"row.side.1.cpu.pprof", "row.side.1.before.mem.pprof", "row.side.1.after.mem.pprof",
		"row.side.1.before.block.pprof", "row.side.1.after.block.pprof",
	} {
		info, err := os.Stat(prefix + name)
		require.NoError(t, err)
		assert.NotZero(t, info.Size(), name)
	}
}

func TestNoProfilesUnlessAsked(t *testing.T) {
	called := false
	require.NoError(t, Profiles{}.Around("x", func() error { called = true; return nil }))
	assert.True(t, called)
	assert.Error(t, Profiles{CPU: "/nonexistent/dir/"}.Around("x", func() error { return nil }))
}
