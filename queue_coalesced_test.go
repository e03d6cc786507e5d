// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/queue"
	"github.com/kinformer/cache/internal/testkit"
)

// blockingDetector is a part of the informer that takes its time: it waits for the gate.
type blockingDetector struct {
	cache.MutationDetector
	gate chan struct{}
}

func (d *blockingDetector) AddObject(any) { <-d.gate }

// TestBurst: 10^5 updates of 100 objects while the store is busy with the list. In order of arrival
// each is a notification; coalesced, an object has one for what the consumer took first and one for
// all the rest. The final state is the same.
func TestBurst(t *testing.T) {
	const objects, updates = 100, 100_000
	for name, test := range map[string]struct {
		options     []cache.Option
		least, most int64
	}{
		"in order of arrival": {nil, updates, updates},
		"coalesced":           {[]cache.Option{cache.WithCoalescedQueue()}, objects, 2 * objects},
	} {
		synctest.Test(t, func(t *testing.T) {
			list, burst := testkit.PodList("1"), make(testkit.Script, updates)
			detector := &blockingDetector{gate: make(chan struct{})}
			for i := range objects {
				list.Items = append(list.Items, *testkit.PodAt(fmt.Sprint("p", i), "1"))
			}
			for i := range burst {
				burst[i] = testkit.Modified(fmt.Sprint("p", i%objects), fmt.Sprint(i+2))
			}
			var heard atomic.Int64
			server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(list), OnWatch: testkit.Watches(burst)}
			s, stop := informerOn(t, server, func(s cache.SharedIndexInformer) {
				cache.WrapDetector(s, func(d cache.MutationDetector) cache.MutationDetector { detector.MutationDetector = d; return detector })
				_, err := s.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { heard.Add(1) }})
				require.NoError(t, err)
			}, test.options...)
			defer stop()
			stats, _ := cache.QueueStatsOf(s)
			assert.Positive(t, stats.Depth, "the reflector reads on")
			close(detector.gate)
			synctest.Wait()
			assert.GreaterOrEqual(t, heard.Load(), test.least, name)
			assert.LessOrEqual(t, heard.Load(), test.most, name)
			for i := range objects {
				obj, exists, _ := s.GetIndexer().GetByKey(fmt.Sprint("ns/p", i))
				require.True(t, exists)
				assert.Equal(t, fmt.Sprint("p", i, "@", updates-objects+i+2), testkit.NameAt(obj), name)
			}
		})
	}
}

// TestCoalescedFIFOAgainstModel: whatever is put, and however it is cut into batches, a store that
// is kept by the queue ends like one that is kept by the changes themselves, and what is taken for
// one key never holds two states in a row.
func TestCoalescedFIFOAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := cache.InformersQueue(true, nil).Queue
		q.Reader.Keys.Init(itemKey, false)
		want, got := map[string]any{}, map[string]any{}
		put := func(typ cache.DeltaType) func(*rapid.T) {
			return func(t *rapid.T) {
				it := drawItem.Draw(t, "item")
				require.Empty(t, q.PutBatch([]event.Record{{Type: typ, Object: it}}))
				if typ == cache.Deleted {
					delete(want, it.key)
				} else {
					want[it.key] = it
				}
			}
		}
		pop := func(t *rapid.T) {
			if q.Waiting.Len() == 0 {
				return
			}
			require.NoError(t, q.PopAll(func(batch []event.Record, _ bool) error { obey(t, batch, got); return nil }))
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": put(cache.Added), "update": put(cache.Updated), "delete": put(cache.Deleted),
			"replace": func(t *rapid.T) {
				items := drawItems.Draw(t, "list")
				require.NoError(t, q.ReplaceAll(anyOf(items), "1"))
				clear(want)
				for _, it := range items {
					want[it.key] = it
				}
			},
			"resync":   func(t *rapid.T) { require.NoError(t, q.SyncAll()) },
			"bookmark": func(t *rapid.T) { require.NoError(t, q.Bookmark("1")) },
			"pop":      pop,
		})
		for q.Waiting.Len() > 0 {
			pop(t)
		}
		assert.Equal(t, want, got)
	})
}

