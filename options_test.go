// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	framework "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// testkit.Gauges is a metrics provider that keeps the last value of each gauge.
func TestInformerFuncPassesItsOptionsOn(t *testing.T) {
	t.Cleanup(cache.ResetInformerNamesForTesting)
	name, err := cache.NewInformerName("options")
	require.NoError(t, err)
	id := name.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	metrics := &testkit.Gauges{}
	newInformer := cache.InformerFunc(cache.WithIdentifier(id, metrics))

	source := framework.NewFakeControllerSource()
	defer source.Shutdown()
	informer := newInformer(source, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	require.NoError(t, informer.GetStore().Add(versioned("a", "12")))
	assert.EqualValues(t, 12, metrics.Version.Last)
	found, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "")
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

func TestQueueMetrics(t *testing.T) {
	t.Cleanup(cache.ResetInformerNamesForTesting)
	name, err := cache.NewInformerName("queue")
	require.NoError(t, err)
	metrics := &testkit.Gauges{}
	q := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{
		KeyFunction: itemKey, AtomicEvents: true, EmitDeltaTypeBookmark: true, MetricsProvider: metrics,
		Identifier: name.WithResource(schema.GroupVersionResource{Resource: "items"}),
	})
	require.NoError(t, q.Add(item{"a", 1}))
	require.NoError(t, q.Bookmark("9"))
	assert.EqualValues(t, 2, metrics.Depth.Last, "bookmarks count")
	_, err = q.Pop(take)
	require.NoError(t, err)
	assert.EqualValues(t, 1, metrics.Depth.Last)
	assert.EqualValues(t, 1, metrics.Latencies.Last)
	assert.Equal(t, "queue", q.Name())
}
