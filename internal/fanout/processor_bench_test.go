// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"fmt"
	"sync/atomic"
	"testing"

	"k8s.io/utils/clock"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// countdown closes done with its last call.
type countdown struct {
	left *atomic.Int64
	done chan struct{}
	own  int
	_    [64]byte // the next one counts in another cache line
}

func (c *countdown) OnAdd(any, bool) {}

func (c *countdown) OnDelete(any) {}

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
	p := NewProcessor(neverSynced{}, clock.RealClock{})
	defer p.Stop()
	left, done := &atomic.Int64{}, make(chan struct{})
	left.Store(int64(handlers))
	events := (b.N + batch - 1) / batch * batch
	for range handlers {
		p.Add(newTestListener(b, p, &countdown{left: left, done: done, own: events}), givenSnapshot(nil))
	}
	p.UpstreamSynced()
	changes := make([]event.Change, batch)
	old, current := testkit.Pod("a", "1"), testkit.Pod("a", "2")
	b.ReportAllocs()
	b.ResetTimer()
	before := testkit.CpuTime(b)
	for range events / batch {
		for i := range changes {
			changes[i] = event.Change{Kind: event.ChangeUpdate, Key: "ns/a", Old: old, New: current}
		}
		p.Distribute(changes)
	}
	<-done
	b.ReportMetric(float64(testkit.CpuTime(b)-before)/float64(events), "cpu-ns/event")
}
