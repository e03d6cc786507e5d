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

// peakInterval is how often the heap is read.
const peakInterval = 200 * time.Microsecond

// HeapCourse is the heap over some time, in bytes: Base is the live heap before, Peak the highest
// that the heap came to.
type HeapCourse struct{ Base, Peak uint64 }

// Beyond is how far the peak exceeded what the heap was at another time.
func (c HeapCourse) Beyond(base uint64) float64 { return float64(c.Peak - min(base, c.Peak)) }

// WatchHeap runs do and reads the heap meanwhile. Garbage is at most the given
// percentage of the live heap.
func WatchHeap(gcPercent int, do func() error) (HeapCourse, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	course := HeapCourse{Base: LiveHeap()}
	finish, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		ticks := time.NewTicker(peakInterval)
		defer ticks.Stop()
		for ended := false; !ended; {
			select {
			case <-ticks.C:
			case <-finish:
				ended = true
			}
			course.Peak = max(course.Peak, heapObjects())
		}
	}()
	err := do()
	close(finish)
	<-finished
	return course, err
}
