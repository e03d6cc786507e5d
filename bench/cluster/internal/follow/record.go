// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"sync/atomic"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Limit is the latency that all but one event in a thousand should stay below, in microseconds.
const Limit = 100_000

// mostLatency is what longer latencies count as, in microseconds: more than a run takes.
const mostLatency = 1e10

// Latency condenses latencies, in microseconds.
type Latency struct {
	Events int64 `json:"events"`
	P50    int64 `json:"p50"`
	P99    int64 `json:"p99"`
	P999   int64 `json:"p999"`
	Max    int64 `json:"max"`
	// Over counts those over the Limit.
	Over int64 `json:"over"`
	// Negative counts those below zero, which only a clock that was set can make.
	Negative int64 `json:"negative,omitempty"`
	// Curve is the distribution: percentiles with their values. Only totals have one.
	Curve [][2]float64 `json:"curve,omitempty"`
}

// Under is the share of events within the limit.
func (l Latency) Under() float64 {
	if l.Events == 0 {
		return 0
	}
	return 1 - float64(l.Over)/float64(l.Events)
}

// latencies are those of one handler in one phase.
type latencies struct {
	all            *hdrhistogram.Histogram
	over, negative int64
}

func newLatencies() *latencies { return &latencies{all: hdrhistogram.New(1, mostLatency, 2)} }

func (l *latencies) record(nanoseconds int64) {
	micros := nanoseconds / 1000
	if micros > Limit {
		l.over++
	}
	if nanoseconds < 0 {
		l.negative++
	}
	_ = l.all.RecordValue(min(max(micros, 0), mostLatency)) // in range
}

func (l *latencies) merge(other *latencies) {
	l.all.Merge(other.all)
	l.over += other.over
	l.negative += other.negative
}

func (l *latencies) summary(curve bool) Latency {
	made := Latency{
		Events: l.all.TotalCount(), P50: l.all.ValueAtQuantile(50), P99: l.all.ValueAtQuantile(99),
		P999: l.all.ValueAtQuantile(99.9), Max: l.all.Max(), Over: l.over, Negative: l.negative,
	}
	if !curve {
		return made
	}
	for _, p := range [...]float64{10, 20, 30, 40, 50, 60, 70, 80, 90, 95, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 100} {
		made.Curve = append(made.Curve, [2]float64{p, float64(l.all.ValueAtQuantile(p))})
	}
	return made
}

// phase is a time that is reported by itself. It begins with what is due from then on.
type phase struct {
	name  string
	start int64 // nanoseconds since 1970
}

// phases are those that have begun, the latest last. One goroutine adds.
type phases struct{ all atomic.Pointer[[]phase] }

func (p *phases) begin(name string, start int64) {
	next := []phase{{name, start}}
	if known := p.all.Load(); known != nil {
		next = append(append([]phase{}, *known...), next...)
	}
	p.all.Store(&next)
}

// of returns the number of the phase of a time, -1 for one before all.
func (p *phases) of(due int64) int {
	all := *p.all.Load()
	for i := len(all) - 1; i >= 0; i-- {
		if due >= all[i].start {
			return i
		}
	}
	return -1
}
