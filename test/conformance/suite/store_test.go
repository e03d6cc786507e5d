// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/tools/cache"
)

func TestStore(t *testing.T) {
	onEach(t, []directCase{
		{"answers are the stored pointers in slices of the caller's", storeOwnership},
		{"a transaction of no writes is nothing", transactionEmpty},
		{"a thread-safe store takes any key and object", storeThreadSafe},
		{"a store from NewStore indexes as well", storeIsIndexer},
	})
}

func newStore(impl implementation) cache.Store {
	return impl.stores.store(keyOrRefuse, storeFeatures{})
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

// shout appends an exclamation mark to the resource version, so that a second call is visible.
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

func TestStoreVersion(t *testing.T) {
	onEach(t, []directCase{
		{"may go backwards", versionGoesBack},
		{"of a thread-safe store", versionThreadSafe},
		{"after a transaction", versionOfTransaction},
		{"after a transaction with several writes of a key", transactionRepeated},
		{"is hidden without AtomicFIFO", versionHidden},
		{"is the gauge of the metrics", versionGauge},
	})
}

func versionGoesBack(t *testing.T, impl implementation) {
	const reason = "the store's version goes back with a Replace only"
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "9")))
	require.NoError(t, store.Update(pod("a", "7")))
	assert.Equal(t, differs(t, impl, reason, "7", "9"), store.LastStoreSyncResourceVersion())
	store.Bookmark("5")
	assert.Equal(t, differs(t, impl, reason, "5", "9"), store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Delete(pod("a", "4")))
	assert.Equal(t, differs(t, impl, reason, "4", "9"), store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Replace(nil, "3"))
	assert.Equal(t, "3", store.LastStoreSyncResourceVersion())
	require.NoError(t, store.Add(pod("a", "opaque")))
	assert.Equal(t, "opaque", store.LastStoreSyncResourceVersion(), "what cannot be compared is taken as it comes")
}

func versionThreadSafe(t *testing.T, impl implementation) {
	store := impl.stores.threadSafe(cache.Indexers{}, storeFeatures{})
	store.Add("a", pod("a", "1"))
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion())
	store.Delete("a")
	assert.Equal(t, "1", store.LastStoreSyncResourceVersion(), "Delete by key knows none")
	store.DeleteWithObject("a", pod("a", "2"))
	assert.Equal(t, "2", store.LastStoreSyncResourceVersion())
	store.Bookmark("3")
	assert.Equal(t, "3", store.LastStoreSyncResourceVersion())
}

func transact(t *testing.T, store cache.Store, txns ...cache.Transaction) error {
	t.Helper()
	ts, ok := store.(cache.TransactionStore)
	require.True(t, ok, "the informers' batches need it")
	if err := ts.Transaction(txns...); err != nil {
		return err
	}
	return nil
}

func addTxn(obj any) cache.Transaction {
	return cache.Transaction{Type: cache.TransactionTypeAdd, Object: obj}
}

func deleteTxn(obj any) cache.Transaction {
	return cache.Transaction{Type: cache.TransactionTypeDelete, Object: obj}
}

func versionOfTransaction(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, transact(t, store, addTxn(pod("a", "3")), addTxn(pod("b", "9")), addTxn(pod("c", "4"))))
	assert.Equal(t, differs(t, impl, "a transaction leaves the store at its greatest version, not at its last object's", "4", "9"),
		store.LastStoreSyncResourceVersion())

	store = newStore(impl)
	tombstone := cache.DeletedFinalStateUnknown{Key: "ns/a"}
	require.NoError(t, transact(t, store, addTxn(pod("b", "5")), deleteTxn(tombstone)))
	assert.Equal(t, differs(t, impl, "a tombstone at the end of a transaction does not hide the others' versions", "", "5"),
		store.LastStoreSyncResourceVersion())
}

func versionHidden(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, store.Add(pod("a", "1")))
	featurestesting.SetFeatureDuringTest(t, features.AtomicFIFO, false)
	assert.Empty(t, store.LastStoreSyncResourceVersion(), "asked at every call, not at construction")
}

func versionGauge(t *testing.T, impl implementation) {
	m := &metrics{}
	id := reservedName(t, "store")
	store := impl.stores.store(keyOrRefuse, storeFeatures{identifier: id, provider: m})
	require.NoError(t, store.Add(pod("a", "12")))
	assert.Equal(t, 12.0, m.Version.Last)
	require.NoError(t, store.Delete(pod("a", "13")))
	assert.Equal(t, 13.0, m.Version.Last)
	store.Bookmark("123456789012345678")
	assert.Equal(t, 456789012345678.0, m.Version.Last, "the last 15 digits, which a float64 holds")
	require.NoError(t, store.Update(pod("a", "abc")))
	assert.Equal(t, 456789012345678.0, m.Version.Last, "what is no number is left out")
	require.NoError(t, store.Replace(nil, "14"))
	assert.Equal(t, 14.0, m.Version.Last)
	assert.Equal(t, []string{"version"}, m.made, "a store has only this one")

	unnamed := &metrics{}
	impl.stores.threadSafe(cache.Indexers{}, storeFeatures{provider: unnamed}).Add("a", pod("a", "1"))
	assert.Empty(t, unnamed.made, "without a reserved name there are no metrics")
}

