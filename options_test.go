// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	framework "k8s.io/client-go/tools/cache/testing"
)

// gauges is a metrics provider that keeps the last value of each gauge.
type gauges struct {
	depth, version gauge
	latencies      gauge
}

type gauge struct{ last float64 }

func (g *gauge) Set(v float64)     { g.last = v }
func (g *gauge) Observe(v float64) { g.last++ }

func (p *gauges) NewQueuedItemMetric(InformerNameAndResource) GaugeMetric { return &p.depth }
func (p *gauges) NewStoreResourceVersionMetric(InformerNameAndResource) GaugeMetric {
	return &p.version
}
func (p *gauges) NewProcessingLatencyMetric(InformerNameAndResource) HistogramMetric {
	return &p.latencies
}

func TestInformerFuncPassesItsOptionsOn(t *testing.T) {
	t.Cleanup(ResetInformerNamesForTesting)
	name, err := NewInformerName("options")
	require.NoError(t, err)
	id := name.WithResource(schema.GroupVersionResource{Version: "v1", Resource: "pods"})
	metrics := &gauges{}
	newInformer := InformerFunc(WithIdentifier(id, metrics), WithObjectDescription("test pods"))

	source := framework.NewFakeControllerSource()
	defer source.Shutdown()
	informer := newInformer(source, &corev1.Pod{}, 0, Indexers{NamespaceIndex: MetaNamespaceIndexFunc}).(*sharedIndexInformer)
	assert.Equal(t, "test pods", informer.config.ObjectDescription)
	require.NoError(t, informer.store.Add(versioned("a", "12")))
	assert.EqualValues(t, 12, metrics.version.last)
	found, err := informer.GetIndexer().ByIndex(NamespaceIndex, "")
	require.NoError(t, err)
	assert.Len(t, found, 1)
}

func TestQueueMetrics(t *testing.T) {
	t.Cleanup(ResetInformerNamesForTesting)
	name, err := NewInformerName("queue")
	require.NoError(t, err)
	metrics := &gauges{}
	q := NewRealFIFOWithOptions(RealFIFOOptions{
		KeyFunction: itemKey, AtomicEvents: true, EmitDeltaTypeBookmark: true, MetricsProvider: metrics,
		Identifier: name.WithResource(schema.GroupVersionResource{Resource: "items"}),
	})
	require.NoError(t, q.Add(item{"a", 1}))
	require.NoError(t, q.Bookmark("9"))
	assert.EqualValues(t, 2, metrics.depth.last, "bookmarks count")
	_, err = q.Pop(take)
	require.NoError(t, err)
	assert.EqualValues(t, 1, metrics.depth.last)
	assert.EqualValues(t, 1, metrics.latencies.last)
	assert.Equal(t, "queue", q.Name())
}

func TestPublishedVersion(t *testing.T) {
	for rv, want := range map[string]float64{"": 0, "12": 12, "9123456789012345678": 789012345678 + 456*1e12, "x": -1} {
		g := gauge{last: -1}
		publishVersion(&g, rv)
		assert.Equal(t, want, g.last, rv)
	}
}
