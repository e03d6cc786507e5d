// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"
)

func TestIndex(t *testing.T) {
	onEach(t, []storeCase{
		{"one object under several values", indexMultiValued},
		{"updates move, deletes remove, empty values vanish", indexMaintained},
		{"Replace rebuilds", indexReplace},
		{"an unknown index is an error", indexUnknown},
		{"answers are the caller's", indexOwnership},
		{"AddIndexers reindexes what is there", indexAddLater},
		{"AddIndexers refuses names in use, all or nothing", indexConflict},
		{"AddIndexers on a store made without any", indexAddToNil},
		{"GetIndexers", indexGetIndexers},
		{"GetIndexers while indexers are added", indexGetIndexersRace},
		{"a failing function in a query is its error", indexQueryError},
		{"a panicking function in a query", indexQueryPanic},
		{"a failing function in a write", indexWriteError},
		{"a panicking function in a write", indexWritePanic},
		{"a failing function in AddIndexers", indexAddError},
		{"readers see a Replace whole or not at all", indexAtomicReplace},
		{"readers never go back", indexMonotonic},
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

func indexMultiValued(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	require.NoError(t, indexer.Add(labelled("b", "1", "app", "x,y,x")))
	require.NoError(t, indexer.Add(labelled("a", "2", "app", "y")))
	require.NoError(t, indexer.Add(pod("none", "3")))
	assert.Equal(t, []string{"b@1"}, members(t, indexer, "app", "x"), "a value named twice counts once")
	assert.Equal(t, []string{"a@2", "b@1"}, members(t, indexer, "app", "y"))
	assert.ElementsMatch(t, []string{"x", "y"}, indexer.ListIndexFuncValues("app"))
	keys, err := indexer.IndexKeys("app", "y")
	require.NoError(t, err)
	assert.Equal(t, []string{"ns/a", "ns/b"}, keys, "in order")
	objs, err := indexer.Index("app", labelled("query", "", "app", "x,y"))
	require.NoError(t, err)
	assert.Equal(t, []string{"a@2", "b@1"}, sorted(objs), "the union, each once")
	objs, err = indexer.Index("app", pod("query", ""))
	require.NoError(t, err)
	assert.Empty(t, objs)
}

func indexMaintained(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x,y")))
	require.NoError(t, indexer.Update(labelled("a", "2", "app", "y,z")))
	assert.Empty(t, members(t, indexer, "app", "x"))
	assert.Equal(t, []string{"a@2"}, members(t, indexer, "app", "y"))
	assert.ElementsMatch(t, []string{"y", "z"}, indexer.ListIndexFuncValues("app"))
	require.NoError(t, indexer.Update(labelled("a", "3", "app", "z,y")))
	assert.Equal(t, []string{"a@3"}, members(t, indexer, "app", "z"))
	require.NoError(t, indexer.Delete(cache.DeletedFinalStateUnknown{Key: "ns/a", Obj: pod("a", "1")}))
	assert.Empty(t, members(t, indexer, "app", "z"), "by what was stored, not by what the tombstone holds")
	assert.Empty(t, indexer.ListIndexFuncValues("app"))
}

func indexReplace(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	require.NoError(t, indexer.Add(labelled("old", "1", "app", "x")))
	require.NoError(t, indexer.Add(labelled("a", "2", "app", "x")))
	require.NoError(t, indexer.Replace([]any{labelled("a", "3", "app", "y"), labelled("b", "4", "app", "y,z")}, "5"))
	assert.Empty(t, members(t, indexer, "app", "x"))
	assert.Equal(t, []string{"a@3", "b@4"}, members(t, indexer, "app", "y"))
	assert.ElementsMatch(t, []string{"y", "z"}, indexer.ListIndexFuncValues("app"))
}

func indexUnknown(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	const said = "Index with name nope does not exist"
	objs, err := indexer.Index("nope", pod("a", "1"))
	assert.EqualError(t, err, said)
	assert.Nil(t, objs)
	objs, err = indexer.ByIndex("nope", "x")
	assert.EqualError(t, err, said)
	assert.Nil(t, objs)
	keys, err := indexer.IndexKeys("nope", "x")
	assert.EqualError(t, err, said)
	assert.Nil(t, keys)
	assert.Empty(t, indexer.ListIndexFuncValues("nope"))
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

func indexAddLater(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x", "tier", "t")))
	require.NoError(t, indexer.AddIndexers(cache.Indexers{"tier": byLabel("tier")}))
	assert.Equal(t, []string{"a@1"}, members(t, indexer, "tier", "t"))
	require.NoError(t, indexer.Update(labelled("a", "2", "app", "y", "tier", "u")))
	assert.Equal(t, []string{"a@2"}, members(t, indexer, "tier", "u"))
	assert.Equal(t, []string{"a@2"}, members(t, indexer, "app", "y"))
	assert.Empty(t, members(t, indexer, "tier", "t"))
	require.NoError(t, indexer.AddIndexers(nil))
}

func indexConflict(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x", "tier", "t")))
	err := indexer.AddIndexers(cache.Indexers{"tier": byLabel("tier"), "app": byLabel("tier")})
	require.EqualError(t, err, "indexer conflict: map[app:{}]")
	assert.NotContains(t, indexer.GetIndexers(), "tier")
	_, err = indexer.ByIndex("tier", "t")
	require.Error(t, err)
	assert.Equal(t, []string{"a@1"}, members(t, indexer, "app", "x"), "the old function stays")
}

func indexAddToNil(t *testing.T, impl implementation) {
	indexer := impl.stores.indexer(keyOrRefuse, nil, storeFeatures{})
	require.NoError(t, indexer.Add(labelled("a", "1", "app", "x")))
	attempt := func() { _ = indexer.AddIndexers(cache.Indexers{"app": byApp}) }
	if differs(t, impl, "a store made without indexers takes some later; client-go writes to a nil map", true, false) {
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
		assert.Contains(t, given, "tier", "and the caller's map is the store's")
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

// consistent asserts that the indexer still works and that its index names nothing that is not
// stored.
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

// indexFailure writes objects that the index function cannot take, before and after good ones.
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

func indexWriteError(t *testing.T, impl implementation) {
	indexFailure(t, impl, "error", "an index function's error leaves the store consistent; client-go panics under the lock")
}

func indexWritePanic(t *testing.T, impl implementation) {
	indexFailure(t, impl, "panic", "an index function's panic leaves the store consistent; client-go lets it through")
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
	require.NoError(t, indexer.Update(labelled("bad", "3", "app", "y")))
}

func indexAtomicReplace(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	generations := [2][]any{}
	for i, value := range []string{"x", "y"} {
		for _, name := range strings.Split("abcdefghijklmnopqrst", "") {
			generations[i] = append(generations[i], labelled(name, value, "app", value))
		}
	}
	require.NoError(t, indexer.Replace(append([]any{}, generations[0]...), "1"))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for n := range 500 {
			assert.NoError(t, indexer.Replace(append([]any{}, generations[(n+1)%2]...), "2"))
		}
	})
	for range 2 {
		wg.Go(func() { readWhole(t, indexer, stop) })
	}
	wg.Wait()
}

// readWhole asserts until stopped that every answer comes from one generation.
func readWhole(t *testing.T, indexer cache.Indexer, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		list := indexer.List()
		if !assert.Len(t, list, 20) {
			return
		}
		rv := list[0].(*corev1.Pod).ResourceVersion
		for _, obj := range list {
			if !assert.Equal(t, rv, obj.(*corev1.Pod).ResourceVersion) {
				return
			}
		}
		for _, value := range []string{"x", "y"} {
			objs, err := indexer.ByIndex("app", value)
			if !assert.NoError(t, err) || !assert.Contains(t, []int{0, 20}, len(objs)) {
				return
			}
		}
	}
}

func indexMonotonic(t *testing.T, impl implementation) {
	indexer := newIndexer(impl)
	require.NoError(t, indexer.Add(labelled("a", "0", "app", "x")))
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for n := range 2000 {
			next := labelled("a", strconv.Itoa(n+1), "app", "x")
			if n%100 == 0 {
				assert.NoError(t, indexer.Replace([]any{next}, next.ResourceVersion))
			} else {
				assert.NoError(t, indexer.Update(next))
			}
		}
	})
	for range 2 {
		wg.Go(func() { readForward(t, indexer, stop) })
	}
	wg.Wait()
}

// readForward asserts until stopped that no answer, of whatever call, is older than the one before.
func readForward(t *testing.T, indexer cache.Indexer, stop <-chan struct{}) {
	newest := 0
	reads := []func() (any, error){
		func() (any, error) { obj, _, err := indexer.GetByKey("ns/a"); return obj, err },
		func() (any, error) { return indexer.List()[0], nil },
		func() (any, error) {
			objs, err := indexer.ByIndex("app", "x")
			return objs[0], err
		},
	}
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		obj, err := reads[n%len(reads)]()
		if !assert.NoError(t, err) {
			return
		}
		rv, err := strconv.Atoi(obj.(*corev1.Pod).ResourceVersion)
		if !assert.NoError(t, err) || !assert.GreaterOrEqual(t, rv, newest) {
			return
		}
		newest = rv
	}
}
