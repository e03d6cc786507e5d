// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// updatesOf are updates of n pods, as a reflector collects them.
func updatesOf(n int) []record {
	batch := make([]record, n)
	for i := range batch {
		p := pod(fmt.Sprint("p", i), "1")
		p.Namespace, p.ResourceVersion = "default", fmt.Sprint(i+1)
		batch[i] = record{typ: Updated, object: p, version: p.ResourceVersion}
	}
	return batch
}

func atomicFIFO() *RealFIFO {
	return NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true})
}

// TestQueueAllocatesNothing: in steady state a batch costs no memory on its way through a queue.
func TestQueueAllocatesNothing(t *testing.T) {
	for name, q := range map[string]*recordQueue{
		"in order of arrival": &atomicFIFO().queue,
		"by key":              &NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: knownItems{}}).queue,
	} {
		events, batch := updatesOf(100), make([]record, 100)
		nothing := func([]record, bool) error { return nil }
		perBatch := testing.AllocsPerRun(100, func() {
			copy(batch, events)
			require.Empty(t, q.putBatch(batch))
			require.NoError(t, q.popAll(nothing))
		})
		assert.LessOrEqual(t, perBatch, 1.0, name)
	}
}

// informerAndQueue are an informer with the namespace index, started as far as its controller, and its queue.
func informerAndQueue() (*sharedIndexInformer, *recordQueue) {
	s := newSharedIndexInformer(nil, &corev1.Pod{}, informerConfig{SharedIndexInformerOptions: SharedIndexInformerOptions{
		Indexers: Indexers{NamespaceIndex: MetaNamespaceIndexFunc},
	}})
	s.start(context.Background())
	return s, s.pipeline.queue
}

// TestAllocationsOfAnUpdate: one event on its own from the reflector's hands into the store, with the namespace index and
// without handlers, allocates nothing.
func TestAllocationsOfAnUpdate(t *testing.T) {
	_, q := informerAndQueue()
	events, batch, next := updatesOf(100), make([]record, 1), 0
	for _, event := range events { // every object is known before
		batch[0] = event
		require.Empty(t, q.putBatch(batch))
	}
	perEvent := testing.AllocsPerRun(1000, func() {
		batch[0] = events[next%len(events)]
		next++
		require.Empty(t, q.putBatch(batch))
	})
	assert.Zero(t, q.waiting.len(), "the producer applies")
	assert.Zero(t, perEvent)
}

func BenchmarkUpdateThroughTheInformer(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			_, q := informerAndQueue()
			events, batch := updatesOf(size*10), make([]record, size)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				copy(batch, events[i%10*size:])
				q.putBatch(batch)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/event")
		})
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, size := range []int{1, 64} {
		b.Run(fmt.Sprint("batch=", size), func(b *testing.B) {
			q := &atomicFIFO().queue
			events, batch := updatesOf(size*10), make([]record, size)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				copy(batch, events[i%10*size:])
				q.putBatch(batch)
				_ = q.popAll(func([]record, bool) error { return nil })
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/event")
		})
	}
}