func transactionRepeated(t *testing.T, impl implementation) {
	store := newStore(impl)
	require.NoError(t, transact(t, store, addTxn(pod("a", "1")), addTxn(pod("b", "2")), deleteTxn(pod("a", "3")), addTxn(pod("a", "4")), deleteTxn(pod("b", "5"))))
	assert.Equal(t, []string{"ns/a"}, store.ListKeys())
	obj, exists, err := store.GetByKey("ns/a")
	require.NoError(t, err)
	assert.True(t, exists)
	assert.Equal(t, "4", obj.(*corev1.Pod).ResourceVersion, "the last write counts")
	assert.Equal(t, "5", store.LastStoreSyncResourceVersion())
}

func transactionEmpty(t *testing.T, impl implementation) {
	store := newStore(impl)
	store.Bookmark("5")
	require.NoError(t, transact(t, store))
	assert.Equal(t, "5", store.LastStoreSyncResourceVersion())
	require.NoError(t, transact(t, store, cache.Transaction{Type: "Other", Object: pod("a", "6")}), "unknown types do nothing")
	assert.Empty(t, store.List())
}

func TestIndex(t *testing.T) {
	onEach(t, []directCase{
		{"answers are the caller's", indexOwnership},
		{"AddIndexers on a store made without any", indexAddToNil},
		{"GetIndexers", indexGetIndexers},
		{"GetIndexers while indexers are added", indexGetIndexersRace},
		{"a failing function in a query is its error", indexQueryError},
		{"a panicking function in a query", indexQueryPanic},
		{"a failing function in a write", func(t *testing.T, impl implementation) {
			indexFailure(t, impl, "error", "an index function's error leaves the store consistent; client-go panics under the lock")
		}},
		{"a panicking function in a write", func(t *testing.T, impl implementation) {
			indexFailure(t, impl, "panic", "an index function's panic leaves the store consistent; client-go lets it through")
		}},
		{"a failing function in AddIndexers", indexAddError},
	})
}

// byLabel indexes pods by the comma-separated values of a label; a missing label has no value.
func byLabel(name string) cache.IndexFunc {
	return func(obj any) ([]string, error) {
		p, ok := obj.(*corev1.Pod)
		if !ok || p.Labels[name] == "" {
			return nil, nil
		}
		return strings.Split(p.Labels[name], ","), nil
	}
}

var errIndex = errors.New("cannot index")

// byApp fails for the value "error" and panics for "panic".
func byApp(obj any) ([]string, error) {
	values, err := byLabel("app")(obj)
	if err != nil || len(values) == 0 {
		return values, err
	}
	switch values[0] {
	case "error":
		return nil, errIndex
	case "panic":
		panic("cannot even fail")
	}
	return values, nil
}

func newIndexer(impl implementation) cache.Indexer {
	return impl.stores.indexer(keyOrRefuse, cache.Indexers{"app": byApp}, storeFeatures{})
}

// members returns the labels of the objects under the value, sorted.
func members(t *testing.T, indexer cache.Indexer, index, value string) []string {
	t.Helper()
	objs, err := indexer.ByIndex(index, value)
	require.NoError(t, err)
	return sorted(objs)
}

func indexOwnership(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x")))
	require.NoError(t, indexer.Add(labelled("b", "2", "app", "x")))
	objs, err := indexer.ByIndex("app", "x")
	require.NoError(t, err)
	clear(objs)
	assert.Equal(t, []string{"a@1", "b@2"}, members(t, indexer, "app", "x"))
	objs, err = indexer.ByIndex("app", "x")
	require.NoError(t, err)
	require.NoError(t, indexer.Delete(pod("a", "3")))
	assert.Equal(t, []string{"a@1", "b@2"}, sorted(objs))
}

func indexAddToNil(t *testing.T, impl implementation) {
	indexer := impl.stores.indexer(keyOrRefuse, nil, storeFeatures{})
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x")))
	attempt := func() { _ = indexer.AddIndexers(cache.Indexers{"app": byApp}) }
	if differs(t, impl, "a store made without indexers takes some later; client-go writes to a nil map", true, false) && !impl.guards() {
		assert.Panics(t, attempt)
		return
	}
	attempt()
	assert.Equal(t, []string{"a@1"}, members(t, indexer, "app", "x"))
}

func indexGetIndexers(t *testing.T, impl implementation) {
	given := cache.Indexers{"app": byApp}
	indexer := impl.stores.indexer(keyOrRefuse, given, storeFeatures{})
	require.NoError(t, indexer.AddIndexers(cache.Indexers{"tier": byLabel("tier")}))
	got := indexer.GetIndexers()
	assert.Len(t, got, 2)
	assert.Contains(t, got, "tier")
	delete(got, "app")
	_, err := indexer.ByIndex("app", "x")
	if differs(t, impl, "GetIndexers returns a copy, client-go the map in use", true, false) {
		assert.Error(t, err)
		_, inGiven := given["tier"]
		assert.Equal(t, !impl.guards(), inGiven, "and the caller's map is the store's")
		return
	}
	assert.NoError(t, err)
	assert.Contains(t, indexer.GetIndexers(), "app")
	assert.NotContains(t, given, "tier", "the map given stays the caller's")
}

