// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

// byValue indexes an item under its value modulo 3 and 5; for some values it returns nothing, and for
// some it fails, by an error or a panic.
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

// TestReadsGoOnWhileAnIndexFunctionBlocks: during any write, regardless of its duration, every read
// returns at once, with the state before the write.
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
			snapshot, err := view.Of(indexer)
			require.NoError(t, err)
			defer snapshot.Close()
			requireFormerSnapshot(t, snapshot)

			close(gate.release)
			require.NoError(t, <-done)
			requireFormerSnapshot(t, snapshot)
		})
	}
}

// blockingIndex indexes all items under "all", and blocks at the first item with value 2.
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

// requireFormerState requires that all reads of an indexer return a and b with value 1.
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
	keys(sortedKeys(view.All(indexer)), nil)
	members, err := view.ByIndex(indexer, "slow", "all")
	keys(sortedKeys(members), err)
	require.Equal(t, 2, view.Len(indexer))
	n, err := view.Count(indexer, "slow", "all")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	require.Equal(t, []string{"all"}, indexer.ListIndexFuncValues("slow"))
	require.Len(t, indexer.GetIndexers(), 1)
	require.Equal(t, "7", indexer.LastStoreSyncResourceVersion())
	_, err = indexer.ByIndex("late", "all")
	require.Error(t, err)
}

// requireFormerSnapshot is requireFormerState for a snapshot.
func requireFormerSnapshot(t *testing.T, s *view.Snapshot) {
	t.Helper()
	obj, exists := s.Get("a")
	require.True(t, exists)
	require.Equal(t, item{"a", 1}, obj)
	_, exists = s.Get("c")
	require.False(t, exists)
	require.Equal(t, "7", s.ResourceVersion())
	require.Equal(t, 2, s.Len())
	require.Equal(t, map[string]any{"a": item{"a", 1}, "b": item{"b", 1}}, maps.Collect(s.All()))
	found, err := s.ByIndex("slow", "all")
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, sortedKeys(found))
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

// TestNilPointersAreNoObjects: nil pointers are refused like nil itself, and change nothing.
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
	for _, q := range []cache.Queue{
		cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{}), cache.AtomicFIFO(),
	} {
		for name, err := range map[string]error{
			"Add": q.Add(none), "Update": q.Update(none), "Delete": q.Delete(none), "Replace": q.Replace([]any{none}, "1"),
		} {
			assert.ErrorIs(t, err, event.ErrNilObject, "%T %s", q, name)
		}
	}
	bad := cache.NewStore(func(any) (string, error) { return "k", nil }) // a key function of the program's own
	assert.ErrorIs(t, bad.Add(none), event.ErrNilObject)
	assert.ErrorIs(t, bad.Replace([]any{none}, "1"), event.ErrNilObject)
}

// TestIndexOfNil: as in client-go, index functions are not called for a nil object.
func TestIndexOfNil(t *testing.T) {
	calls := 0
	s := cache.NewThreadSafeStore(cache.Indexers{"x": func(any) ([]string, error) { calls++; return []string{"v"}, nil }}, cache.Indices{})
	s.Add("a", nil)
	s.Update("a", 1)
	s.Update("a", nil)
	keys, err := s.IndexKeys("x", "v")
	require.NoError(t, err)
	assert.Empty(t, keys)
	assert.Equal(t, 1, calls)
}

// TestNilOptionOfAStore: the text of the panic names the position of the option.
func TestNilOptionOfAStore(t *testing.T) {
	const second = "option 2 of 2 is nil: leave it out"
	assert.PanicsWithValue(t, "NewStore or NewIndexer: "+second, func() { cache.NewStore(itemKey, cache.WithTransformer(nil), nil) })
	assert.PanicsWithValue(t, "NewStore or NewIndexer: "+second, func() { cache.NewIndexer(itemKey, nil, cache.WithTransformer(nil), nil) })
	assert.PanicsWithValue(t, "NewThreadSafeStore: "+second, func() {
		cache.NewThreadSafeStore(nil, nil, cache.WithThreadSafeStoreMetrics(cache.InformerNameAndResource{}, nil), nil)
	})
}

