// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"iter"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// even and odd items, in a store of ours and in one of client-go.
func bothStores(t *testing.T) map[string]cache.Indexer {
	byParity := cache.Indexers{"parity": func(obj any) ([]string, error) {
		return []string{[]string{"even", "odd"}[obj.(item).value%2]}, nil
	}}
	stores := map[string]cache.Indexer{"ours": cache.NewIndexer(itemKey, byParity), "client-go's": clientgo.NewIndexer(itemKey, byParity)}
	for _, s := range stores {
		require.NoError(t, s.Replace([]any{item{"a", 1}, item{"b", 2}, item{"c", 3}}, "7"))
	}
	return stores
}

func TestReadsBeyondIndexer(t *testing.T) {
	for name, s := range bothStores(t) {
		all := map[string]any{"a": item{"a", 1}, "b": item{"b", 2}, "c": item{"c", 3}}
		assert.Equal(t, all, maps.Collect(cache.All(s)), name)
		assert.Equal(t, 3, cache.Len(s), name)
		n, err := cache.Count(s, "parity", "odd")
		require.NoError(t, err)
		assert.Equal(t, 2, n, name)
		members, err := cache.ByIndexSeq(s, "parity", "odd")
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "c"}, sortedKeys(members), name)

		_, err = cache.Count(s, "none", "")
		assert.Error(t, err, name)
		_, err = cache.ByIndexSeq(s, "none", "")
		assert.Error(t, err, name)
		for range cache.All(s) {
			break
		}
	}
}

func sortedKeys[V any](seq iter.Seq2[string, V]) []string {
	return slices.Sorted(maps.Keys(maps.Collect(seq)))
}

func TestTypedReads(t *testing.T) {
	for name, s := range bothStores(t) {
		assert.Equal(t, map[string]item{"a": {"a", 1}, "b": {"b", 2}, "c": {"c", 3}}, maps.Collect(cache.TypedAll[item](s)), name)
		assert.Empty(t, maps.Collect(cache.TypedAll[string](s)), name)
		even, err := cache.TypedByIndexSeq[item](s, "parity", "even")
		require.NoError(t, err)
		assert.Equal(t, []string{"b"}, sortedKeys(even), name)
		it, ok := cache.TypedGet[item](s, "b")
		assert.True(t, ok, name)
		assert.Equal(t, 2, it.value, name)
		_, ok = cache.TypedGet[string](s, "b")
		assert.False(t, ok, name)
		_, ok = cache.TypedGet[item](s, "none")
		assert.False(t, ok, name)
	}
}

// TestTypedReadOfWhatIsStoredByPointerSaysSo: the compiler refuses most types that are not
// pointers; for the others each read says once why it finds nothing.
func TestTypedReadOfWhatIsStoredByPointerSaysSo(t *testing.T) {
	itemPointerKey := func(obj any) (string, error) { return obj.(*item).key, nil }
	byAll := cache.Indexers{"all": func(any) ([]string, error) { return []string{""}, nil }}
	for name, s := range map[string]cache.Indexer{"ours": cache.NewIndexer(itemPointerKey, byAll), "client-go's": clientgo.NewIndexer(itemPointerKey, byAll)} {
		require.NoError(t, s.Replace([]any{&item{"a", 1}, &item{"b", 2}}, "7"))
		reported, heard := testkit.Reports(t), 0
		said := func() {
			t.Helper()
			texts := reported()
			if heard++; assert.Len(t, texts, heard, name) {
				assert.Contains(t, texts[heard-1], "[*cache_test.item]", name)
			}
		}
		for range cache.TypedAll[item](s) {
			t.Error("there is none of this type")
		}
		said()
		members, err := cache.TypedByIndexSeq[item](s, "all", "")
		require.NoError(t, err)
		assert.Empty(t, maps.Collect(members), name)
		said()
		_, ok := cache.TypedGet[item](s, "a")
		assert.False(t, ok, name)
		said()

		assert.Len(t, maps.Collect(cache.TypedAll[*item](s)), 2, name)
		assert.Empty(t, maps.Collect(cache.TypedAll[string](s)), name)
		_, ok = cache.TypedGet[item](s, "none")
		assert.False(t, ok, name)
		assert.Len(t, reported(), heard, "a store may hold objects of other types")
	}
}