// obey brings the objects to the state that a batch says they have now. No key has two states in a
// row in it.
func obey(t *rapid.T, batch []event.Record, objects map[string]any) {
	lastType := map[string]cache.DeltaType{}
	for i := range batch {
		rec := &batch[i]
		switch rec.Type {
		case cache.ReplacedAll:
			clear(objects)
			clear(lastType)
			for n, key := range rec.State.(*queue.List).Keys {
				objects[key] = rec.State.(*queue.List).Objects[n]
			}
			continue
		case cache.Deleted:
			assert.NotEqual(t, cache.Deleted, lastType[rec.Key])
			delete(objects, rec.Key)
		case cache.Added, cache.Updated:
			assert.NotContains(t, []cache.DeltaType{cache.Added, cache.Updated}, lastType[rec.Key])
			objects[rec.Key] = rec.Object
		}
		lastType[rec.Key] = rec.Type
	}
}

// TestMergedStatesAreNews: an update that a list or a resync repeats stays one that every handler
// hears of.
func TestMergedStatesAreNews(t *testing.T) {
	q := cache.InformersQueue(true, nil).Queue
	require.NoError(t, q.Put(cache.Updated, testkit.PodAt("a", "2")))
	require.NoError(t, q.Put(cache.Added, testkit.PodAt("a", "3")))
	require.NoError(t, q.Put(cache.Deleted, testkit.PodAt("b", "4")))
	require.NoError(t, q.Put(cache.Added, testkit.PodAt("b", "5")))
	require.NoError(t, q.Put(cache.Updated, testkit.PodAt("b", "6")))
	var got []string
	for range 2 {
		popped, err := q.PopDeltas("", take)
		require.NoError(t, err)
		for _, d := range popped.(cache.Deltas) {
			got = append(got, fmt.Sprint(d.Type, " ", testkit.NameAt(d.Object)))
		}
	}
	assert.Equal(t, []string{"Updated a@3", "Deleted b@4", "Added b@6"}, got)
}

func TestMaxHistoryKeepsTheOldestAndTheNewest(t *testing.T) {
	q := cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey})
	q.SetMaxHistory(3)
	require.NoError(t, q.Add(item{"a", 0}))
	for i := range 9 {
		require.NoError(t, q.Update(item{"a", i + 1}))
	}
	require.NoError(t, q.Add(item{"b", 0}))
	popped, err := q.Pop(take)
	require.NoError(t, err)
	assert.Equal(t, cache.Deltas{delta(cache.Added, item{"a", 0}), delta(cache.Updated, item{"a", 8}), delta(cache.Updated, item{"a", 9})}, popped)
	stats, _ := cache.QueueStatsOf(q)
	assert.EqualValues(t, 7, stats.Compacted)

	q = cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: knownItems{"a": {"a", 0}}})
	q.SetMaxHistory(1) // two are the least
	require.NoError(t, q.Delete(item{"a", 1}))
	require.NoError(t, q.Add(item{"a", 2}))
	require.NoError(t, q.Delete(item{"a", 3}))
	popped, err = q.Pop(take)
	require.NoError(t, err)
	assert.Equal(t, cache.Deltas{delta(cache.Deleted, item{"a", 3})}, popped, "deletions that meet become one")
}

// TestCoalescedInformerFollowsItsServer: it hears of lists and deletions like any other.
func TestCoalescedInformerFollowsItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &testkit.Server{NoStream: true, OnList: testkit.ListOf(testkit.PodList("1", testkit.PodAt("a", "1"), testkit.PodAt("b", "1"))),
			OnWatch: testkit.Watches(testkit.Sent(testkit.Modified("a", "2"), testkit.Deleted("b", "3"), testkit.Added("b", "4"), testkit.Bookmark("9")))}
		handler := &testkit.Journal{}
		s, stop := informerOn(t, server, func(s cache.SharedIndexInformer) {
			_, err := s.AddEventHandlerWithResyncPeriod(handler, time.Minute)
			require.NoError(t, err)
		}, cache.WithCoalescedQueue())
		defer stop()
		assert.ElementsMatch(t, []string{"initial a", "initial b", "update a a", "delete b", "add b"}, handler.Take())
		assert.Equal(t, "9", s.GetIndexer().LastStoreSyncResourceVersion())
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"update a a", "update b b"}, handler.Take())
	})
}
