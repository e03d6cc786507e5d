// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// queues are empty queues of every kind over items, known objects included.
func queues(known knownItems) map[string]cache.Queue {
	return map[string]cache.Queue{
		"FIFO":      cache.NewFIFO(itemKey),
		"DeltaFIFO": cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: known}),
		"RealFIFO":  cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KeyFunction: itemKey, KnownObjects: known}),
		"RealFIFO, atomic": cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
			KeyFunction: itemKey, AtomicEvents: true, UnlockWhileProcessing: true, EmitDeltaTypeBookmark: true,
		}),
	}
}

func everyQueue(t *testing.T, test func(t *testing.T, q cache.Queue)) {
	for name, q := range queues(knownItems{}) {
		t.Run(name, func(t *testing.T) { test(t, q) })
	}
}

func take(any, bool) error { return nil }

func delta(typ cache.DeltaType, obj any) cache.Delta { return cache.Delta{Type: typ, Object: obj} }

func TestQueueRefusesWhatHasNoKey(t *testing.T) {
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		var keyError cache.KeyError
		for _, bad := range []any{nil, "no item"} {
			assert.ErrorAs(t, q.Add(bad), &keyError)
			assert.ErrorAs(t, q.Update(bad), &keyError)
			assert.ErrorAs(t, q.Delete(bad), &keyError)
			assert.ErrorAs(t, q.Replace([]any{item{"a", 1}, bad}, ""), &keyError)
		}
		q.Close()
		_, err := q.Pop(take)
		assert.ErrorIs(t, err, cache.ErrFIFOClosed, "nothing was queued")
	})
}

func TestClosedQueueIsEmptiedFirst(t *testing.T) {
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		require.NoError(t, q.Add(item{"a", 1}))
		q.Close()
		q.Close()
		require.NoError(t, q.Add(item{"b", 1}), "what comes late is taken as well")
		assert.True(t, q.(interface{ IsClosed() bool }).IsClosed())
		for range 2 {
			_, err := q.Pop(take)
			require.NoError(t, err)
		}
		_, err := q.Pop(take)
		assert.ErrorIs(t, err, cache.ErrFIFOClosed)
	})
}

func TestCloseWakesEveryPop(t *testing.T) {
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		var poppers sync.WaitGroup
		for range 3 {
			poppers.Go(func() {
				_, err := q.Pop(take)
				assert.ErrorIs(t, err, cache.ErrFIFOClosed)
			})
		}
		q.Close()
		poppers.Wait()
	})
}

func TestHasSyncedWhenTheFirstListIsThrough(t *testing.T) {
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		require.NoError(t, q.Replace([]any{item{"a", 1}, item{"b", 1}}, "1"))
		for more := true; more; more = !q.HasSynced() {
			_, err := q.Pop(func(_ any, initial bool) error {
				assert.True(t, initial)
				return nil
			})
			require.NoError(t, err)
		}
		assert.True(t, cache.IsDone(q.HasSyncedChecker()))
		require.NoError(t, q.Add(item{"c", 1}))
		_, err := q.Pop(func(_ any, initial bool) error {
			assert.False(t, initial)
			return nil
		})
		require.NoError(t, err)
	})
}

func TestHasSyncedWithoutAReplace(t *testing.T) {
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		assert.False(t, q.HasSynced())
		require.NoError(t, q.Add(item{"a", 1}))
		assert.True(t, q.HasSynced())
	})
}

func TestEmptyReplaceSyncs(t *testing.T) {
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		require.NoError(t, q.Replace(nil, "1"))
		if !q.HasSynced() { // an atomic queue has the empty list to hand out
			_, err := q.Pop(take)
			require.NoError(t, err)
		}
		assert.True(t, q.HasSynced())
	})
}

func TestProcessErrorIsPassedOn(t *testing.T) {
	failure := errors.New("cannot process")
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		require.NoError(t, q.Add(item{"a", 1}))
		popped, err := q.Pop(func(any, bool) error { return failure })
		assert.ErrorIs(t, err, failure)
		assert.NotNil(t, popped)
	})
}

