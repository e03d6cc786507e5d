// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"pgregory.net/rapid"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
)

// byValue indexes an item under its value modulo 3 and 5; some values have none, and some fail one
// way or the other.
func byValue(obj any) ([]string, error) {
	switch v := obj.(item).value; {
	case v%10 == 7:
		return nil, errors.New("no value")
	case v%10 == 8:
		panic("cannot look at it")
	case v%10 == 9:
		return nil, nil
	default:
		return []string{fmt.Sprintf("3:%d", v%3), fmt.Sprintf("5:%d", v%5)}, nil
	}
}

// valuesOf is byValue for the model: what fails has no values.
func valuesOf(it item) []string {
	if it.value%10 >= 7 {
		return nil
	}
	return []string{fmt.Sprintf("3:%d", it.value%3), fmt.Sprintf("5:%d", it.value%5)}
}

// storeModel is a store in its plainest form.
type storeModel map[string]item

func (m storeModel) under(value string) (keys []string) {
	for key, it := range m {
		if slices.Contains(valuesOf(it), value) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

func (m storeModel) values() sets.Set[string] {
	all := sets.New[string]()
	for _, it := range m {
		all.Insert(valuesOf(it)...)
	}
	return all
}

func (m storeModel) check(t require.TestingT, indexer cache.Indexer, indexed bool) {
	require.ElementsMatch(t, slices.Collect(maps.Keys(m)), indexer.ListKeys())
	require.ElementsMatch(t, anyOf(slices.Collect(maps.Values(m))), indexer.List())
	if !indexed {
		return
	}
	require.Equal(t, m.values(), sets.New(indexer.ListIndexFuncValues("value")...))
	for value := range m.values().Insert("absent") {
		keys, err := indexer.IndexKeys("value", value)
		require.NoError(t, err)
		require.ElementsMatch(t, m.under(value), keys)
		objects, err := indexer.ByIndex("value", value)
		require.NoError(t, err)
		require.Len(t, objects, len(keys))
		for _, obj := range objects {
			require.Equal(t, m[obj.(item).key], obj)
		}
	}
}

func TestIndexerAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		indexer, model, indexed := cache.NewIndexer(itemKey, cache.Indexers{}), storeModel{}, false
		put := func(t *rapid.T) {
			it := drawItem.Draw(t, "item")
			require.NoError(t, indexer.Add(it))
			model[it.key] = it
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": put,
			"delete": func(t *rapid.T) {
				it := drawItem.Draw(t, "item")
				require.NoError(t, indexer.Delete(it))
				delete(model, it.key)
			},
			"replace": func(t *rapid.T) {
				items := drawItems.Draw(t, "list")
				require.NoError(t, indexer.Replace(anyOf(items), ""))
				clear(model)
				for _, it := range items {
					model[it.key] = it
				}
			},
			"transaction": func(t *rapid.T) {
				var transactions []cache.Transaction
				for _, it := range drawItems.Draw(t, "changes") {
					typ := rapid.SampledFrom([]cache.TransactionType{cache.TransactionTypeAdd, cache.TransactionTypeUpdate, cache.TransactionTypeDelete}).Draw(t, "type")
					transactions = append(transactions, cache.Transaction{Object: it, Type: typ})
					if model[it.key] = it; typ == cache.TransactionTypeDelete {
						delete(model, it.key)
					}
				}
				require.Nil(t, indexer.(cache.TransactionStore).Transaction(transactions...))
			},
			"addIndexers": func(t *rapid.T) {
				err := indexer.AddIndexers(cache.Indexers{"value": byValue})
				require.Equal(t, indexed, err != nil, "a name that exists is refused")
				indexed = true
			},
			"index": func(t *rapid.T) {
				it := drawItem.Draw(t, "item")
				found, err := indexer.Index("value", it)
				if !indexed || it.value%10 == 7 || it.value%10 == 8 {
					require.Error(t, err)
					return
				}
				require.NoError(t, err)
				want := sets.New[string]()
				for _, value := range valuesOf(it) {
					want.Insert(model.under(value)...)
				}
				require.Len(t, found, want.Len(), "each object once")
			},
			"": func(t *rapid.T) { model.check(t, indexer, indexed) },
		})
	})
}

