// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/testkit"
)

func TestProducerAppliesWhileTheConsumerIsIdle(t *testing.T) {
	s, q := informerAndQueue()
	require.Empty(t, q.PutBatch(updatesOf(3)))
	assert.Zero(t, q.Waiting.Len())
	assert.Len(t, s.store.List(), 3)
	assert.True(t, q.HasSynced())
}

// TestProducerHandsOverWhatCannotBeDoneAtOnce: something waits already, a handler is joining, or
// the queue is closed.
func TestProducerHandsOverWhatCannotBeDoneAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(s *sharedIndexInformer, q *queue.Queue)
		waiting int
	}{
		"something waits":    {prepare: func(_ *sharedIndexInformer, q *queue.Queue) { _ = q.Put(Added, testkit.Pod("x", "1")) }, waiting: 4},
		"a handler is added": {prepare: func(s *sharedIndexInformer, _ *queue.Queue) { s.pipeline.delivery.Lock() }, waiting: 3},
		"closed":             {prepare: func(_ *sharedIndexInformer, q *queue.Queue) { q.Close() }, waiting: 3},
	} {
		s, q := informerAndQueue()
		test.prepare(s, q)
		require.Empty(t, q.PutBatch(updatesOf(3)), name)
		assert.Equal(t, test.waiting, q.Waiting.Len(), name)
		s.pipeline.delivery.TryLock()
		s.pipeline.delivery.Unlock()
		require.NoError(t, q.PopAll(s.pipeline.handle), name)
		assert.Len(t, s.store.List(), test.waiting, name)
	}
}

// panickingDetector is a part of the informer that fails.
type panickingDetector struct{ MutationDetector }

func (panickingDetector) AddObject(any) { panic("cannot take it") }

// TestPanicInTheProducer: it is reported as in the consumer, and neither lock is left held.
func TestPanicInTheProducer(t *testing.T) {
	panics := testkit.QuietPanics(t)
	s, q := informerAndQueue()
	good := s.mutationDetector
	s.mutationDetector = panickingDetector{}
	require.Empty(t, q.PutBatch(updatesOf(1)))
	assert.Equal(t, 1, panics())
	s.mutationDetector = good
	require.Empty(t, q.PutBatch(updatesOf(2)))
	assert.Len(t, s.store.List(), 2)
}

// TestRefusedRecordsAreLeftOut: the others of the batch are queued in their order, and the slice
// comes back empty.
func TestRefusedRecordsAreLeftOut(t *testing.T) {
	failure := errors.New("cannot transform")
	q := NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, Transformer: func(obj any) (any, error) {
		switch obj.(*corev1.Pod).Name {
		case "bad":
			return nil, failure
		case "worse":
			panic("cannot transform")
		}
		return obj, nil
	}})
	batch := []event.Record{
		{Type: Updated, Object: testkit.Pod("a", "1")}, {Type: Updated, Object: testkit.Pod("bad", "1")}, {Type: Deleted, Object: nil},
		{Type: Bookmark, Version: "7"}, {Type: Added, Object: testkit.Pod("worse", "1")}, {Type: Deleted, Object: testkit.Pod("b", "1")},
	}
	refused := q.queue.PutBatch(batch)
	require.Len(t, refused, 3)
	assert.ErrorIs(t, refused[0].Err, failure)
	assert.ErrorAs(t, refused[1].Err, &KeyError{})
	assert.ErrorContains(t, refused[2].Err, "panicked: cannot transform")
	assert.Equal(t, make([]event.Record, len(batch)), batch)
	var got []string
	require.NoError(t, q.queue.PopAll(func(batch []event.Record, _ bool) error {
		for _, rec := range batch {
			got = append(got, fmt.Sprint(rec.Type, " ", rec.Key))
		}
		return nil
	}))
	assert.Equal(t, []string{"Updated ns/a", "Deleted ns/b"}, got, "bookmarks are dropped unless asked for")
}

// TestProducersConsumersAndCloser: whoever processes, it is one at a time and in order for each
// key, and after Close all that was put before is processed.
func TestProducersConsumersAndCloser(t *testing.T) {
	const producers, batches, size = 4, 200, 5
	everyRecordQueue(t, func(t *testing.T, q *queue.Queue) {
		var inside, seen atomic.Int64
		last := map[string]string{}
		process := func(batch []event.Record, _ bool) error {
			assert.EqualValues(t, 1, inside.Add(1))
			for _, rec := range batch {
				assert.Less(t, last[rec.Key], rec.Version, rec.Key)
				last[rec.Key] = rec.Version
			}
			seen.Add(int64(len(batch)))
			inside.Add(-1)
			return nil
		}
		q.Unlocked = true
		q.Direct = func(batch []event.Record, initial bool) bool { return process(batch, initial) == nil }
		var putting, popping sync.WaitGroup
		for p := range producers {
			putting.Go(func() {
				for b := range batches {
					batch := make([]event.Record, size)
					for i := range batch {
						version := fmt.Sprintf("%06d", b*size+i+1)
						batch[i] = event.Record{Type: Updated, Object: testkit.Pod(fmt.Sprint("p", p), version), Version: version}
					}
					assert.Empty(t, q.PutBatch(batch))
				}
			})
		}
		for range 2 {
			popping.Go(func() {
				for !errors.Is(q.PopAll(process), ErrFIFOClosed) {
				}
			})
		}
		putting.Wait()
		q.Close()
		popping.Wait()
		assert.EqualValues(t, producers*batches*size, seen.Load())
	})
}

func everyRecordQueue(t *testing.T, test func(t *testing.T, q *queue.Queue)) {
	t.Run("in order of arrival", func(t *testing.T) { test(t, AtomicFIFO().queue) })
	t.Run("by key", func(t *testing.T) { test(t, NewDeltaFIFO(nil, nil).queue) })
}

// TestCloseDoesNotWaitForTheConsumer, whoever the consumer is just now.
func TestCloseDoesNotWaitForTheConsumer(t *testing.T) {
	for _, byProducer := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			q, release, ended := AtomicFIFO().queue, make(chan struct{}), false
			slow := func([]event.Record, bool) bool { <-release; return true }
			if byProducer {
				q.Direct = slow
			}
			go func() { _ = q.PutBatch(updatesOf(queue.PopBatchSize * 3)) }()
			go func() {
				for !errors.Is(q.PopAll(func(batch []event.Record, initial bool) error { slow(batch, initial); return nil }), ErrFIFOClosed) {
				}
				ended = true
			}()
			synctest.Wait()
			q.Close()
			assert.True(t, q.IsClosed())
			synctest.Wait()
			assert.False(t, ended, "the consumer ends after the last call")
			close(release)
			synctest.Wait()
			assert.True(t, ended)
		})
	}
}

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
