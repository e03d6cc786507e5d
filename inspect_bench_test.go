// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// BenchmarkInspectAll inspects 1000 informers with 4 handlers, as one scrape does.
func BenchmarkInspectAll(b *testing.B) {
	ctx, cancel := context.WithCancel(b.Context())
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	for range 1000 {
		var pods []*v1.Pod
		for i := range 10 {
			pods = append(pods, testkit.PodAt(fmt.Sprint("p", i), "1"))
		}
		informer := cache.InformerFunc()(quiet(pods...), &v1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		for range 4 {
			_, err := informer.AddEventHandler(&testkit.Journal{})
			require.NoError(b, err)
		}
		group.Go(func() { informer.RunWithContext(ctx) })
		require.NoError(b, cache.WaitForSync(ctx, informer))
	}
	b.ReportAllocs()
	for b.Loop() {
		for informer := range cache.Informers() {
			_, err := cache.Inspect(informer)
			require.NoError(b, err)
		}
	}
}

// BenchmarkInspectHandlers inspects an informer with 10^4 handlers.
func BenchmarkInspectHandlers(b *testing.B) {
	informer := cache.InformerFunc()(quiet(), &v1.Pod{}, 0, nil)
	for range 10_000 {
		_, err := informer.AddEventHandler(&testkit.Journal{})
		require.NoError(b, err)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, err := cache.Inspect(informer)
		require.NoError(b, err)
	}
}

// BenchmarkInspectValues inspects an informer with 10^6 values of an index.
func BenchmarkInspectValues(b *testing.B) {
	store := cache.NewIndexer(func(obj any) (string, error) { return obj.(string), nil }, cache.Indexers{
		"each": func(obj any) ([]string, error) { return []string{obj.(string)}, nil },
	})
	var all []any
	for i := range 1_000_000 {
		all = append(all, fmt.Sprint(i))
	}
	require.NoError(b, store.Replace(all, "1"))
	b.ReportAllocs()
	for b.Loop() {
		cache.SurveyOf(store)
	}
}