func TestStoreErrorsLeaveItAsItWas(t *testing.T) {
	store := cache.NewStore(itemKey, cache.WithTransformer(func(obj any) (any, error) {
		if obj.(item).value < 0 {
			return nil, errNoItem
		}
		return item{key: obj.(item).key, value: obj.(item).value + 1}, nil
	}))
	require.NoError(t, store.Add(item{"a", 1}))
	var keyError cache.KeyError
	for name, call := range map[string]func(obj any) error{
		"Add": store.Add, "Update": store.Update, "Delete": store.Delete,
		"Get":     func(obj any) error { _, _, err := store.Get(obj); return err },
		"Replace": func(obj any) error { return store.Replace([]any{item{"b", 1}, obj}, "9") },
	} {
		assert.ErrorAs(t, call("no item"), &keyError, name)
		assert.ErrorIs(t, call(nil), event.ErrNilObject, name)
	}
	assert.ErrorIs(t, store.Add(item{"b", -1}), errNoItem)
	assert.ErrorIs(t, store.Replace([]any{item{"b", -1}}, "9"), errNoItem)
	assert.Equal(t, []any{item{"a", 2}}, store.List())
	assert.Empty(t, store.LastStoreSyncResourceVersion())

	err := store.(cache.TransactionStore).Transaction(
		cache.Transaction{Object: item{"c", 1}, Type: cache.TransactionTypeAdd},
		cache.Transaction{Object: nil, Type: cache.TransactionTypeAdd},
		cache.Transaction{Object: item{"a", 0}, Type: cache.TransactionTypeDelete})
	require.NotNil(t, err)
	assert.Equal(t, []int{0, 2}, err.SuccessfulIndices)
	assert.Equal(t, 3, err.TotalTransactions)
	require.Len(t, err.Errors, 1)
	assert.ErrorIs(t, err.Errors[0], event.ErrNilObject)
	assert.Equal(t, []any{item{"c", 1}}, store.List(), "the others are applied")
	runtime.GC()
	runtime.GC() // no memory of earlier transactions is left
	err = store.(cache.TransactionStore).Transaction(cache.Transaction{Type: cache.TransactionTypeAdd})
	require.NotNil(t, err)
	assert.Equal(t, []int{}, err.SuccessfulIndices, "as client-go's, not nil")
}

func TestGetIndexersIsACopy(t *testing.T) {
	given := cache.Indexers{"value": byValue}
	store := cache.NewThreadSafeStore(given, cache.Indices{})
	delete(given, "value")
	store.GetIndexers()["other"] = byValue
	assert.Len(t, store.GetIndexers(), 1)
	_, err := store.ByIndex("other", "")
	assert.ErrorContains(t, err, "other")
	assert.ErrorContains(t, store.AddIndexers(cache.Indexers{"value": byValue, "new": byValue}), "value")
	assert.Len(t, store.GetIndexers(), 1, "all names must be new")
}

func versioned(name, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: rv}}
}

func TestStoreVersionOnlyGrowsButForReplace(t *testing.T) {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil)
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { _ = store.Add(versioned("a", "5")) }, "5"},
		{func() { _ = store.Update(versioned("a", "3")) }, "5"},
		{func() { _ = store.Update(versioned("a", "10")) }, "10"},
		{func() { _ = store.Delete(versioned("a", "11")) }, "11"},
		{func() { _ = store.Delete(cache.DeletedFinalStateUnknown{Key: "a"}) }, "11"},
		{func() { store.Bookmark("7") }, "11"},
		{func() { store.Bookmark("12") }, "12"},
		{func() { _ = store.Replace(nil, "4") }, "4"},
		{func() {
			store.(cache.TransactionStore).Transaction(
				cache.Transaction{Object: versioned("b", "9"), Type: cache.TransactionTypeAdd},
				cache.Transaction{Object: versioned("c", "8"), Type: cache.TransactionTypeAdd})
		}, "9"},
		{func() { store.Bookmark("not-a-number") }, "not-a-number"},
	} {
		step.do()
		assert.Equal(t, step.want, store.LastStoreSyncResourceVersion())
	}
}

