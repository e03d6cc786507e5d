// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package queue

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
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/table"
	"github.com/kinformer/cache/internal/testkit"
)

// TestRefusedRecordsAreLeftOut checks that the other records of the batch are queued in order, and
// that the slice is cleared.
func TestRefusedRecordsAreLeftOut(t *testing.T) {
	failure := errors.New("cannot transform")
	q := New(Options{Transform: func(obj any) (any, error) {
		switch obj.(*corev1.Pod).Name {
		case "bad":
			return nil, failure
		case "worse":
			panic("cannot transform")
		}
		return obj, nil
	}})
	batch := []event.Record{
		{Type: clientgo.Updated, Object: testkit.Pod("a", "1")}, {Type: clientgo.Updated, Object: testkit.Pod("bad", "1")}, {Type: clientgo.Deleted, Object: nil},
		{Type: clientgo.Bookmark, Version: "7"}, {Type: clientgo.Added, Object: testkit.Pod("worse", "1")}, {Type: clientgo.Deleted, Object: testkit.Pod("b", "1")},
	}
	refused := q.PutBatch(batch)
	require.Len(t, refused, 3)
	assert.ErrorIs(t, refused[0].Err, failure)
	assert.ErrorAs(t, refused[1].Err, &clientgo.KeyError{})
	assert.ErrorContains(t, refused[2].Err, "panicked: cannot transform")
	assert.Equal(t, make([]event.Record, len(batch)), batch)
	var got []string
	require.NoError(t, q.PopAll(func(batch []event.Record, _ bool) error {
		for _, rec := range batch {
			got = append(got, fmt.Sprint(rec.Type, " ", rec.Key))
		}
		return nil
	}))
	assert.Equal(t, []string{"Updated ns/a", "Deleted ns/b"}, got, "bookmarks are dropped unless asked for")
}

// TestProducersConsumersAndCloser checks that one batch is processed at a time, in order for each
// key, and that all items put before Close are processed.
func TestProducersConsumersAndCloser(t *testing.T) {
	const producers, batches, size = 4, 200, 5
	for name, options := range map[string]Options{
		"in order of arrival": {Bookmarks: true, Unlocked: true},
		"by key":              {Order: NewByKey()},
	} {
		t.Run(name, func(t *testing.T) {
			q := New(options)
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
			var putting, popping sync.WaitGroup
			for p := range producers {
				putting.Go(func() {
					for b := range batches {
						batch := make([]event.Record, size)
						for i := range batch {
							version := fmt.Sprintf("%06d", b*size+i+1)
							batch[i] = event.Record{Type: clientgo.Updated, Object: testkit.Pod(fmt.Sprint("p", p), version), Version: version}
						}
						assert.Empty(t, q.PutBatch(batch))
					}
				})
			}
			for range 2 {
				popping.Go(func() {
					for !errors.Is(q.PopAll(process), clientgo.ErrFIFOClosed) {
					}
				})
			}
			putting.Wait()
			q.Close()
			popping.Wait()
			assert.EqualValues(t, producers*batches*size, seen.Load())
		})
	}
}

// TestCloseDoesNotWaitForTheConsumer checks that Close does not wait for a process function.
func TestCloseDoesNotWaitForTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, release, ended := New(Options{Bookmarks: true, Unlocked: true}), make(chan struct{}), false
		require.Empty(t, q.PutBatch(updatesOf(PopBatchSize*3)))
		go func() {
			for !errors.Is(q.PopAll(func([]event.Record, bool) error { <-release; return nil }), clientgo.ErrFIFOClosed) {
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

// TestQueueAllocatesNothing checks that in steady state a batch of stored objects passes an
// informer's queue without allocation.
func TestQueueAllocatesNothing(t *testing.T) {
	q := New(Options{Bookmarks: true, Unlocked: true})
	events, batch, known := updatesOf(100), make([]event.Record, 100), table.New(nil, table.Options{})
	for i := range events {
		key, err := clientgo.MetaNamespaceKeyFunc(events[i].Object)
		require.NoError(t, err)
		known.Put([]byte(key), events[i].Object, nil)
	}
	q.Reader.Keys.Known = known
	nothing := func([]event.Record, bool) error { return nil }
	perBatch := testing.AllocsPerRun(100, func() {
		copy(batch, events)
		require.Empty(t, q.PutBatch(batch))
		require.NoError(t, q.PopAll(nothing))
	})
	assert.LessOrEqual(t, perBatch, 1.0)
}

// updatesOf returns updates of n pods, as a reflector collects them.
func updatesOf(n int) []event.Record {
	batch := make([]event.Record, n)
	for i := range batch {
		p := testkit.Pod(fmt.Sprint("p", i), "1")
		p.Namespace, p.ResourceVersion = "default", fmt.Sprint(i+1)
		batch[i] = event.Record{Type: clientgo.Updated, Object: p, Version: p.ResourceVersion}
	}
	return batch
}

func TestMain(m *testing.M) { testkit.RunTests(m) }
