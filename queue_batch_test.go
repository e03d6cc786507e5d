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

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/testkit"
)

// updatesOf are updates of n pods, as a reflector collects them.
func updatesOf(n int) []event.Record {
	batch := make([]event.Record, n)
	for i := range batch {
		p := testkit.Pod(fmt.Sprint("p", i), "1")
		p.Namespace, p.ResourceVersion = "default", fmt.Sprint(i+1)
		batch[i] = event.Record{Type: Updated, Object: p, Version: p.ResourceVersion}
	}
	return batch
}

// keysThatAStoreHas are the keys of objects, as a store finds them.
type keysThatAStoreHas map[string]string

func (k keysThatAStoreHas) Key(text []byte) (string, bool) {
	key, ok := k[string(text)]
	return key, ok
}

// TestQueueAllocatesNothing: in steady state a batch of objects that the store has costs no memory
// on its way through a queue.
func TestQueueAllocatesNothing(t *testing.T) {
	for name, q := range map[string]*queue.Queue{
		"in order of arrival": AtomicFIFO().queue,
		"by key":              NewDeltaFIFOWithOptions(DeltaFIFOOptions{KnownObjects: NewStore(MetaNamespaceKeyFunc)}).queue,
	} {
		events, batch, keys := updatesOf(100), make([]event.Record, 100), keysThatAStoreHas{}
		for i := range events {
			key, err := MetaNamespaceKeyFunc(events[i].Object)
			require.NoError(t, err)
			keys[key] = key
		}
		q.Reader.Keys.Known = keys
		nothing := func([]event.Record, bool) error { return nil }
		perBatch := testing.AllocsPerRun(100, func() {
			copy(batch, events)
			require.Empty(t, q.PutBatch(batch))
			require.NoError(t, q.PopAll(nothing))
		})
		assert.LessOrEqual(t, perBatch, 1.0, name)
	}
}

// informerAndQueue are an informer with the namespace index, started as far as its controller, and
// its queue.
func informerAndQueue() (*sharedIndexInformer, *queue.Queue) {
	s := newSharedIndexInformer(nil, &corev1.Pod{}, informerConfig{SharedIndexInformerOptions: SharedIndexInformerOptions{
		Indexers: Indexers{NamespaceIndex: MetaNamespaceIndexFunc},
	}})
	s.start(context.Background())
	return s, s.pipeline.queue
}

// TestAllocationsOfAnUpdate: one event on its own from the reflector's hands into the store, with
// the namespace index and without handlers, allocates nothing.
func TestAllocationsOfAnUpdate(t *testing.T) {
	_, q := informerAndQueue()
	events, batch, next := updatesOf(100), make([]event.Record, 1), 0
	for _, event := range events { // every object is known before
		batch[0] = event
		require.Empty(t, q.PutBatch(batch))
	}
	perEvent := testing.AllocsPerRun(1000, func() {
		batch[0] = events[next%len(events)]
		next++
		require.Empty(t, q.PutBatch(batch))
	})
	assert.Zero(t, q.Waiting.Len(), "the producer applies")
	assert.Zero(t, perEvent)
}
