// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
)

func TestStore(t *testing.T) {
	onEach(t, []storeCase{
		{"keys that fail are KeyErrors and change nothing", storeKeyErrors},
		{"a failed Replace leaves the old content", storeFailedReplace},
		{"ExplicitKey stands for its object", storeExplicitKey},
		{"Delete takes tombstones and absent objects", storeDelete},
		{"Replace with duplicate keys keeps the last", storeReplaceDuplicates},
		{"answers are the stored pointers in slices of the caller's", storeOwnership},
		{"empty answers are empty, not nil", storeEmptyAnswers},
		{"Resync does nothing", storeResync},
		{"the transformer sees adds, updates and replaces", storeTransformer},
		{"a failing transformer stores nothing", storeTransformerErrors},
		{"a thread-safe store takes any key and object", storeThreadSafe},
		{"a store from NewStore indexes as well", storeIsIndexer},
	})
}

func newStore(impl implementation) cache.Store {
	return impl.stores.store(keyOrRefuse, storeFeatures{})
}

func storeKeyErrors(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "1")))
	_, _, getErr := store.Get("junk")
	for call, err := range map[string]error{
		"Add":     store.Add("junk"),
		"Update":  store.Update("junk"),
		"Delete":  store.Delete("junk"),
		"Replace": store.Replace([]any{pod("b", "2"), "junk"}, "9"),
		"Get":     getErr,
	} {
		var keyErr cache.KeyError
		require.ErrorAs(t, err, &keyErr, call)
		assert.Equal(t, "junk", keyErr.Obj, call)
		assert.ErrorIs(t, err, errUnkeyable, call)
	}
	assert.Equal(t, []string{"ns/a"}, store.ListKeys())
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion())
}

func storeFailedReplace(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Replace([]any{pod("a", "1"), pod("b", "2")}, "5"))
	require.Error(t, store.Replace([]any{pod("c", "6"), "junk"}, "7"))
	assert.Equal(t, []string{"a@1", "b@2"}, sorted(store.List()))
	assert.Equal(t, "5", store.LastStoreSyncResourceVersion())
}

func storeExplicitKey(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "1")))
	got, exists, err := store.Get(cache.ExplicitKey("ns/a"))
	require.NoError(t, err)
	require.True(t, exists)
	assert.Equal(t, "a@1", label(got))
	require.NoError(t, store.Add(cache.ExplicitKey("ns/b")), "a key may be an object as well")
	got, exists, err = store.GetByKey("ns/b")
	require.NoError(t, err)
	require.True(t, exists)
	assert.Equal(t, cache.ExplicitKey("ns/b"), got)
	require.NoError(t, store.Delete(cache.ExplicitKey("ns/a")))
	assert.Equal(t, []string{"ns/b"}, store.ListKeys())
}

func storeDelete(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "1")))
	require.NoError(t, store.Add(pod("b", "2")))
	require.NoError(t, store.Delete(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod("a", "1")}))
	require.NoError(t, store.Delete(cache.DeletedFinalStateUnknown{Key: "ns/b"}), "a tombstone without its object")
	assert.Empty(t, store.ListKeys())
	require.NoError(t, store.Delete(pod("a", "3")), "what is not there cannot be missed")
	_, exists, err := store.Get(pod("a", "1"))
	require.NoError(t, err)
	assert.False(t, exists)
}

func storeReplaceDuplicates(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("z", "1")))
	require.NoError(t, store.Replace([]any{pod("a", "1"), pod("b", "2"), pod("a", "3")}, "4"))
	assert.Equal(t, []string{"a@3", "b@2"}, sorted(store.List()))
	assert.ElementsMatch(t, []string{"ns/a", "ns/b"}, store.ListKeys())
}

func storeOwnership(t *testing.T, impl implementation) {
	store := newStore(impl)
	a, b := pod("a", "1"), pod("b", "2")
	require.NoError(t, store.Add(a))
	require.NoError(t, store.Add(b))
	got, _, err := store.GetByKey("ns/a")
	require.NoError(t, err)
	assert.Same(t, a, got)

	list, keys := store.List(), store.ListKeys()
	clear(list)
	_ = append(list[:0:1], nil)
	clear(keys)
	assert.Equal(t, []string{"a@1", "b@2"}, sorted(store.List()), "writing to an answer changes no later one")
	assert.ElementsMatch(t, []string{"ns/a", "ns/b"}, store.ListKeys())

	list = store.List()
	require.NoError(t, store.Delete(a))
	require.NoError(t, store.Update(pod("b", "3")))
	assert.Equal(t, []string{"a@1", "b@2"}, sorted(list), "an answer does not follow the store")
}

