// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

func versioned(name, rv string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: rv}}
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
