// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

var podsResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// reservedName reserves an informer name for the test.
func reservedName(t *testing.T, name string) cache.InformerNameAndResource {
	t.Helper()
	n, err := cache.NewInformerName(name)
	require.NoError(t, err)
	t.Cleanup(n.Release)
	return n.WithResource(podsResource)
}

// metrics is a provider that remembers what was asked of it. It hands out the same gauge for each
// kind.
type metrics struct {
	queued, latency, version *series
	mu                       struct {
		sync.Mutex
		made []string
		ids  []cache.InformerNameAndResource
	}
}

func newMetrics() *metrics {
	return &metrics{queued: &series{}, latency: &series{}, version: &series{}}
}

func (m *metrics) note(kind string, id cache.InformerNameAndResource) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mu.made = append(m.mu.made, kind)
	m.mu.ids = append(m.mu.ids, id)
}

// made counts how often a metric of the kind was asked for.
func (m *metrics) made(kind string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, k := range m.mu.made {
		if k == kind {
			n++
		}
	}
	return n
}

// ids returns the identifiers that metrics were asked for with.
func (m *metrics) ids() []cache.InformerNameAndResource {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]cache.InformerNameAndResource(nil), m.mu.ids...)
}

// NewQueuedItemMetric implements InformerMetricsProvider.
func (m *metrics) NewQueuedItemMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	m.note("queued", id)
	return m.queued
}

// NewProcessingLatencyMetric implements InformerMetricsProvider.
func (m *metrics) NewProcessingLatencyMetric(id cache.InformerNameAndResource) cache.HistogramMetric {
	m.note("latency", id)
	return m.latency
}

// NewStoreResourceVersionMetric implements InformerMetricsProvider.
func (m *metrics) NewStoreResourceVersionMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	m.note("version", id)
	return m.version
}

// series is a gauge and a histogram: the values in the order they came.
type series struct {
	mu     sync.Mutex
	values []float64
}

// Set implements GaugeMetric.
func (s *series) Set(v float64) { s.Observe(v) }

// Observe implements HistogramMetric.
func (s *series) Observe(v float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, v)
}

// last returns the latest value, -1 when there is none.
func (s *series) last() float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.values) == 0 {
		return -1
	}
	return s.values[len(s.values)-1]
}

// count returns how many values came.
func (s *series) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.values)
}