func TestSnapshotKeepsItsState(t *testing.T) {
	stores := bothStores(t)
	_, err := cache.SnapshotOf(stores["client-go's"])
	assert.ErrorIs(t, err, cache.ErrForeignStore)
	_, ok := cache.SnapshotStatsOf(stores["client-go's"])
	assert.False(t, ok)

	s := stores["ours"]
	before, err := cache.SnapshotOf(s)
	require.NoError(t, err)
	require.NoError(t, s.Update(item{"a", 2}))
	require.NoError(t, s.Delete(item{"b", 0}))
	require.NoError(t, s.Replace([]any{item{"d", 1}}, "9"))

	assert.Equal(t, "7", before.ResourceVersion())
	assert.Equal(t, 3, before.Len())
	assert.ElementsMatch(t, []any{item{"a", 1}, item{"b", 2}, item{"c", 3}}, before.List())
	obj, exists := before.Get("b")
	assert.True(t, exists)
	assert.Equal(t, item{"b", 2}, obj)
	odd, err := before.ByIndex("parity", "odd")
	require.NoError(t, err)
	assert.ElementsMatch(t, []any{item{"a", 1}, item{"c", 3}}, odd)
	members, err := before.ByIndexSeq("parity", "odd")
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "c"}, sortedKeys(members))
	assert.Equal(t, []string{"a", "b", "c"}, sortedKeys(before.All()))

	stats, ok := cache.SnapshotStatsOf(s)
	assert.True(t, ok)
	assert.Equal(t, 1, stats.Open)
	assert.False(t, stats.Oldest.IsZero())
	before.Close()
	before.Close()
	stats, _ = cache.SnapshotStatsOf(s)
	assert.Zero(t, stats.Open)
	_, err = before.ByIndex("parity", "odd")
	assert.ErrorIs(t, err, cache.ErrSnapshotClosed)
	assert.Equal(t, []any{item{"d", 1}}, s.List())
}

func TestFailuresOfIndexFunctions(t *testing.T) {
	errs := reported(t)
	s := cache.NewIndexer(itemKey, cache.Indexers{"value": byValue})
	require.NoError(t, s.Add(item{"a", 7}))
	require.NoError(t, s.Add(item{"b", 8}))
	require.Len(t, *errs, 2)
	assert.ErrorContains(t, (*errs)[0], `key "a" on index "value"`)
	assert.ErrorContains(t, (*errs)[1], "panicked")
	failures, ok := cache.IndexFailures(s)
	assert.True(t, ok)
	assert.Equal(t, map[string]uint64{"value": 2}, failures)
	assert.Equal(t, 2, cache.Len(s), "the objects are kept")
	_, ok = cache.IndexFailures(clientgo.NewStore(itemKey))
	assert.False(t, ok)

	var hooked []cache.IndexFailure
	s = cache.NewIndexer(itemKey, cache.Indexers{"value": byValue}, cache.OnIndexFailure(func(f cache.IndexFailure) {
		hooked = append(hooked, f)
		_, _, _ = s.GetByKey(f.Key) // no lock is held
		assert.NoError(t, s.Add(item{"from the hook", 1}))
	}))
	require.NoError(t, s.Add(item{"a", 7}))
	require.Len(t, hooked, 1)
	assert.Equal(t, "value", hooked[0].Index)
	assert.Equal(t, item{"a", 7}, hooked[0].Object)
	assert.Len(t, *errs, 2, "a hook takes the place of the report")
}

// TestPulledLoopsHoldTheirState: a loop through iter.Pull shows the state that it began with, and
// holds it until it is stopped.
func TestPulledLoopsHoldTheirState(t *testing.T) {
	s := cache.NewIndexer(itemKey, cache.Indexers{"value": byValue})
	require.NoError(t, s.Replace([]any{item{"a", 1}, item{"b", 1}}, ""))
	members, err := cache.ByIndexSeq(s, "value", "3:1")
	require.NoError(t, err)
	for name, loop := range map[string]iter.Seq2[string, any]{"All": cache.All(s), "ByIndexSeq": members} {
		next, stop := iter.Pull2(loop)
		first, _, _ := next()
		require.NoError(t, s.Replace(nil, ""))
		second, _, ok := next()
		assert.True(t, ok, name)
		assert.ElementsMatch(t, []string{"a", "b"}, []string{first, second}, name)
		stats, _ := cache.SnapshotStatsOf(s)
		assert.Equal(t, 1, stats.Open, name)
		stop()
		stats, _ = cache.SnapshotStatsOf(s)
		assert.Zero(t, stats.Open, name)
		require.NoError(t, s.Replace([]any{item{"a", 1}, item{"b", 1}}, ""))
	}
}