// bothStores returns stores of this package and of client-go with even and odd items.
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
		assert.Equal(t, all, maps.Collect(view.All(s)), name)
		assert.Equal(t, 3, view.Len(s), name)
		n, err := view.Count(s, "parity", "odd")
		require.NoError(t, err)
		assert.Equal(t, 2, n, name)
		members, err := view.ByIndex(s, "parity", "odd")
		require.NoError(t, err)
		assert.Equal(t, []string{"a", "c"}, sortedKeys(members), name)

		_, err = view.Count(s, "none", "")
		assert.Error(t, err, name)
		_, err = view.ByIndex(s, "none", "")
		assert.Error(t, err, name)
		for range view.All(s) {
			break
		}

		assert.Equal(t, map[string]item{"a": {"a", 1}, "b": {"b", 2}, "c": {"c", 3}}, maps.Collect(view.TypedAll[item](s)), name)
		assert.Empty(t, maps.Collect(view.TypedAll[string](s)), name)
		even, err := view.TypedByIndex[item](s, "parity", "even")
		require.NoError(t, err)
		assert.Equal(t, []string{"b"}, sortedKeys(even), name)
		it, ok := view.TypedGet[item](s, "b")
		assert.True(t, ok, name)
		assert.Equal(t, 2, it.value, name)
		_, ok = view.TypedGet[string](s, "b")
		assert.False(t, ok, name)
		_, ok = view.TypedGet[item](s, "none")
		assert.False(t, ok, name)
	}
}

func sortedKeys[V any](seq iter.Seq2[string, V]) []string {
	return slices.Sorted(maps.Keys(maps.Collect(seq)))
}

// TestTypedReadsOfPointersReportTheType: the compiler refuses most types that are not pointers;
// for the others each read reports once why it finds nothing.
func TestTypedReadsOfPointersReportTheType(t *testing.T) {
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
		for range view.TypedAll[item](s) {
			t.Error("there is none of this type")
		}
		said()
		members, err := view.TypedByIndex[item](s, "all", "")
		require.NoError(t, err)
		assert.Empty(t, maps.Collect(members), name)
		said()
		_, ok := view.TypedGet[item](s, "a")
		assert.False(t, ok, name)
		said()

		assert.Len(t, maps.Collect(view.TypedAll[*item](s)), 2, name)
		assert.Empty(t, maps.Collect(view.TypedAll[string](s)), name)
		_, ok = view.TypedGet[item](s, "none")
		assert.False(t, ok, name)
		assert.Len(t, reported(), heard, "a store may hold objects of other types")
	}
}

// TestIndexFailureHook: the hook takes the place of the report, and is called without a lock.
func TestIndexFailureHook(t *testing.T) {
	reported := testkit.Reports(t)
	var s cache.Indexer
	var hooked []kinformer.IndexFailure
	informer := kinformer.New(testkit.NewPods(), &corev1.Pod{}, kinformer.Options{
		Indexers: cache.Indexers{"value": func(obj any) ([]string, error) { return nil, errors.New("none") }},
		OnIndexFailure: func(f kinformer.IndexFailure) {
			hooked = append(hooked, f)
			_, _, _ = s.GetByKey(f.Key)
		},
	})
	s = informer.GetIndexer()
	require.NoError(t, s.Add(testkit.PodAt("a", "7")))
	require.Len(t, hooked, 1)
	assert.Equal(t, "value", hooked[0].Index)
	assert.Equal(t, "a@7", testkit.NameAt(hooked[0].Object))
	assert.Empty(t, reported())
}

