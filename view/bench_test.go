// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package view_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/view"
)

// BenchmarkQueries queries 100,000 pods for those in a namespace and on a node, and for a page of 100 in the
// order of keys, beside equivalent code with client-go: the algorithm of controller-runtime's cache for
// fields, and a part of the sorted keys.
func BenchmarkQueries(b *testing.B) {
	const size = 100
	p, err := workload.New(b.Context(), workload.Config{N: 100_000, Light: true})
	require.NoError(b, err)
	indexers := cache.Indexers{"namespace": cache.MetaNamespaceIndexFunc, "node": func(obj any) ([]string, error) {
		return []string{obj.(*corev1.Pod).Spec.NodeName}, nil
	}}
	var theirs, ours cache.Indexer = clientgo.NewIndexer(cache.MetaNamespaceKeyFunc, indexers), cache.NewIndexer(cache.MetaNamespaceKeyFunc, indexers)
	for _, pod := range p.Pods {
		require.NoError(b, theirs.Add(pod))
		require.NoError(b, ours.Add(pod))
	}
	last := p.Pods[len(p.Pods)-1]
	middle := slices.Sorted(slices.Values(p.Keys))[len(p.Keys)/2]
	snapshot, err := view.Of(ours)
	require.NoError(b, err)
	defer snapshot.Close()
	for name, ask := range map[string]func() (found int, err error){
		"terms/ours": func() (found int, err error) {
			pods, err := view.Select[*corev1.Pod](snapshot, view.Query{Where: []view.Term{
				{Index: "namespace", Value: last.Namespace}, {Index: "node", Value: last.Spec.NodeName},
			}})
			for range pods {
				found++
			}
			return found, err
		},
		"terms/client-go": func() (int, error) {
			found, err := theirs.ByIndex("namespace", last.Namespace)
			return len(slices.DeleteFunc(found, func(obj any) bool {
				nodes, err := indexers["node"](obj)
				return err != nil || !slices.Contains(nodes, last.Spec.NodeName)
			})), err
		},
		"page/ours": func() (int, error) {
			page, _, err := view.Page(snapshot, view.Query{}, view.ByKey[*corev1.Pod], &view.Entry[*corev1.Pod]{Key: middle}, size)
			return len(page), err
		},
		"page/client-go": func() (found int, err error) {
			keys := slices.Sorted(slices.Values(theirs.ListKeys()))
			first, _ := slices.BinarySearch(keys, middle)
			for _, key := range keys[first+1:][:size] {
				if _, exists, err := theirs.GetByKey(key); exists && err == nil {
					found++
				}
			}
			return found, nil
		},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if found, err := ask(); err != nil || found == 0 {
					b.Fatal(found, err)
				}
			}
		})
	}
}
