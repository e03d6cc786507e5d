// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package measure takes the figures of a benchmark from the operating system
// and the Go runtime: CPU and wall time, allocations, live heap, profiles, and
// what machine they were taken on.
package measure

import (
	"runtime"
	"time"

	"github.com/kinformer/cache/internal/testkit/cputime"
)

// Usage is what one measured region took.
type Usage struct {
	// CPU is the time all threads of the process ran, in user and system mode.
	CPU time.Duration
	// Wall is the time that passed.
	Wall time.Duration
	// Allocs and Bytes count the heap objects that were allocated, and their
	// memory.
	Allocs, Bytes uint64
}

// Settle completes a garbage collection, sweep included, so that the garbage
// of what came before is not charged to what comes next.
func Settle() { runtime.GC() }

// Region runs do and returns what it took. An error of do is returned as it
// is.
func Region(do func() error) (Usage, error) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cpu, err := cputime.Used()
	if err != nil {
		return Usage{}, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return Usage{}, err
	}
	wall := time.Since(start)
	end, err := cputime.Used()
	if err != nil {
		return Usage{}, err
	}
	runtime.ReadMemStats(&after)
	return Usage{
		CPU:    end - cpu,
		Wall:   wall,
		Allocs: after.Mallocs - before.Mallocs,
		Bytes:  after.TotalAlloc - before.TotalAlloc,
	}, nil
}
