// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

func TestPopBatch(t *testing.T) {
	onEach(t, []queueCase{
		{"takes unique keys only", batchUnique},
		{"a batch of one goes to processSingle", batchOfOne},
		{"lists, syncs and bookmarks go alone", batchUnbatchable},
		{"stops at the end of the first list", batchInitial},
		{"synced after the last batch of the first list", batchSynced},
		{"takes at most 1000", batchLimit},
		{"an item that lost its key ends the batch", batchBrokenKeys},
		{"errors come back and the batch is gone", batchErrors},
		{"a panic leaves the queue usable", batchPanic},
		{"every delta about an object can be batched", batchTypes},
		{"metrics", batchMetrics},
	})
}

// batch is one call that PopBatch made.
type batch struct {
	single  bool
	initial bool
	deltas  string
}

// popBatch returns the one call that PopBatch makes.
func popBatch(t *testing.T, q cache.QueueWithBatch) batch {
	t.Helper()
	defer patience(q).Stop()
	var calls []batch
	err := q.PopBatch(
		func(deltas []cache.Delta, initial bool) error {
			calls = append(calls, batch{false, initial, fmt.Sprint(deltaLabels(deltas))})
			return nil
		},
		func(obj any, initial bool) error {
			calls = append(calls, batch{true, initial, label(obj)})
			return nil
		})
	require.NoError(t, err)
	require.Len(t, calls, 1)
	return calls[0]
}

func batchUnique(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Add(pod("b", "2")))
	require.NoError(t, q.Update(pod("a", "3")))
	require.NoError(t, q.Delete(pod("c", "4")))
	require.NoError(t, q.Delete(pod("a", "5")))
	assert.Equal(t, batch{false, false, "[Added a@1 Added b@2]"}, popBatch(t, q))
	assert.Equal(t, batch{false, false, "[Updated a@3 Deleted c@4]"}, popBatch(t, q))
	assert.Equal(t, batch{true, false, "[Deleted a@5]"}, popBatch(t, q))
}

func batchOfOne(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	require.NoError(t, q.Add(pod("a", "1")))
	assert.Equal(t, batch{true, false, "[Added a@1]"}, popBatch(t, q))
	require.NoError(t, q.Add(pod("a", "2")))
	require.NoError(t, q.Add(pod("a", "3")))
	assert.Equal(t, batch{true, false, "[Added a@2]"}, popBatch(t, q))
	assert.Equal(t, batch{true, false, "[Added a@3]"}, popBatch(t, q))
}

func batchUnbatchable(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Add(pod("b", "2")))
	require.NoError(t, bookmarks(t, q).Bookmark("3"))
	require.NoError(t, q.Resync())
	require.NoError(t, q.Replace([]any{pod("c", "4")}, "4"))
	require.NoError(t, q.Add(pod("d", "5")))
	require.NoError(t, q.Add(pod("e", "6")))
	assert.Equal(t, batch{false, false, "[Added a@1 Added b@2]"}, popBatch(t, q))
	assert.Equal(t, batch{true, false, "[Bookmark @3]"}, popBatch(t, q))
	assert.Equal(t, batch{true, false, "[SyncAll all]"}, popBatch(t, q))
	assert.Equal(t, batch{true, false, "[ReplacedAll all@4[c@4]]"}, popBatch(t, q))
	assert.Equal(t, batch{false, false, "[Added d@5 Added e@6]"}, popBatch(t, q))
}

func batchInitial(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{})
	require.NoError(t, q.Replace([]any{pod("a", "1"), pod("b", "2"), pod("a", "3"), pod("c", "4")}, "4"))
	require.NoError(t, q.Add(pod("d", "5")))
	require.NoError(t, q.Add(pod("e", "6")))
	assert.Equal(t, batch{false, true, "[Replaced a@1 Replaced b@2]"}, popBatch(t, q))
	assert.Equal(t, batch{false, true, "[Replaced a@3 Replaced c@4]"}, popBatch(t, q))
	assert.Equal(t, batch{false, false, "[Added d@5 Added e@6]"}, popBatch(t, q))

	atomic := newAtomic(impl)
	require.NoError(t, atomic.Replace([]any{pod("a", "1"), pod("b", "2")}, "2"))
	require.NoError(t, atomic.Add(pod("c", "3")))
	assert.Equal(t, batch{true, true, "[ReplacedAll all@2[a@1 b@2]]"}, popBatch(t, atomic))
	assert.Equal(t, batch{true, false, "[Added c@3]"}, popBatch(t, atomic))
}

