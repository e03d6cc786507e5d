// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
)

// byContents indexes the ConfigMaps of the examples by what they say.
func byContents(obj any) ([]string, error) {
	value := obj.(*corev1.ConfigMap).Data["value"]
	if value == "" {
		return nil, errors.New("there is no value")
	}
	return []string{value}, nil
}

// An index function that fails for an object: the object is in the store and not in the index.
func ExampleOnIndexFailure() {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"value": byContents},
		cache.OnIndexFailure(func(f cache.IndexFailure) { fmt.Println(f.Index, f.Key, f.Err) }))
	_ = store.Add(newConfigMap("a", ""))

	failures, ok := cache.IndexFailures(store)
	fmt.Println(store.ListKeys(), store.ListIndexFuncValues("value"), failures, ok)
	// Output:
	// value default/a there is no value
	// [default/a] [] map[value:1] true
}

// The members of an index value, with their type and without a copied list.
func ExampleTypedByIndexSeq() {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"value": byContents})
	_ = store.Add(newConfigMap("a", "1"))
	_ = store.Add(newConfigMap("b", "2"))

	members, err := cache.TypedByIndexSeq[*corev1.ConfigMap](store, "value", "2")
	if err != nil {
		fmt.Println(err)
	}
	for key, member := range members {
		fmt.Println(key, member.Data["value"])
	}
	// Output: default/b 2
}

// A list that is taken again and again, always into the same memory.
func ExampleListInto() {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	_ = store.Add(newConfigMap("a", "1"))
	_ = store.Add(newConfigMap("b", "2"))

	var list []any
	for range 3 {
		list = cache.ListInto(store, list[:0])
	}
	fmt.Println(len(list))
	// Output: 2
}

// What open snapshots keep in memory: the version that has been replaced.
func ExampleSnapshotStatsOf() {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	_ = store.Add(newConfigMap("a", "1"))

	snapshot, err := cache.SnapshotOf(store)
	if err != nil {
		fmt.Println(err)
	}
	_ = store.Update(newConfigMap("a", "2"))
	stats, ok := cache.SnapshotStatsOf(store)
	fmt.Println(stats.Open, stats.Kept, ok)

	snapshot.Close() // soon after that, what was kept is garbage
	stats, ok = cache.SnapshotStatsOf(store)
	fmt.Println(stats.Open, ok)
	// Output:
	// 1 1 true
	// 0 true
}
