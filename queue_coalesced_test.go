// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// blockingDetector is a part of the informer that takes its time: it waits for the gate.
type blockingDetector struct {
	MutationDetector
	gate chan struct{}
}

func (d *blockingDetector) AddObject(any) { <-d.gate }

// TestBurst: 10^5 updates of 100 objects while the store is busy with the list. In order of arrival each is a notification;
// coalesced, an object has one for what the consumer took first and one for all the rest. The final state is the same.
func TestBurst(t *testing.T) {
	const objects, updates = 100, 100_000
	for name, test := range map[string]struct {
		options     []Option
		least, most int64
	}{
		"in order of arrival": {nil, updates, updates},
		"coalesced":           {[]Option{WithCoalescedQueue()}, objects, 2 * objects},
	} {
		synctest.Test(t, func(t *testing.T) {
			list, burst := podList("1"), make(script, updates)
			detector := &blockingDetector{gate: make(chan struct{})}
			for i := range objects {
				list.Items = append(list.Items, *podAt(fmt.Sprint("p", i), "1"))
			}
			for i := range burst {
				burst[i] = modified(fmt.Sprint("p", i%objects), fmt.Sprint(i+2))
			}
			var heard atomic.Int64
			server := &fakeServer{noStream: true, list: listOf(list), watch: watches(burst)}
			s, stop := informerOn(t, server, func(s *sharedIndexInformer) {
				detector.MutationDetector = s.mutationDetector
				s.mutationDetector = detector
				_, err := s.AddEventHandler(ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) { heard.Add(1) }})
				require.NoError(t, err)
			}, test.options...)
			defer stop()
			stats, _ := QueueStatsOf(s)
			assert.Positive(t, stats.Depth, "the reflector reads on")
			close(detector.gate)
			synctest.Wait()
			assert.GreaterOrEqual(t, heard.Load(), test.least, name)
			assert.LessOrEqual(t, heard.Load(), test.most, name)
			for i := range objects {
				obj, exists, _ := s.store.GetByKey(fmt.Sprint("ns/p", i))
				require.True(t, exists)
				assert.Equal(t, fmt.Sprint("p", i, "@", updates-objects+i+2), nameAt(obj), name)
			}
		})
	}
}

// TestCoalescedFIFOAgainstModel: whatever is put, and however it is cut into batches, a store that is kept by the queue ends
// like one that is kept by the changes themselves, and what is taken for one key never holds two states in a row.
func TestCoalescedFIFOAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := coalescedQueue()
		q.reader.keys.init(itemKey, false)
		want, got := map[string]any{}, map[string]any{}
		put := func(typ DeltaType) func(*rapid.T) {
			return func(t *rapid.T) {
				it := drawItem.Draw(t, "item")
				require.Empty(t, q.putBatch([]record{{typ: typ, object: it}}))
				if typ == Deleted {
					delete(want, it.key)
				} else {
					want[it.key] = it
				}
			}
		}
		pop := func(t *rapid.T) {
			if q.waiting.len() == 0 {
				return
			}
			require.NoError(t, q.popAll(func(batch []record, _ bool) error {
				lastType := map[string]DeltaType{}
				for i := range batch {
					rec := &batch[i]
					switch rec.typ {
					case ReplacedAll:
						clear(got)
						clear(lastType)
						for n, key := range rec.state.(*replacement).keys {
							got[key] = rec.state.(*replacement).objects[n]
						}
						continue
					case Deleted:
						assert.NotEqual(t, Deleted, lastType[rec.key])
						delete(got, rec.key)
					case Added, Updated:
						assert.NotContains(t, []DeltaType{Added, Updated}, lastType[rec.key])
						got[rec.key] = rec.object
					}
					lastType[rec.key] = rec.typ
				}
				return nil
			}))
		}
		t.Repeat(map[string]func(*rapid.T){
			"add": put(Added), "update": put(Updated), "delete": put(Deleted),
			"replace": func(t *rapid.T) {
				items := drawItems.Draw(t, "list")
				require.NoError(t, q.replaceAll(anyOf(items), "1"))
				clear(want)
				for _, it := range items {
					want[it.key] = it
				}
			},
			"resync":   func(t *rapid.T) { require.NoError(t, q.syncAll()) },
			"bookmark": func(t *rapid.T) { require.NoError(t, q.bookmark("1")) },
			"pop":      pop,
		})
		for q.waiting.len() > 0 {
			pop(t)
		}
		assert.Equal(t, want, got)
	})
}

// TestMergedStatesAreNews: an update that a list or a resync repeats stays one that every handler hears of.
func TestMergedStatesAreNews(t *testing.T) {
	q := coalescedQueue()
	require.NoError(t, q.put(Updated, podAt("a", "2")))
	require.NoError(t, q.put(Added, podAt("a", "3")))
	require.NoError(t, q.put(Deleted, podAt("b", "4")))
	require.NoError(t, q.put(Added, podAt("b", "5")))
	require.NoError(t, q.put(Updated, podAt("b", "6")))
	var got []string
	for range 2 {
		popped, err := q.popDeltas("", take)
		require.NoError(t, err)
		for _, d := range popped.(Deltas) {
			got = append(got, fmt.Sprint(d.Type, " ", nameAt(d.Object)))
		}
	}
	assert.Equal(t, []string{"Updated a@3", "Deleted b@4", "Added b@6"}, got)
}

func TestMaxHistoryKeepsTheOldestAndTheNewest(t *testing.T) {
	q := NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: itemKey})
	q.SetMaxHistory(3)
	require.NoError(t, q.Add(item{"a", 0}))
	for i := range 9 {
		require.NoError(t, q.Update(item{"a", i + 1}))
	}
	require.NoError(t, q.Add(item{"b", 0}))
	popped, err := q.Pop(take)
	require.NoError(t, err)
	assert.Equal(t, Deltas{delta(Added, item{"a", 0}), delta(Updated, item{"a", 8}), delta(Updated, item{"a", 9})}, popped)
	stats, _ := QueueStatsOf(q)
	assert.EqualValues(t, 7, stats.Compacted)

	q = NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: knownItems{"a": {"a", 0}}})
	q.SetMaxHistory(1) // two are the least
	require.NoError(t, q.Delete(item{"a", 1}))
	require.NoError(t, q.Add(item{"a", 2}))
	require.NoError(t, q.Delete(item{"a", 3}))
	popped, err = q.Pop(take)
	require.NoError(t, err)
	assert.Equal(t, Deltas{delta(Deleted, item{"a", 3})}, popped, "deletions that meet become one")
}

// TestCoalescedInformerFollowsItsServer: it hears of lists and deletions like any other.
func TestCoalescedInformerFollowsItsServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &fakeServer{noStream: true, list: listOf(podList("1", podAt("a", "1"), podAt("b", "1"))),
			watch: watches(sent(modified("a", "2"), deleted("b", "3"), added("b", "4"), bookmark("9")))}
		handler := &journal{}
		s, stop := informerOn(t, server, func(s *sharedIndexInformer) {
			_, err := s.AddEventHandlerWithResyncPeriod(handler, time.Minute)
			require.NoError(t, err)
		}, WithCoalescedQueue())
		defer stop()
		assert.ElementsMatch(t, []string{"initial a", "initial b", "update a a", "delete b", "add b"}, handler.take())
		assert.Equal(t, "9", s.store.LastStoreSyncResourceVersion())
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"update a a", "update b b"}, handler.take())
	})
}