// TestPanicLeavesTheQueueUsable: the lock is released and the item gone, as if it had been
// processed.
func TestPanicLeavesTheQueueUsable(t *testing.T) {
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		require.NoError(t, q.Replace([]any{item{"a", 1}}, "1"))
		assert.Panics(t, func() { _, _ = q.Pop(func(any, bool) error { panic("cannot process") }) })
		assert.True(t, q.HasSynced())
		require.NoError(t, q.Add(item{"b", 1}))
		_, err := q.Pop(take)
		require.NoError(t, err)
	})
}

// TestAtomicEvents: a Replace, a resync and a bookmark are one delta each, alone in their batch.
func TestAtomicEvents(t *testing.T) {
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KeyFunction: itemKey, AtomicEvents: true, EmitDeltaTypeBookmark: true})
	require.NoError(t, q.Replace([]any{item{"a", 1}}, "1"))
	require.NoError(t, q.Add(item{"b", 1}))
	require.NoError(t, q.Update(item{"a", 2}))
	require.NoError(t, q.Update(item{"a", 3}))
	require.NoError(t, q.Resync())
	require.NoError(t, q.Bookmark("9"))

	var batches [][]cache.Delta
	note := func(deltas []cache.Delta, _ bool) error { batches = append(batches, deltas); return nil }
	for range 5 {
		require.NoError(t, q.PopBatch(note, func(obj any, initial bool) error { return note(obj.(cache.Deltas), initial) }))
	}
	assert.Equal(t, [][]cache.Delta{
		{delta(cache.ReplacedAll, cache.ReplacedAllInfo{ResourceVersion: "1", Objects: []any{item{"a", 1}}})},
		{delta(cache.Added, item{"b", 1}), delta(cache.Updated, item{"a", 2})},
		{delta(cache.Updated, item{"a", 3})},
		{delta(cache.SyncAll, cache.SyncAllInfo{})},
		{delta(cache.Bookmark, cache.BookmarkInfo{ResourceVersion: "9"})},
	}, batches)
}

func TestBookmarkNeedsItsOption(t *testing.T) {
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KeyFunction: itemKey, AtomicEvents: true})
	require.NoError(t, q.Bookmark("9"))
	q.Close()
	_, err := q.Pop(take)
	assert.ErrorIs(t, err, cache.ErrFIFOClosed)
}

func TestRealFIFORefusesContradictions(t *testing.T) {
	for name, opts := range map[string]cache.RealFIFOOptions{
		"known objects with atomic events": {AtomicEvents: true, KnownObjects: knownItems{}},
		"neither":                          {},
		"unlocked without atomic events":   {KnownObjects: knownItems{}, UnlockWhileProcessing: true},
		"bookmarks without atomic events":  {KnownObjects: knownItems{}, EmitDeltaTypeBookmark: true},
	} {
		assert.Panics(t, func() { cache.NewRealFIFOWithOptions(opts) }, name)
	}
}

// TestTransformOnTheWayIn: objects, not tombstones, and never what a resync brings back.
func TestTransformOnTheWayIn(t *testing.T) {
	double := func(obj any) (any, error) {
		it := obj.(item)
		if it.value < 0 {
			return nil, errNoItem
		}
		return item{it.key, it.value * 2}, nil
	}
	known := knownItems{"old": {"old", 1}}
	for name, q := range map[string]cache.Queue{
		"DeltaFIFO": cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: known, Transformer: double}),
		"RealFIFO":  cache.NewRealFIFO(itemKey, known, double),
	} {
		assert.ErrorIs(t, q.Add(item{"a", -1}), errNoItem, name)
		assert.ErrorIs(t, q.Replace([]any{item{"a", -1}}, ""), errNoItem, name)
		require.NoError(t, q.Resync())
		require.NoError(t, q.Add(item{"b", 1}))
		require.NoError(t, q.Delete(cache.DeletedFinalStateUnknown{Key: "b", Obj: item{"b", 5}}))
		var got []cache.Delta
		for len(got) < 3 {
			popped, err := q.Pop(take)
			require.NoError(t, err)
			got = append(got, popped.(cache.Deltas)...)
		}
		assert.Equal(t, []cache.Delta{
			delta(cache.Sync, item{"old", 1}), delta(cache.Added, item{"b", 2}), delta(cache.Deleted, cache.DeletedFinalStateUnknown{Key: "b", Obj: item{"b", 5}}),
		}, got, name)
	}
}

// failingItems cannot be looked up.
type failingItems struct{}

