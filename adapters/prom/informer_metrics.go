// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinformer/cache"
)

// InformerMetrics has client-go's metrics of informers, with the names that Kubernetes' components use:
// informer_queued_items, informer_processing_latency_seconds and informer_store_resource_version, with
// the labels name, group, version and resource. It is both their provider and their collector:
//
//	metrics := kinformerprom.NewInformerMetrics()
//	registry.MustRegister(metrics)
//	cache.SetInformerMetricsProvider(metrics) // before informers are made
//
// Informers of client-go then use the provider as well. Only informers with a name have these metrics:
// see cache.NewInformerName and kinformer.Options.Identifier. The metrics end when the name is
// released. A program that imports k8s.io/component-base/metrics/prometheus/clientgo already has them,
// and does not need InformerMetrics.
type InformerMetrics struct {
	queued, version *prometheus.GaugeVec
	latency         *prometheus.HistogramVec

	mu struct {
		sync.Mutex
		latest map[labels]cache.InformerNameAndResource
	}
}

// labels has the values of the labels, in their order.
type labels [4]string

// latencyBounds are the bucket bounds of Kubernetes for the histogram, in seconds.
var latencyBounds = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// NewInformerMetrics returns metrics without informers.
func NewInformerMetrics() *InformerMetrics {
	names := []string{"name", "group", "version", "resource"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, names)
	}
	m := &InformerMetrics{
		queued:  gauge("informer_queued_items", "Items that wait in the queue of the informer."),
		version: gauge("informer_store_resource_version", "The last 15 digits of the resource version of the informer's store."),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "informer_processing_latency_seconds", Buckets: latencyBounds,
			Help: "Time to process the items that the informer took from its queue at once.",
		}, names),
	}
	m.mu.latest = map[labels]cache.InformerNameAndResource{}
	return m
}

var _ cache.InformerMetricsProvider = (*InformerMetrics)(nil)

// NewQueuedItemMetric implements cache.InformerMetricsProvider.
func (m *InformerMetrics) NewQueuedItemMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	return m.gauge(m.queued, id)
}

// NewStoreResourceVersionMetric implements cache.InformerMetricsProvider.
func (m *InformerMetrics) NewStoreResourceVersionMetric(id cache.InformerNameAndResource) cache.GaugeMetric {
	return m.gauge(m.version, id)
}

// NewProcessingLatencyMetric implements cache.InformerMetricsProvider.
func (m *InformerMetrics) NewProcessingLatencyMetric(id cache.InformerNameAndResource) cache.HistogramMetric {
	m.mu.Lock()
	defer m.mu.Unlock()
	histogram := namedHistogram{id: id}
	if of, ok := m.enterLocked(id); ok {
		histogram.of = m.latency.WithLabelValues(of[:]...)
	}
	return histogram
}

func (m *InformerMetrics) gauge(vec *prometheus.GaugeVec, id cache.InformerNameAndResource) namedGauge {
	m.mu.Lock()
	defer m.mu.Unlock()
	gauge := namedGauge{id: id}
	if of, ok := m.enterLocked(id); ok {
		gauge.of = vec.WithLabelValues(of[:]...)
	}
	return gauge
}

// enterLocked records an identity, and returns its labels. ok is false if the identity is not reserved:
// its name was released, or belongs to another informer.
func (m *InformerMetrics) enterLocked(id cache.InformerNameAndResource) (of labels, ok bool) {
	gvr := id.GroupVersionResource()
	of = labels{id.Name(), gvr.Group, gvr.Version, gvr.Resource}
	if !id.Reserved() {
		return of, false
	}
	if before, known := m.mu.latest[of]; known && before != id {
		m.deleteLocked(of)
	}
	m.mu.latest[of] = id
	return of, true
}

func (m *InformerMetrics) deleteLocked(of labels) {
	delete(m.mu.latest, of)
	m.queued.DeleteLabelValues(of[:]...)
	m.version.DeleteLabelValues(of[:]...)
	m.latency.DeleteLabelValues(of[:]...)
}

// Describe implements prometheus.Collector.
func (m *InformerMetrics) Describe(to chan<- *prometheus.Desc) {
	m.queued.Describe(to)
	m.version.Describe(to)
	m.latency.Describe(to)
}

// Collect implements prometheus.Collector.
func (m *InformerMetrics) Collect(to chan<- prometheus.Metric) {
	m.forget()
	m.queued.Collect(to)
	m.version.Collect(to)
	m.latency.Collect(to)
}

// forget deletes the metrics of names that were released.
func (m *InformerMetrics) forget() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for of, id := range m.mu.latest {
		if !id.Reserved() {
			m.deleteLocked(of)
		}
	}
}

// namedGauge is a gauge that is set only while the informer has its name.
type namedGauge struct {
	id cache.InformerNameAndResource
	of prometheus.Gauge // nil if the informer never had the name
}

func (g namedGauge) Set(value float64) {
	if g.id.Reserved() {
		g.of.Set(value)
	}
}

// namedHistogram is a histogram that is updated only while the informer has its name.
type namedHistogram struct {
	id cache.InformerNameAndResource
	of prometheus.Observer
}

func (h namedHistogram) Observe(value float64) {
	if h.id.Reserved() {
		h.of.Observe(value)
	}
}
