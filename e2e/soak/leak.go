// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"go.uber.org/goleak"
)

// heapSlack is by how much the heap may have grown when everything has stopped: schemes and codecs,
// the summary, and that client-go's cache of transports, which knows no end, keeps one for each
// informer, with its buffers.
const heapSlack = 32 << 20

// leakPatience is how long goroutines and connections may take to end after everything was stopped.
const leakPatience = 30 * time.Second

// baseline is what a process had before a run.
type baseline struct {
	goroutines goleak.Option
	sockets    int
	heap       uint64
}

func takeBaseline() baseline {
	return baseline{goroutines: goleak.IgnoreCurrent(), sockets: openSockets(), heap: liveHeap()}
}

// compare reports what is there and was not before, when it has not gone for a while.
func (b baseline) compare(r *report) {
	err, sockets := goleak.Find(b.goroutines), openSockets()
	for end := time.Now().Add(leakPatience); (err != nil || sockets > b.sockets) && time.Now().Before(end); {
		err, sockets = goleak.Find(b.goroutines), openSockets()
	}
	if err != nil {
		r.violation("leak", "goroutines", "%.3000s", err)
	}
	if sockets > b.sockets {
		r.violation("leak", "sockets", "%d open, %d before", sockets, b.sockets)
	}
	heap := liveHeap()
	if heap > b.heap+heapSlack {
		r.violation("leak", "heap", "%.1f MiB, %.1f before", mib(heap), mib(b.heap))
	}
	r.update(func(s *Summary) { s.HeapAfter = heap })
}

// openSockets counts this process's sockets, where the system shows them, else it returns 0.
func openSockets() (n int) {
	const dir = "/proc/self/fd"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	for _, e := range entries {
		// One that has gone meanwhile is not open.
		if target, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(target, "socket:") {
			n++
		}
	}
	return n
}

// liveHeap is what is reachable.
func liveHeap() uint64 {
	runtime.GC()
	runtime.GC() // finalizers of the first have freed more
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