func (failingItems) ListKeys() []string { return []string{"gone", "broken"} }
func (failingItems) GetByKey(key string) (any, bool, error) {
	if key == "broken" {
		return nil, false, errNoItem
	}
	return nil, false, nil
}

func TestKnownObjectsThatCannotBeLookedUp(t *testing.T) {
	for name, q := range map[string]cache.Queue{
		"DeltaFIFO": cache.NewDeltaFIFO(itemKey, failingItems{}),
		"RealFIFO":  cache.NewRealFIFO(itemKey, failingItems{}, nil),
	} {
		require.NoError(t, q.Resync(), name)
		require.NoError(t, q.Replace(nil, ""), name)
		for _, key := range []string{"gone", "broken"} {
			popped, err := q.Pop(take)
			require.NoError(t, err)
			assert.Equal(t, cache.Deltas{delta(cache.Deleted, cache.DeletedFinalStateUnknown{Key: key})}, popped, name)
		}
	}
}

// TestUnlockWhileProcessing: what is put while a batch is processed is neither lost nor waited for.
func TestUnlockWhileProcessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KeyFunction: itemKey, AtomicEvents: true, UnlockWhileProcessing: true})
		require.NoError(t, q.Add(item{"a", 1}))
		_, err := q.Pop(func(any, bool) error { return q.Add(item{"b", 1}) })
		require.NoError(t, err)
		popped, err := q.Pop(take)
		require.NoError(t, err)
		assert.Equal(t, cache.Deltas{delta(cache.Added, item{"b", 1})}, popped)
	})
}

func TestConcurrentUseOfAQueue(t *testing.T) {
	const producers, each = 4, 200
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		var group, consumer sync.WaitGroup
		for p := range producers {
			group.Go(func() {
				for i := range each {
					assert.NoError(t, q.Add(item{string(rune('a' + p)), i}))
				}
			})
		}
		last := map[string]int{}
		consumer.Go(func() {
			for {
				popped, err := q.Pop(take)
				if errors.Is(err, cache.ErrFIFOClosed) {
					return
				}
				deltas, ok := popped.(cache.Deltas)
				if !ok {
					deltas = cache.Deltas{{Object: popped}}
				}
				for _, d := range deltas {
					it := d.Object.(item)
					assert.GreaterOrEqual(t, it.value, last[it.key], "order of one object")
					last[it.key] = it.value
				}
			}
		})
		group.Wait()
		q.Close()
		consumer.Wait()
		assert.Len(t, last, producers)
		for key, value := range last {
			assert.Equal(t, each-1, value, key)
		}
	})
}

func TestPanickingKeyFunction(t *testing.T) {
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{AtomicEvents: true, KeyFunction: func(any) (string, error) { panic("no key") }})
	assert.ErrorAs(t, q.Add(testkit.PodAt("a", "1")), &cache.KeyError{})
	assert.ErrorContains(t, q.Replace([]any{testkit.PodAt("a", "1")}, "1"), "key function panicked: no key")
	assert.Zero(t, depthOf(q))
}

// TestListWithDuplicateKeys: the last one counts, in every queue.
func TestListWithDuplicateKeys(t *testing.T) {
	everyQueue(t, func(t *testing.T, q cache.Queue) {
		require.NoError(t, q.Replace([]any{item{"a", 1}, item{"b", 1}, item{"a", 2}}, "1"))
		last := map[string]int{}
		q.Close()
		for {
			popped, err := q.Pop(take)
			if err != nil {
				assert.ErrorIs(t, err, cache.ErrFIFOClosed)
				break
			}
			for _, it := range itemsOf(popped) {
				last[it.key] = it.value
			}
		}
		assert.Equal(t, map[string]int{"a": 2, "b": 1}, last)
		assert.True(t, q.HasSynced())
	})
}

// itemsOf are the items in what any queue hands out.
func itemsOf(popped any) (items []item) {
	deltas, ok := popped.(cache.Deltas)
	if !ok {
		return []item{popped.(item)}
	}
	for _, d := range deltas {
		if list, ok := d.Object.(cache.ReplacedAllInfo); ok {
			for _, obj := range list.Objects {
				items = append(items, obj.(item))
			}
		} else {
			items = append(items, d.Object.(item))
		}
	}
	return items
}