func storeEmptyAnswers(t *testing.T, impl implementation) {
	indexer := impl.stores.indexer(keyOrRefuse, cache.Indexers{"app": byLabel("app")}, storeFeatures{})
	byIndex, err := indexer.ByIndex("app", "none")
	require.NoError(t, err)
	index, err := indexer.Index("app", labelled("a", "1", "app", "none"))
	require.NoError(t, err)
	keys, err := indexer.IndexKeys("app", "none")
	require.NoError(t, err)
	assert.Equal(t, []any{}, indexer.List())
	assert.Equal(t, []string{}, indexer.ListKeys())
	assert.Equal(t, []any{}, byIndex)
	assert.Equal(t, []any{}, index)
	assert.Equal(t, []string{}, keys)
	assert.Equal(t, []string{}, indexer.ListIndexFuncValues("app"))
}

func storeResync(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "1")))
	require.NoError(t, store.Resync())
	assert.Equal(t, []string{"a@1"}, labels(store.List()))
}

// shout appends an exclamation mark to the resource version, so that a second call shows.
func shout(obj any) (any, error) {
	p, ok := obj.(interface {
		GetResourceVersion() string
		SetResourceVersion(string)
	})
	if !ok {
		return obj, nil
	}
	p.SetResourceVersion(p.GetResourceVersion() + "!")
	return obj, nil
}

func storeTransformer(t *testing.T, impl implementation) {
	store := impl.stores.store(keyOrRefuse, storeFeatures{transformer: shout})
	require.NoError(t, store.Add(pod("a", "1")))
	require.NoError(t, store.Update(pod("b", "2")))
	assert.Equal(t, []string{"a@1!", "b@2!"}, sorted(store.List()))
	gone := pod("a", "3")
	require.NoError(t, store.Delete(gone))
	assert.Equal(t, "a@3", label(gone), "not on deletes")
	require.NoError(t, store.Replace([]any{pod("c", "4")}, "5"))
	assert.Equal(t, []string{"c@4!"}, labels(store.List()))
	assert.Equal(t, "5", store.LastStoreSyncResourceVersion(), "the list's own version is not transformed")
}

func storeTransformerErrors(t *testing.T, impl implementation) {
	errNo := errors.New("no")
	store := impl.stores.store(keyOrRefuse, storeFeatures{transformer: func(obj any) (any, error) {
		if label(obj) == "bad@1" {
			return nil, errNo
		}
		return obj, nil
	}})
	require.NoError(t, store.Add(pod("a", "1")))
	assert.ErrorIs(t, store.Add(pod("bad", "1")), errNo)
	assert.ErrorIs(t, store.Update(pod("bad", "1")), errNo)
	assert.ErrorIs(t, store.Replace([]any{pod("b", "2"), pod("bad", "1")}, "9"), errNo)
	assert.Equal(t, []string{"a@1"}, labels(store.List()))
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion())
}

func storeThreadSafe(t *testing.T, impl implementation) {
	store := impl.stores.threadSafe(cache.Indexers{}, storeFeatures{})
	store.Add("k", 1)
	store.Update("l", "two")
	store.Add("", pod("a", "3"))
	got, exists := store.Get("k")
	assert.True(t, exists)
	assert.Equal(t, 1, got)
	store.Delete("l")
	store.DeleteWithObject("absent", nil)
	assert.ElementsMatch(t, []string{"k", ""}, store.ListKeys())
	store.Replace(map[string]any{"m": 4}, "7")
	assert.Equal(t, []string{"m"}, store.ListKeys())
	_, exists = store.Get("k")
	assert.False(t, exists)
	require.NoError(t, store.Resync())
}

func storeIsIndexer(t *testing.T, impl implementation) {
	indexer, ok := newStore(impl).(cache.Indexer)
	require.True(t, ok, "listers and typed wrappers assert this")
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x")))
	require.NoError(t, indexer.AddIndexers(cache.Indexers{"app": byLabel("app")}))
	keys, err := indexer.IndexKeys("app", "x")
	require.NoError(t, err)
	assert.Equal(t, []string{"ns/a"}, keys)
}