// TestPulledLoopsHoldTheirState: a loop with iter.Pull yields the state at its beginning, and keeps it
// until it is stopped.
func TestPulledLoopsHoldTheirState(t *testing.T) {
	s := cache.NewIndexer(itemKey, cache.Indexers{"value": byValue})
	require.NoError(t, s.Replace([]any{item{"a", 1}, item{"b", 1}}, ""))
	members, err := view.ByIndex(s, "value", "3:1")
	require.NoError(t, err)
	for name, loop := range map[string]iter.Seq2[string, any]{"All": view.All(s), "ByIndexSeq": members} {
		next, stop := iter.Pull2(loop)
		first, _, _ := next()
		require.NoError(t, s.Replace(nil, ""))
		second, _, ok := next()
		assert.True(t, ok, name)
		assert.ElementsMatch(t, []string{"a", "b"}, []string{first, second}, name)
		stats := beside.TableOf(s).Snapshots()
		assert.Equal(t, 1, stats.Open, name)
		stop()
		stats = beside.TableOf(s).Snapshots()
		assert.Zero(t, stats.Open, name)
		require.NoError(t, s.Replace([]any{item{"a", 1}, item{"b", 1}}, ""))
	}
}

// FuzzResourceVersions gives a store arbitrary resourceVersions: it accepts all, never fails, and its
// own version never decreases among comparable ones.
func FuzzResourceVersions(f *testing.F) {
	for _, versions := range [][3]string{
		{"1", "2", "10"}, {"10", "9", ""}, {"0", "", "00"}, {"-1", "+1", "1e3"}, {"18446744073709551615", "18446744073709551616", "9"},
		{"340282366920938463463374607431768211456", "x", "٣"},
	} {
		f.Add(versions[0], versions[1], versions[2])
	}
	f.Fuzz(func(t *testing.T, a, b, c string) {
		s := cache.NewStore(cache.MetaNamespaceKeyFunc)
		require.NoError(t, s.Replace([]any{testkit.PodIn("default", "a", a)}, a))
		require.Equal(t, a, s.LastStoreSyncResourceVersion())
		for i, step := range []func(){
			func() { require.NoError(t, s.Add(testkit.PodIn("default", "b", b))) },
			func() { s.Bookmark(c) },
			func() { require.NoError(t, s.Update(testkit.PodIn("default", "a", c))) },
			func() { require.NoError(t, s.Delete(testkit.PodIn("default", "b", b))) },
		} {
			before := s.LastStoreSyncResourceVersion()
			step()
			order, err := resourceversion.CompareResourceVersion(before, s.LastStoreSyncResourceVersion())
			require.False(t, err == nil && order > 0, "step %d: from %q to %q", i, before, s.LastStoreSyncResourceVersion())
		}
		require.Equal(t, []string{"default/a"}, s.ListKeys())
	})
}

// TestNilFunctionsOfStores: each write returns an error that names the missing function, and none
// panics.
func TestNilFunctionsOfStores(t *testing.T) {
	s := cache.NewStore(nil)
	for name, write := range map[string]func(any) error{
		"add": s.Add, "update": s.Update, "delete": s.Delete,
		"replace": func(obj any) error { return s.Replace([]any{obj}, "1") },
		"get":     func(obj any) error { _, _, err := s.Get(obj); return err },
		"transaction": func(obj any) error {
			return s.(cache.TransactionStore).Transaction(cache.Transaction{Type: cache.TransactionTypeAdd, Object: obj}).Errors[0]
		},
		"undelta": cache.NewUndeltaStore(func([]any) {}, nil).Add,
	} {
		assert.ErrorIs(t, write(testkit.PodAt("a", "1")), cache.ErrNoKeyFunc, name)
	}
	assert.Empty(t, s.List())

	said := testkit.Reports(t)
	indexed := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"bad": nil})
	require.NoError(t, indexed.Add(testkit.PodAt("a", "1")))
	assert.Len(t, indexed.List(), 1)
	if lines := said(); assert.Len(t, lines, 1) {
		assert.Contains(t, lines[0], `on index "bad": index function is nil`)
	}
	err := indexed.AddIndexers(cache.Indexers{"good": cache.MetaNamespaceIndexFunc, "worse": nil})
	require.ErrorIs(t, err, cache.ErrNilIndexFunc)
	assert.ErrorContains(t, err, `Indexers["worse"]`)
	assert.Len(t, indexed.GetIndexers(), 1, "all or nothing")
	assert.ErrorIs(t, cache.NewSharedIndexInformer(nil, &corev1.Pod{}, 0, nil).AddIndexers(cache.Indexers{"worse": nil}), cache.ErrNilIndexFunc)
}
