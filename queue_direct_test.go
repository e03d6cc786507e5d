// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestProducerAppliesWhileTheConsumerIsIdle(t *testing.T) {
	s, q := informerAndQueue()
	require.Empty(t, q.putBatch(updatesOf(3)))
	assert.Zero(t, q.waiting.len())
	assert.Len(t, s.store.List(), 3)
	assert.True(t, q.HasSynced())
}

// TestProducerHandsOverWhatCannotBeDoneAtOnce: something waits already, a handler is joining, or the
// queue is closed.
func TestProducerHandsOverWhatCannotBeDoneAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(s *sharedIndexInformer, q *recordQueue)
		waiting int
	}{
		"something waits":    {prepare: func(_ *sharedIndexInformer, q *recordQueue) { _ = q.put(Added, pod("x", "1")) }, waiting: 4},
		"a handler is added": {prepare: func(s *sharedIndexInformer, _ *recordQueue) { s.pipeline.delivery.Lock() }, waiting: 3},
		"closed":             {prepare: func(_ *sharedIndexInformer, q *recordQueue) { q.Close() }, waiting: 3},
	} {
		s, q := informerAndQueue()
		test.prepare(s, q)
		require.Empty(t, q.putBatch(updatesOf(3)), name)
		assert.Equal(t, test.waiting, q.waiting.len(), name)
		s.pipeline.delivery.TryLock()
		s.pipeline.delivery.Unlock()
		require.NoError(t, q.popAll(s.pipeline.handle), name)
		assert.Len(t, s.store.List(), test.waiting, name)
	}
}

// panickingDetector is a part of the informer that fails.
type panickingDetector struct{ MutationDetector }

func (panickingDetector) AddObject(any) { panic("cannot take it") }

// TestPanicInTheProducer: it is reported as in the consumer, and neither lock is left held.
func TestPanicInTheProducer(t *testing.T) {
	panics := quietPanics(t)
	s, q := informerAndQueue()
	good := s.mutationDetector
	s.mutationDetector = panickingDetector{}
	require.Empty(t, q.putBatch(updatesOf(1)))
	assert.Equal(t, 1, panics())
	s.mutationDetector = good
	require.Empty(t, q.putBatch(updatesOf(2)))
	assert.Len(t, s.store.List(), 2)
}

// TestRefusedRecordsAreLeftOut: the others of the batch are queued in their order, and the slice comes back empty.
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
	batch := []record{
		{typ: Updated, object: pod("a", "1")}, {typ: Updated, object: pod("bad", "1")}, {typ: Deleted, object: nil},
		{typ: Bookmark, version: "7"}, {typ: Added, object: pod("worse", "1")}, {typ: Deleted, object: pod("b", "1")},
	}
	refused := q.queue.putBatch(batch)
	require.Len(t, refused, 3)
	assert.ErrorIs(t, refused[0].err, failure)
	assert.ErrorAs(t, refused[1].err, &KeyError{})
	assert.ErrorContains(t, refused[2].err, "panicked: cannot transform")
	assert.Equal(t, make([]record, len(batch)), batch)
	var got []string
	require.NoError(t, q.queue.popAll(func(batch []record, _ bool) error {
		for _, rec := range batch {
			got = append(got, fmt.Sprint(rec.typ, " ", rec.key))
		}
		return nil
	}))
	assert.Equal(t, []string{"Updated ns/a", "Deleted ns/b"}, got, "bookmarks are dropped unless asked for")
}