func batchSynced(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{})
	require.NoError(t, q.Replace([]any{pod("a", "1"), pod("b", "2")}, "2"))
	err := q.PopBatch(func([]cache.Delta, bool) error {
		assert.False(t, cache.IsDone(q.HasSyncedChecker()), "not before its processing has ended")
		return nil
	}, nil)
	require.NoError(t, err)
	assert.True(t, q.HasSynced())
}

func batchLimit(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	for i := range 1500 {
		require.NoError(t, q.Add(pod(fmt.Sprint(i), "1")))
	}
	var sizes []int
	count := func(deltas []cache.Delta, _ bool) error {
		sizes = append(sizes, len(deltas))
		return nil
	}
	require.NoError(t, q.PopBatch(count, nil))
	require.NoError(t, q.PopBatch(count, nil))
	assert.Equal(t, []int{1000, 500}, sizes)
}

func batchBrokenKeys(t *testing.T, impl implementation) {
	lost := map[string]bool{}
	q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, KeyFunction: func(obj any) (string, error) {
		key, err := keyOrRefuse(obj)
		if lost[key] {
			return "", errUnkeyable
		}
		return key, err
	}})
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		require.NoError(t, q.Add(pod(name, "1")))
	}
	lost["ns/a"], lost["ns/c"] = true, true
	assert.Equal(t, differs(t, impl, "keys are computed once, when an item is queued: a key function cannot fail later",
		[]string{"[Added a@1]", "[Added b@1 Added c@1]", "[Added d@1 Added e@1]"},
		[]string{"[Added a@1 Added b@1 Added c@1 Added d@1 Added e@1]"}), drainBatches(t, q))
}

// drainBatches closes the queue and returns what its PopBatch calls hand out.
func drainBatches(t *testing.T, q cache.QueueWithBatch) []string {
	t.Helper()
	q.Close()
	out := []string{}
	for {
		err := q.PopBatch(
			func(deltas []cache.Delta, _ bool) error {
				out = append(out, fmt.Sprint(deltaLabels(deltas)))
				return nil
			},
			func(obj any, _ bool) error {
				out = append(out, label(obj))
				return nil
			})
		if errors.Is(err, cache.ErrFIFOClosed) {
			return out
		}
		require.NoError(t, err)
	}
}

func batchErrors(t *testing.T, impl implementation) {
	q := newAtomic(impl)
	errBatch, errSingle := errors.New("batch"), errors.New("single")
	fail := func() error {
		return q.PopBatch(func([]cache.Delta, bool) error { return errBatch }, func(any, bool) error { return errSingle })
	}
	require.NoError(t, q.Add(pod("a", "1")))
	require.NoError(t, q.Add(pod("b", "2")))
	require.NoError(t, q.Add(pod("a", "3")))
	assert.ErrorIs(t, fail(), errBatch)
	assert.ErrorIs(t, fail(), errSingle)
	assert.Empty(t, drain(t, q))
}

func batchPanic(t *testing.T, impl implementation) {
	for _, unlock := range []bool{false, true} {
		q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, UnlockWhileProcessing: unlock})
		require.NoError(t, q.Add(pod("a", "1")))
		require.NoError(t, q.Add(pod("b", "2")))
		assert.PanicsWithValue(t, "oops", func() {
			_ = q.PopBatch(func([]cache.Delta, bool) error { panic("oops") }, nil)
		})
		require.NoError(t, q.Add(pod("c", "3")))
		assert.Equal(t, batch{true, false, "[Added c@3]"}, popBatch(t, q))
	}
}

func batchTypes(t *testing.T, impl implementation) {
	q := newReal(impl, cache.RealFIFOOptions{KnownObjects: known(pod("k", "1"))})
	require.NoError(t, q.Add(pod("a", "2")))
	require.NoError(t, q.Update(pod("b", "3")))
	require.NoError(t, q.Delete(pod("c", "4")))
	require.NoError(t, q.Delete(cache.DeletedFinalStateUnknown{Key: "ns/d"}))
	require.NoError(t, q.Resync())
	assert.Equal(t, batch{false, false, "[Added a@2 Updated b@3 Deleted c@4 Deleted gone(nil) Sync k@1]"}, popBatch(t, q))
}

func batchMetrics(t *testing.T, impl implementation) {
	m := newMetrics()
	q := newReal(impl, cache.RealFIFOOptions{AtomicEvents: true, Identifier: reservedName(t, "batch"), MetricsProvider: m})
	for _, name := range []string{"a", "b", "c", "a"} {
		require.NoError(t, q.Add(pod(name, "1")))
	}
	popBatch(t, q)
	assert.Equal(t, 1.0, m.queued.last())
	popBatch(t, q)
	assert.Equal(t, 0.0, m.queued.last())
	assert.Equal(t, 2, m.latency.count(), "one for each batch")
}
