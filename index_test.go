// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgo "k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"
)

// TestNamespaceIndexByWhateverName: stores know the usual index function, and call a cheaper one in
// its place. The index is the same as with a function that they do not know.
func TestNamespaceIndexByWhateverName(t *testing.T) {
	unknown := func(obj any) ([]string, error) { return MetaNamespaceIndexFunc(obj) }
	require.Nil(t, singleValued(unknown))
	indexers := Indexers{"ours": MetaNamespaceIndexFunc, "client-go's": clientgo.MetaNamespaceIndexFunc, "unknown": unknown}
	require.NotNil(t, singleValued(indexers["ours"]))
	require.NotNil(t, singleValued(indexers["client-go's"]))

	object := rapid.Custom(func(t *rapid.T) any {
		name := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name")
		if name == "d" {
			return struct{ Name string }{name} // without metadata
		}
		namespace := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "namespace")
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	})
	name := func(obj any) (string, error) {
		if pod, ok := obj.(*corev1.Pod); ok {
			return pod.Name, nil // the same in all namespaces, so that objects move
		}
		return "d", nil
	}
	rapid.Check(t, func(t *rapid.T) {
		store := NewIndexer(name, indexers, OnIndexFailure(func(IndexFailure) {}))
		t.Repeat(map[string]func(*rapid.T){
			"add":    func(t *rapid.T) { require.NoError(t, store.Add(object.Draw(t, "object"))) },
			"delete": func(t *rapid.T) { require.NoError(t, store.Delete(object.Draw(t, "object"))) },
			"replace": func(t *rapid.T) {
				require.NoError(t, store.Replace(rapid.SliceOfN(object, 0, 6).Draw(t, "objects"), ""))
			},
			"": func(t *rapid.T) {
				for _, index := range []string{"ours", "client-go's"} {
					assert.ElementsMatch(t, store.ListIndexFuncValues("unknown"), store.ListIndexFuncValues(index))
					for _, namespace := range []string{"", "x", "y"} {
						want, err := store.ByIndex("unknown", namespace)
						require.NoError(t, err)
						got, err := store.ByIndex(index, namespace)
						require.NoError(t, err)
						assert.ElementsMatch(t, want, got)
					}
				}
				failures, _ := IndexFailures(store)
				assert.Equal(t, failures["unknown"], failures["ours"])
			},
		})
	})
}
