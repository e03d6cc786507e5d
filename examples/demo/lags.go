// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

// keptLags bounds the memory of lags: those of three minutes at the demo's rate.
const keptLags = 1 << 16

// lags are how long after the writes of objects a handler has heard of them.
type lags struct {
	mu   sync.Mutex
	all  []time.Duration // the last ones, a ring once it is full
	next int             // where the next goes in the ring
	last []time.Duration // those since the last take
}

func (l *lags) add(lag time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = append(l.last, lag)
	if len(l.all) < keptLags {
		l.all = append(l.all, lag)
		return
	}
	l.all[l.next] = lag
	l.next = (l.next + 1) % keptLags
}

// take returns the percentiles of the lags since the last call.
func (l *lags) take() percentiles {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := percentilesOf(l.last)
	l.last = l.last[:0]
	return p
}

// total returns the percentiles of all lags.
func (l *lags) total() percentiles {
	l.mu.Lock()
	defer l.mu.Unlock()
	return percentilesOf(slices.Clone(l.all))
}

// percentiles are the 50th and the 99th of some lags; both are 0 if there were none.
type percentiles struct{ Half, Most time.Duration }

// percentilesOf sorts the lags.
func percentilesOf(lags []time.Duration) percentiles {
	if len(lags) == 0 {
		return percentiles{}
	}
	slices.Sort(lags)
	at := func(percent int) time.Duration { return lags[(len(lags)-1)*percent/100] }
	return percentiles{at(50), at(99)}
}

func (p percentiles) String() string {
	if p == (percentiles{}) {
		return "-"
	}
	return fmt.Sprintf("%.1f/%.1f ms", inMilliseconds(p.Half), inMilliseconds(p.Most))
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
