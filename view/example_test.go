// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/view"
)

func newConfigMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Data:       map[string]string{"value": value},
	}
}

func byValue(obj any) ([]string, error) {
	return []string{obj.(*corev1.ConfigMap).Data["value"]}, nil
}

// A snapshot is the state of a store at one moment, whatever is written later.
func ExampleOf() {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	_ = store.Add(newConfigMap("a", "old"))

	snapshot, err := view.Of(store)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer snapshot.Close()
	_ = store.Update(newConfigMap("a", "new"))
	_ = store.Add(newConfigMap("b", "new"))

	obj, _ := snapshot.Get("default/a")
	fmt.Println(snapshot.Len(), obj.(*corev1.ConfigMap).Data["value"])
	fmt.Println(len(store.List()))
	// Output:
	// 1 old
	// 2
}

// The members of an index value, typed and without a copied list.
func ExampleTypedByIndex() {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{"value": byValue})
	_ = store.Add(newConfigMap("a", "1"))
	_ = store.Add(newConfigMap("b", "2"))

	members, err := view.TypedByIndex[*corev1.ConfigMap](store, "value", "2")
	if err != nil {
		fmt.Println(err)
	}
	for key, member := range members {
		fmt.Println(key, member.Data["value"])
	}
	// Output: default/b 2
}

// Reads without copying.
func ExampleAll() {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	_ = store.Add(newConfigMap("a", "1"))
	_ = store.Add(newConfigMap("b", "2"))

	var keys []string
	for key := range view.All(store) {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	fmt.Println(keys, view.Len(store))
	// Output: [default/a default/b] 2
}

// The objects with two index values, of which the rarer one is used.
func ExampleSelect() {
	store := cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		"value": byValue, cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	_ = store.Add(newConfigMap("a", "1"))
	_ = store.Add(newConfigMap("b", "2"))
	_ = store.Add(newConfigMap("c", "1"))

	snapshot, err := view.Of(store)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer snapshot.Close()
	q := view.Query{Where: []view.Term{{Index: cache.NamespaceIndex, Value: "default"}, {Index: "value", Value: "2"}}}
	found, err := view.Select[*corev1.ConfigMap](snapshot, q)
	if err != nil {
		fmt.Println(err)
		return
	}
	for key := range found {
		fmt.Println(key)
	}
	fmt.Println(snapshot.Explain(q))
	_, err = snapshot.Count(view.Query{Where: []view.Term{{Index: "node", Value: "n7"}}})
	fmt.Println(err)
	// Output:
	// default/b
	// value="2": looked at 1 objects, found 1 <nil>
	// Index with name node does not exist: the store has namespace, value
}

// All objects by name, two at a time, while the store changes.
func ExamplePage() {
	store := cache.NewStore(cache.MetaNamespaceKeyFunc)
	for _, name := range []string{"e", "d", "c", "b", "a"} {
		_ = store.Add(newConfigMap(name, "1"))
	}
	for after, done := (*view.Entry[*corev1.ConfigMap])(nil), false; !done; {
		snapshot, err := view.Of(store)
		if err != nil {
			fmt.Println(err)
			return
		}
		page, next, err := view.Page(snapshot, view.Query{}, view.ByKey[*corev1.ConfigMap], after, 2)
		snapshot.Close()
		for _, entry := range page {
			fmt.Print(entry.Key, " ")
			_ = store.Delete(entry.Object)
		}
		fmt.Println(err)
		after, done = next, next == nil
	}
	// Output:
	// default/a default/b <nil>
	// default/c default/d <nil>
	// default/e <nil>
}
