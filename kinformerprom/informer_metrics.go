// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kinformer/cache"
)

// InformerMetrics are the metrics that client-go has of informers, under the names that Kubernetes'
// components give them: informer_queued_items, informer_processing_latency_seconds and
// informer_store_resource_version, with the labels name, group, version and resource. It is a
// provider of them and their collector:
//
//	metrics := kinformerprom.NewInformerMetrics()
//	registry.MustRegister(metrics)
//	cache.SetInformerMetricsProvider(metrics) // before informers are made
//
// Informers of client-go then report to it, too. Only those with a name have these metrics: see
// cache.NewInformerName and kinformer.Options.Identifier. They end when the name is released. A program
// that imports k8s.io/component-base/metrics/prometheus/clientgo has them already, and needs
// nothing of this.
type InformerMetrics struct {
	queued, version *prometheus.GaugeVec
	latency         *prometheus.HistogramVec

	mu struct {
		sync.Mutex
		latest map[labels]cache.InformerNameAndResource
	}
}

// labels are the values of the labels, in their order.
type labels [4]string

// latencyBounds are those that Kubernetes has for the histogram, in seconds.
var latencyBounds = []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}

// NewInformerMetrics returns metrics that no informer reports to yet.
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
			Help: "How long it took to process what was taken from the queue of the informer at once.",
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

// enterLocked notes an identity, and returns its labels. ok is false if its name was released, or
// another informer has it.
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

// namedGauge is a gauge that is set only as long as the informer has its name.
type namedGauge struct {
	id cache.InformerNameAndResource
	of prometheus.Gauge // nil if it never had
}

func (g namedGauge) Set(value float64) {
	if g.id.Reserved() {
		g.of.Set(value)
	}
}

// namedHistogram is the same of a histogram.
type namedHistogram struct {
	id cache.InformerNameAndResource
	of prometheus.Observer
}

func (h namedHistogram) Observe(value float64) {
	if h.id.Reserved() {
		h.of.Observe(value)
	}
}
