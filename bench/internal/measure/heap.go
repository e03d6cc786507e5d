// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// LiveHeap collects garbage and returns the bytes that live objects take.
func LiveHeap() uint64 {
	runtime.GC()
	runtime.GC() // a second cycle empties what sync.Pools kept
	return heapObjects()
}

// heapObjects is the memory of all heap objects, live or not yet swept.
func heapObjects() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

const (
	// peakGCPercent lets garbage be at most this share of the live heap while
	// a peak is looked for, so that the peak is one of live memory. The same
	// share of the base is the error, which is why peaks are measured on light
	// objects.
	peakGCPercent = 1
	// peakInterval is how often the heap is read.
	peakInterval = 200 * time.Microsecond
)

// PeakHeap runs do with a garbage collector that never rests, and returns how
// many bytes the heap at its highest exceeded what it was before.
func PeakHeap(do func() error) (uint64, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(peakGCPercent))
	base := LiveHeap()
	finish, highest := make(chan struct{}), make(chan uint64)
	go func() { highest <- watchHeap(finish) }()
	err := do()
	close(finish)
	peak := <-highest
	return peak - min(base, peak), err
}

// watchHeap returns the highest heap size seen until finish is closed.
func watchHeap(finish <-chan struct{}) uint64 {
	ticks := time.NewTicker(peakInterval)
	defer ticks.Stop()
	peak := uint64(0)
	for {
		peak = max(peak, heapObjects())
		select {
		case <-ticks.C:
		case <-finish:
			return max(peak, heapObjects())
		}
	}
}
