// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom

import (
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

var podResource = corev1.SchemeGroupVersion.WithResource("pods")

// TestInformerMetrics: client-go's metrics of informers of ours and of client-go, under the usual
// names, and none of those whose name was released.
func TestInformerMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewInformerMetrics()
		registry := registered(t, m)
		assert.Empty(t, exposition(t, registry))
		ours, err := cache.NewInformerName("ours")
		require.NoError(t, err)
		theirs, err := cache.NewInformerName("theirs")
		require.NoError(t, err)
		defer theirs.Release()
		identity := ours.WithResource(podResource)
		follow(t, serving(testkit.PodAt("a", "1")), nil, nil, cache.WithIdentifier(identity, m))
		store := clientgo.NewThreadSafeStore(nil, nil, clientgo.WithThreadSafeStoreMetrics(theirs.WithResource(podResource), m))
		store.Replace(nil, "7")
		twice := m.NewQueuedItemMetric(theirs.WithResource(podResource))
		twice.Set(100) // it is another one's
		synctest.Wait()

		problems, err := testutil.GatherAndLint(registry)
		require.NoError(t, err)
		assert.Empty(t, problems)
		families := parsed(t, exposition(t, registry))
		assert.Len(t, families, 3)
		versions := families["informer_store_resource_version"].Metric
		require.Len(t, versions, 2)
		assert.Equal(t, 5.0, versions[0].GetGauge().GetValue())
		assert.Equal(t, 7.0, versions[1].GetGauge().GetValue())
		assert.Equal(t, "group", versions[0].Label[0].GetName())
		assert.Equal(t, "ours", versions[0].Label[1].GetValue())
		require.Len(t, families["informer_queued_items"].Metric, 1)
		assert.Equal(t, uint64(1), families["informer_processing_latency_seconds"].Metric[0].GetHistogram().GetSampleCount())

		ours.Release()
		m.NewQueuedItemMetric(identity).Set(1)
		m.NewProcessingLatencyMetric(identity).Observe(1)
		families = parsed(t, exposition(t, registry))
		require.Len(t, families, 1)
		assert.Len(t, families["informer_store_resource_version"].Metric, 1)
	})
}

// TestInformerMetricsOfAnotherLife: a name that is used again begins anew.
func TestInformerMetricsOfAnotherLife(t *testing.T) {
	m := NewInformerMetrics()
	registry := registered(t, m)
	live := func() (cache.HistogramMetric, *cache.InformerName) {
		name, err := cache.NewInformerName("again")
		require.NoError(t, err)
		return m.NewProcessingLatencyMetric(name.WithResource(podResource)), name
	}
	before, name := live()
	before.Observe(1)
	name.Release()
	now, name := live()
	defer name.Release()
	before.Observe(1)
	now.Observe(1)
	assert.Equal(t, uint64(1), parsed(t, exposition(t, registry))["informer_processing_latency_seconds"].Metric[0].GetHistogram().GetSampleCount())
}
