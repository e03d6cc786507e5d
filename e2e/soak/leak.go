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

const (
	// heapSlack is by how much the heap may have grown when everything has stopped: schemes and
	// codecs, the summary, and that client-go's cache of transports, which knows no end, keeps one
	// for each informer, with its buffers.
	heapSlack = 32 << 20
	// leakPatience is how long goroutines and connections may take to end after everything was
	// stopped.
	leakPatience = 30 * time.Second
)

// watchLeaks returns what reports what is there and was not before, when it has not gone for a
// while.
func watchLeaks(r *report) (compare func()) {
	running, socketsBefore, heapBefore := goleak.IgnoreCurrent(), openSockets(), liveHeap()
	return func() {
		err, sockets := goleak.Find(running), openSockets()
		for end := time.Now().Add(leakPatience); (err != nil || sockets > socketsBefore) && time.Now().Before(end); {
			err, sockets = goleak.Find(running), openSockets()
		}
		heap := liveHeap()
		if err != nil || sockets > socketsBefore || heap > heapBefore+heapSlack {
			r.violation("leak", "the process", "%d sockets (%d before), %.1f MiB (%.1f before), goroutines: %.3000v",
				sockets, socketsBefore, mib(heap), mib(heapBefore), err)
		}
		r.update(func(s *Summary) { s.Heap = append(s.Heap, heap) })
	}
}

// openSockets counts this process's sockets, where the system shows them, else it returns 0.
func openSockets() (n int) {
	links, _ := filepath.Glob("/proc/self/fd/*") // the pattern is right
	for _, link := range links {
		// One that has gone meanwhile is not open.
		if target, err := os.Readlink(link); err == nil && strings.HasPrefix(target, "socket:") {
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