// TestReadsGoOnWhileAnIndexFunctionBlocks: whatever a write is busy with, and however long, every
// read answers at once, and from the state before it.
func TestReadsGoOnWhileAnIndexFunctionBlocks(t *testing.T) {
	for name, write := range map[string]func(i cache.Indexer, slow cache.IndexFunc) error{
		"Add":    func(i cache.Indexer, _ cache.IndexFunc) error { return i.Add(item{"c", 2}) },
		"Update": func(i cache.Indexer, _ cache.IndexFunc) error { return i.Update(item{"a", 2}) },
		"Replace": func(i cache.Indexer, _ cache.IndexFunc) error {
			return i.Replace([]any{item{"a", 2}, item{"c", 2}}, "9")
		},
		"Transaction": func(i cache.Indexer, _ cache.IndexFunc) error {
			if failed := i.(cache.TransactionStore).Transaction(
				cache.Transaction{Object: item{"b", 0}, Type: cache.TransactionTypeDelete},
				cache.Transaction{Object: item{"a", 2}, Type: cache.TransactionTypeUpdate},
				cache.Transaction{Object: item{"c", 2}, Type: cache.TransactionTypeAdd},
			); failed != nil {
				return failed
			}
			return nil
		},
		"AddIndexers": func(i cache.Indexer, slow cache.IndexFunc) error {
			return i.AddIndexers(cache.Indexers{"late": func(any) ([]string, error) { return slow(item{"", 2}) }})
		},
	} {
		t.Run(name, func(t *testing.T) {
			gate := blockingIndex{entered: make(chan struct{}), release: make(chan struct{})}
			indexer := cache.NewIndexer(itemKey, cache.Indexers{"slow": gate.index})
			require.NoError(t, indexer.Replace([]any{item{"a", 1}, item{"b", 1}}, "7"))
			done := make(chan error, 1)
			go func() { done <- write(indexer, gate.index) }()
			<-gate.entered

			requireFormerState(t, indexer)
			snapshot, err := cache.SnapshotOf(indexer)
			require.NoError(t, err)
			defer snapshot.Close()
			requireFormerSnapshot(t, snapshot)

			close(gate.release)
			require.NoError(t, <-done)
			requireFormerSnapshot(t, snapshot)
		})
	}
}

// blockingIndex files everything under "all", and waits at the first object of value 2.
type blockingIndex struct {
	once             sync.Once
	entered, release chan struct{}
}

func (b *blockingIndex) index(obj any) ([]string, error) {
	if obj.(item).value == 2 {
		b.once.Do(func() { close(b.entered); <-b.release })
	}
	return []string{"all"}, nil
}

// requireFormerState asks an indexer everything that can be asked; it holds a and b of value 1.
func requireFormerState(t *testing.T, indexer cache.Indexer) {
	t.Helper()
	a, b := item{"a", 1}, item{"b", 1}
	objects := func(found []any, err error) {
		t.Helper()
		require.NoError(t, err)
		require.ElementsMatch(t, []any{a, b}, found)
	}
	keys := func(found []string, err error) {
		t.Helper()
		require.NoError(t, err)
		require.ElementsMatch(t, []string{"a", "b"}, found)
	}
	obj, exists, err := indexer.GetByKey("a")
	require.NoError(t, err)
	require.True(t, exists)
	require.Equal(t, a, obj)
	obj, _, err = indexer.Get(item{"b", 5})
	require.NoError(t, err)
	require.Equal(t, b, obj)
	_, exists, err = indexer.GetByKey("c")
	require.NoError(t, err)
	require.False(t, exists)

	objects(indexer.List(), nil)
	objects(cache.ListInto(indexer, nil), nil)
	objects(indexer.ByIndex("slow", "all"))
	objects(indexer.Index("slow", item{"x", 1}))
	keys(indexer.ListKeys(), nil)
	keys(indexer.IndexKeys("slow", "all"))
	keys(sortedKeys(cache.All(indexer)), nil)
	members, err := cache.ByIndexSeq(indexer, "slow", "all")
	keys(sortedKeys(members), err)
	require.Equal(t, 2, cache.Len(indexer))
	n, err := cache.Count(indexer, "slow", "all")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"all"}, indexer.ListIndexFuncValues("slow"))
	require.Len(t, indexer.GetIndexers(), 1)
	require.Equal(t, "7", indexer.LastStoreSyncResourceVersion())
	_, err = indexer.ByIndex("late", "all")
	require.Error(t, err)
}

