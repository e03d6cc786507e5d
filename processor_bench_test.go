// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// cpuTime is what the process has used.
func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// countdown closes done with its last call.
type countdown struct {
	left *atomic.Int64
	done chan struct{}
	own  int
	_    [64]byte // the next one counts in another cache line
}

func (c *countdown) OnAdd(any, bool) {}
func (c *countdown) OnDelete(any)    {}
func (c *countdown) OnUpdate(any, any) {
	if c.own--; c.own == 0 && c.left.Add(-1) == 0 {
		close(c.done)
	}
}

// BenchmarkFanOut distributes batches, as fast as it goes, to handlers that do nothing.
func BenchmarkFanOut(b *testing.B) {
	for _, batch := range []int{1, 16} {
		for _, handlers := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("batch=%d/handlers=%d", batch, handlers), func(b *testing.B) {
				benchmarkFanOut(b, batch, handlers)
			})
		}
	}
}

func benchmarkFanOut(b *testing.B, batch, handlers int) {
	p := newSharedProcessor(neverSynced{}, clock.RealClock{})
	defer p.stop()
	left, done := &atomic.Int64{}, make(chan struct{})
	left.Store(int64(handlers))
	events := (b.N + batch - 1) / batch * batch
	for range handlers {
		p.add(newTestListener(b, p, &countdown{left: left, done: done, own: events}), givenSnapshot(nil))
	}
	p.upstreamSynced()
	changes := make([]change, batch)
	old, current := pod("a", "1"), pod("a", "2")
	b.ReportAllocs()
	b.ResetTimer()
	before := cpuTime(b)
	for range events / batch {
		for i := range changes {
			changes[i] = change{kind: changeUpdate, key: "ns/a", old: old, new: current}
		}
		p.distribute(changes)
	}
	<-done
	b.ReportMetric(float64(cpuTime(b)-before)/float64(events), "cpu-ns/event")
}
