// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure takes the figures of a benchmark from the operating system and the Go runtime:
// CPU and wall time, allocations, live heap, profiles, and the machine.
package measure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"runtime/pprof"
	"time"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

// Usage is the resource usage of one measured region.
type Usage struct {
	// CPU is the time all threads of the process ran, in user and system mode.
	CPU time.Duration
	// Wall is the time that passed.
	Wall time.Duration
	// Allocs and Bytes count the heap objects that were allocated, and their memory.
	Allocs, Bytes uint64
}

// Region runs do and returns its usage. An error of do is returned unchanged.
func Region(do func() error) (u Usage, err error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, err := cputime.Used()
	if err != nil {
		return u, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return u, err
	}
	u.Wall = time.Since(start)
	end, err := cputime.Used()
	runtime.ReadMemStats(&after)
	u.CPU, u.Allocs, u.Bytes = end-cpu, after.Mallocs-before.Mallocs, after.TotalAlloc-before.TotalAlloc
	return u, err
}

// LiveHeap collects garbage and returns the bytes that live objects take.
func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC() // a second cycle empties sync.Pools
	return heapObjects()
}

// heapObjects is the memory of all heap objects, live or not yet swept.
func heapObjects() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// peakInterval is the time between two readings of the heap.
const peakInterval = 200 * time.Microsecond

// PeakHeap runs do, with gcPercent as the percentage of debug.SetGCPercent, and returns by how many
// bytes the heap exceeded base at most.
func PeakHeap(base uint64, gcPercent int, do func() error) (beyond uint64, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	finish, peak := make(chan struct{}), make(chan uint64)
	go func() {
		most, ticks := base, time.NewTicker(peakInterval)
		defer ticks.Stop()
		for ended := false; !ended; {
			select {
			case <-ticks.C:
			case <-finish:
				ended = true
			}
			most = max(most, heapObjects())
		}
		peak <- most
	}()
	err = do()
	close(finish)
	return <-peak - base, err
}

// Profiled runs do and writes a CPU profile of it to a file, unless path is empty.
func Profiled(path string, do func() error) error {
	if path == "" {
		return do()
	}
	file, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(file)
	}
	if err != nil {
		return fmt.Errorf("CPU profile: %w", err)
	}
	failed := do()
	pprof.StopCPUProfile()
	return errors.Join(failed, file.Close())
}

// Pause sleeps for d, or until ctx ends, and then returns its cause.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