func indexGetIndexersRace(t *testing.T, impl implementation) {
	if differs(t, impl, "GetIndexers and AddIndexers may run at the same time; in client-go they race", true, false) {
		return
	}
	indexer := newIndexer(impl)
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x")))
	var wg sync.WaitGroup
	for _, name := range strings.Split("abcdefgh", "") {
		wg.Go(func() { assert.NoError(t, indexer.AddIndexers(cache.Indexers{name: byLabel("app")})) })
		wg.Go(func() { assert.Contains(t, indexer.GetIndexers(), "app") })
		wg.Go(func() { assert.Equal(t, []string{"a@1"}, members(t, indexer, "app", "x")) })
	}
	wg.Wait()
	assert.Len(t, indexer.GetIndexers(), 9)
	assert.Equal(t, []string{"a@1"}, members(t, indexer, "h", "x"))
}

func indexQueryError(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	_, err := indexer.Index("app", labelled("a", "1", "app", "error"))
	assert.ErrorIs(t, err, errIndex)
}

func indexQueryPanic(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	query := func() error {
		_, err := indexer.Index("app", labelled("a", "1", "app", "panic"))
		return err
	}
	if differs(t, impl, "Index returns a panic of the function as its error; client-go lets it through", true, false) {
		assert.PanicsWithValue(t, "cannot even fail", func() { _ = query() })
		return
	}
	assert.ErrorContains(t, query(), "cannot even fail")
}

// consistent checks that the indexer still works and that its index contains only stored objects.
func consistent(t *testing.T, indexer cache.Indexer) {
	t.Helper()
	require.NoError(t, indexer.Update(labelled("good", "90", "app", "x")))
	for _, value := range indexer.ListIndexFuncValues("app") {
		keys, err := indexer.IndexKeys("app", value)
		require.NoError(t, err)
		for _, key := range keys {
			obj, exists, err := indexer.GetByKey(key)
			require.NoError(t, err)
			require.True(t, exists, key)
			under, err := byApp(obj)
			require.NoError(t, err)
			assert.Contains(t, under, value, "%s is indexed by what is stored", key)
		}
	}
	assert.Contains(t, members(t, indexer, "app", "x"), "good@90")
}

// indexFailure writes objects for which the index function fails, before and after valid ones.
func indexFailure(t *testing.T, impl implementation, how, reason string) {
	bad := func(rv string) *corev1.Pod { return labelled("bad", rv, "app", how) }
	writes := map[string]func(cache.Indexer){
		"Add":     func(i cache.Indexer) { _ = i.Add(bad("2")) },
		"Update":  func(i cache.Indexer) { _ = i.Update(bad("2")) },
		"Replace": func(i cache.Indexer) { _ = i.Replace([]any{labelled("good", "3", "app", "x"), bad("4")}, "5") },
		"Transaction": func(i cache.Indexer) {
			_ = i.(cache.TransactionStore).Transaction(addTxn(bad("2")), addTxn(labelled("good", "3", "app", "x")))
		},
	}
	for name, write := range writes {
		indexer := newIndexer(impl)
		require.NoError(t, indexer.Add(labelled("good", "0", "app", "x")))
		require.NoError(t, indexer.Add(labelled("bad", "1", "app", "x")))
		if differs(t, impl, reason, true, false) {
			assert.Panics(t, func() { write(indexer) }, name)
			continue
		}
		assert.NotPanics(t, func() { write(indexer) }, name)
		consistent(t, indexer)
		require.NoError(t, indexer.Update(labelled("bad", "9", "app", "y")), name)
		assert.Equal(t, []string{"bad@9"}, members(t, indexer, "app", "y"), "%s: and recovers with the object", name)
	}
}

func indexAddError(t *testing.T, impl implementation) {
	indexer := impl.stores.indexer(keyOrRefuse, cache.Indexers{}, storeFeatures{})
	require.NoError(t, indexer.Add(labelled("bad", "1", "app", "error")))
	require.NoError(t, indexer.Add(labelled("good", "2", "app", "x")))
	attempt := func() { _ = indexer.AddIndexers(cache.Indexers{"app": byApp}) }
	if differs(t, impl, "AddIndexers survives a failing function; client-go panics with half of the objects indexed", true, false) {
		assert.Panics(t, attempt)
		return
	}
	assert.NotPanics(t, attempt)
	assert.Equal(t, []string{"bad@1", "good@2"}, sorted(indexer.List()))
	assert.Equal(t, []string{"good@2"}, members(t, indexer, "app", "x"))
	require.NoError(t, indexer.Update(labelled("bad", "3", "app", "y")))
	assert.Equal(t, []string{"bad@3"}, members(t, indexer, "app", "y"))
}
