// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package debug

import (
	"maps"
	"runtime/metrics"
	"slices"
	"sync"
	"time"

	"github.com/kinformer/cache/inspect"
)

// Bounds of the samples for charts, which take less than a MiB.
const (
	chartSpan  = 5 * time.Minute // older samples are dropped
	sampleSpan = time.Second     // the shortest time between two samples of an informer, for any number of viewers
	mostSeries = 32              // the number of informers, the latest ones
)

// sample has the values of the charts at one time.
type sample struct {
	at     time.Time
	events int64   // the number so far
	lag    float64 // in seconds
	heap   int64   // of the process, in bytes
}

// recorder keeps samples of the informers whose pages are requested. Samples are taken only by
// requests, so that it needs no goroutine, and consist only of numbers. The zero value is empty.
type recorder struct {
	mu struct {
		sync.Mutex
		series map[uint64][]sample // by the informer's number; never empty slices
	}
}

// add adds a sample of an informer, unless the last one is less than sampleSpan old, and returns a
// copy of the informer's samples, the oldest first.
func (r *recorder) add(id uint64, s sample) []sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(id, s.at)
	samples := r.mu.series[id]
	if n := len(samples); n == 0 || s.at.Sub(samples[n-1].at) >= sampleSpan {
		samples = append(samples, s)
	}
	if r.mu.series == nil {
		r.mu.series = map[uint64][]sample{}
	}
	r.mu.series[id] = samples
	return slices.Clone(samples)
}

// forgetLocked drops old samples, and makes room for an informer.
func (r *recorder) forgetLocked(id uint64, now time.Time) {
	for of, samples := range r.mu.series {
		switch first := slices.IndexFunc(samples, func(s sample) bool { return now.Sub(s.at) <= chartSpan }); {
		case first < 0:
			delete(r.mu.series, of)
		case first > 0:
			r.mu.series[of] = slices.Delete(samples, 0, first)
		}
	}
	if _, ok := r.mu.series[id]; ok || len(r.mu.series) < mostSeries {
		return
	}
	last := func(of uint64) time.Time { samples := r.mu.series[of]; return samples[len(samples)-1].at }
	longestAgo := slices.MinFunc(slices.Collect(maps.Keys(r.mu.series)), func(a, b uint64) int { return last(a).Compare(last(b)) })
	delete(r.mu.series, longestAgo)
}

// sampleOf returns a sample of an informer.
func sampleOf(i *inspect.Inspection, lag float64) sample {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	return sample{at: time.Now(), events: i.Events, lag: lag, heap: int64(heap[0].Value.Uint64())}
}
