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

// What is kept for charts, less than a MiB.
const (
	chartSpan   = 5 * time.Minute // what is older is forgotten
	sampleSpan  = time.Second     // between two samples of an informer at least, however many look
	mostSamples = int(chartSpan/sampleSpan) + 1
	mostSeries  = 32 // informers, those that were looked at last
)

// sample is what a chart shows of one time.
type sample struct {
	at     time.Time
	events int64   // so far
	lag    float64 // in seconds
	heap   int64   // of the process, in bytes
}

// recorder keeps samples of the informers that somebody looks at. None is taken but by a look, so
// that it needs no goroutine, and it keeps numbers only. The zero value is empty.
type recorder struct {
	mu struct {
		sync.Mutex
		series map[uint64][]sample // by the informer's number, none of them empty
	}
}

// add adds a sample of an informer, unless the last one is of just now, and returns a copy of those
// that there are, the oldest first.
func (r *recorder) add(id uint64, s sample) []sample {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forgetLocked(id, s.at)
	known := r.mu.series[id]
	if n := len(known); n == 0 || s.at.Sub(known[n-1].at) >= sampleSpan {
		known = append(known, s)
	}
	if r.mu.series == nil {
		r.mu.series = map[uint64][]sample{}
	}
	r.mu.series[id] = known
	return slices.Clone(known)
}

// forgetLocked forgets what is old, and makes room for an informer.
func (r *recorder) forgetLocked(id uint64, now time.Time) {
	for of, known := range r.mu.series {
		switch first := slices.IndexFunc(known, func(s sample) bool { return now.Sub(s.at) <= chartSpan }); {
		case first < 0:
			delete(r.mu.series, of)
		case first > 0:
			r.mu.series[of] = slices.Delete(known, 0, first)
		}
	}
	if _, known := r.mu.series[id]; known || len(r.mu.series) < mostSeries {
		return
	}
	last := func(of uint64) time.Time { known := r.mu.series[of]; return known[len(known)-1].at }
	longestAgo := slices.MinFunc(slices.Collect(maps.Keys(r.mu.series)), func(a, b uint64) int { return last(a).Compare(last(b)) })
	delete(r.mu.series, longestAgo)
}

// sampleOf is what a chart shows of an informer at this time.
func sampleOf(i *inspect.Inspection, lag float64) sample {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(heap)
	return sample{at: time.Now(), events: i.Events, lag: lag, heap: int64(heap[0].Value.Uint64())}
}