// TestProducersConsumersAndCloser: whoever processes, it is one at a time and in order for each key, and after Close all that
// was put before is processed.
func TestProducersConsumersAndCloser(t *testing.T) {
	const producers, batches, size = 4, 200, 5
	everyRecordQueue(t, func(t *testing.T, q *recordQueue) {
		var inside, seen atomic.Int64
		last := map[string]string{}
		process := func(batch []record, _ bool) error {
			assert.EqualValues(t, 1, inside.Add(1))
			for _, rec := range batch {
				assert.Less(t, last[rec.key], rec.version, rec.key)
				last[rec.key] = rec.version
			}
			seen.Add(int64(len(batch)))
			inside.Add(-1)
			return nil
		}
		q.unlocked = true
		q.direct = func(batch []record, initial bool) bool { return process(batch, initial) == nil }
		var putting, popping sync.WaitGroup
		for p := range producers {
			putting.Go(func() {
				for b := range batches {
					batch := make([]record, size)
					for i := range batch {
						version := fmt.Sprintf("%06d", b*size+i+1)
						batch[i] = record{typ: Updated, object: pod(fmt.Sprint("p", p), version), version: version}
					}
					assert.Empty(t, q.putBatch(batch))
				}
			})
		}
		for range 2 {
			popping.Go(func() {
				for !errors.Is(q.popAll(process), ErrFIFOClosed) {
				}
			})
		}
		putting.Wait()
		q.Close()
		popping.Wait()
		assert.EqualValues(t, producers*batches*size, seen.Load())
	})
}

func everyRecordQueue(t *testing.T, test func(t *testing.T, q *recordQueue)) {
	t.Run("in order of arrival", func(t *testing.T) { test(t, &atomicFIFO().queue) })
	t.Run("by key", func(t *testing.T) { test(t, &NewDeltaFIFO(nil, nil).queue) })
}

// TestCloseDoesNotWaitForTheConsumer, whoever the consumer is just now.
func TestCloseDoesNotWaitForTheConsumer(t *testing.T) {
	for _, byProducer := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			q, release, ended := &atomicFIFO().queue, make(chan struct{}), false
			slow := func([]record, bool) bool { <-release; return true }
			if byProducer {
				q.direct = slow
			}
			go func() { _ = q.putBatch(updatesOf(popBatchSize * 3)) }()
			go func() {
				for !errors.Is(q.popAll(func(batch []record, initial bool) error { slow(batch, initial); return nil }), ErrFIFOClosed) {
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

// TestCallbacksMayFeedTheWatch: Process, ProcessBatch and the handler of NewInformer run in a goroutine of their own, so
// they may wait until the reflector has read what they send.
func TestCallbacksMayFeedTheWatch(t *testing.T) {
	for name, build := range map[string]func(lw ListerWatcher, heard func(obj any)) Controller{
		"Process":      func(lw ListerWatcher, heard func(any)) Controller { return feedingController(lw, heard, false) },
		"ProcessBatch": func(lw ListerWatcher, heard func(any)) Controller { return feedingController(lw, heard, true) },
		"handler": func(lw ListerWatcher, heard func(any)) Controller {
			_, c := NewInformer(lw, &corev1.Pod{}, 0, ResourceEventHandlerFuncs{
				AddFunc: heard, UpdateFunc: func(_, obj any) { heard(obj) }, DeleteFunc: heard,
			})
			return c
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			stream := watch.NewFake()
			server := &fakeServer{noStream: true, list: listOf(&corev1.PodList{}), watch: watches(stream)}
			var heard []string
			c := build(server, func(obj any) {
				heard = append(heard, describe(obj))
				switch len(heard) {
				case 1:
					stream.Modify(pod("a", "2"))
					stream.Modify(pod("a", "3"))
				case 3:
					stream.Delete(pod("a", "3"))
				}
			})
			runController(t, c)
			stream.Add(pod("a", "1"))
			synctest.Wait()
			assert.Equal(t, []string{"a1", "a2", "a3", "a3"}, heard, name)
		})
	}
}

// feedingController hands each object on, from Process or from both functions.
func feedingController(lw ListerWatcher, heard func(obj any), batches bool) Controller {
	hearAll := func(deltas []Delta, _ bool) error {
		for _, d := range deltas {
			if _, isObject := d.Object.(*corev1.Pod); isObject {
				heard(d.Object)
			}
		}
		return nil
	}
	config := &Config{
		Queue:         NewRealFIFOWithOptions(RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: true}),
		ListerWatcher: lw,
		ObjectType:    &corev1.Pod{},
		Process:       func(obj any, initial bool) error { return hearAll(obj.(Deltas), initial) },
	}
	if batches {
		config.ProcessBatch = hearAll
	}
	return New(config)
}