// requireFormerSnapshot is requireFormerState for a snapshot.
func requireFormerSnapshot(t *testing.T, s cache.Snapshot) {
	t.Helper()
	obj, exists := s.Get("a")
	require.True(t, exists)
	require.Equal(t, item{"a", 1}, obj)
	_, exists = s.Get("c")
	require.False(t, exists)
	require.Equal(t, "7", s.ResourceVersion())
	require.Equal(t, 2, s.Len())
	require.ElementsMatch(t, []any{item{"a", 1}, item{"b", 1}}, s.List())
	found, err := s.ByIndex("slow", "all")
	require.NoError(t, err)
	require.ElementsMatch(t, []any{item{"a", 1}, item{"b", 1}}, found)
	require.Equal(t, []string{"a", "b"}, sortedKeys(s.All()))
	_, err = s.ByIndex("late", "all")
	require.Error(t, err)
}

func TestUndeltaStorePushesItsContent(t *testing.T) {
	var pushed [][]any
	store := cache.NewUndeltaStore(func(all []any) { pushed = append(pushed, all) }, itemKey)
	require.NoError(t, store.Add(item{"a", 1}))
	require.NoError(t, store.Delete(item{"a", 1}))
	assert.Error(t, store.Add(nil))
	assert.Equal(t, [][]any{{item{"a", 1}}, {}}, pushed)
}

// TestNilPointersAreNoObjects: they are refused like nil itself, and change nothing.
func TestNilPointersAreNoObjects(t *testing.T) {
	s := cache.NewStore(cache.MetaNamespaceKeyFunc)
	require.NoError(t, s.Add(testkit.Pod("a", "1")))
	none := (*corev1.Pod)(nil)
	for name, call := range map[string]func() error{
		"Add":     func() error { return s.Add(none) },
		"Update":  func() error { return s.Update(none) },
		"Delete":  func() error { return s.Delete(none) },
		"Replace": func() error { return s.Replace([]any{testkit.Pod("b", "1"), none}, "2") },
	} {
		var keyError cache.KeyError
		require.ErrorAs(t, call(), &keyError, name)
		assert.ErrorIs(t, keyError.Err, event.ErrNilObject, name)
		assert.Equal(t, []string{"ns/a"}, s.ListKeys(), name)
	}
}

// TestNilOptionOfAStore is refused with a text that says which one it is.
func TestNilOptionOfAStore(t *testing.T) {
	const second = "option 2 of 2 is nil: leave it out"
	assert.PanicsWithValue(t, "NewStore or NewIndexer: "+second, func() { cache.NewStore(itemKey, cache.WithTransformer(nil), nil) })
	assert.PanicsWithValue(t, "NewStore or NewIndexer: "+second, func() { cache.NewIndexer(itemKey, nil, cache.WithTransformer(nil), nil) })
	assert.PanicsWithValue(t, "NewThreadSafeStore: "+second, func() {
		cache.NewThreadSafeStore(nil, nil, cache.WithThreadSafeStoreMetrics(cache.InformerNameAndResource{}, nil), nil)
	})
}
