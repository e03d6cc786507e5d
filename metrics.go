// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"strconv"
	"sync"

	clientgo "k8s.io/client-go/tools/cache"
)

// sharedMetrics is the process-wide provider that SetInformerMetricsProvider leaves.
var sharedMetrics struct {
	sync.RWMutex
	provider InformerMetricsProvider
}

// SetInformerMetricsProvider sets the provider of the metrics of every queue and store made afterwards that is not given
// one of its own. The first call in the process wins; later ones, and nil, do nothing. It may be called from any goroutine.
//
// The call is forwarded to client-go, so that informers of both libraries report to the same provider. A program that sets
// its provider on client-go alone, as importing k8s.io/component-base/metrics/prometheus/clientgo does, need not call it:
// what has no provider here reports to that one. The log says once if an informer has a name for metrics and there is no
// provider anywhere.
func SetInformerMetricsProvider(provider InformerMetricsProvider) {
	if provider == nil {
		return
	}
	clientgo.SetInformerMetricsProvider(provider)
	sharedMetrics.Lock()
	defer sharedMetrics.Unlock()
	if sharedMetrics.provider == nil {
		sharedMetrics.provider = provider
	}
}

// metricsProvider returns the given provider, or the one that was set here, or nil when there is neither.
func metricsProvider(own InformerMetricsProvider) InformerMetricsProvider {
	if own != nil {
		return own
	}
	sharedMetrics.RLock()
	defer sharedMetrics.RUnlock()
	return sharedMetrics.provider
}

// queueMetrics are published for informers with a reserved identity only. Those that nobody asked for are nil.
type queueMetrics struct {
	depth   GaugeMetric     // items waiting
	latency HistogramMetric // seconds spent processing one pop
}

func newQueueMetrics(id InformerNameAndResource, own InformerMetricsProvider) queueMetrics {
	if id.Reserved() {
		if provider := metricsProvider(own); provider != nil {
			return queueMetrics{depth: provider.NewQueuedItemMetric(id), latency: provider.NewProcessingLatencyMetric(id)}
		}
		if metrics, ok := clientGoQueueMetrics(id); ok {
			return metrics
		}
	}
	return queueMetrics{}
}

// setMetrics is part of the construction of a queue.
func setMetrics(q *recordQueue, id InformerNameAndResource, provider InformerMetricsProvider) {
	metrics := newQueueMetrics(id, provider)
	q.identifier, q.depth, q.latency = id, metrics.depth, metrics.latency
}

// newVersionMetric returns the gauge that follows a store's resourceVersion; nil if nobody asked for it.
func newVersionMetric(id InformerNameAndResource, own InformerMetricsProvider) GaugeMetric {
	if id.Reserved() {
		if provider := metricsProvider(own); provider != nil {
			return provider.NewStoreResourceVersionMetric(id)
		}
		if metric, ok := clientGoVersionMetric(id); ok {
			return metric
		}
	}
	return nil
}

// versionPublisher returns what sets the gauge to a version; nil for none.
func versionPublisher(gauge GaugeMetric) func(version string) {
	if gauge == nil {
		return nil
	}
	return func(version string) { publishVersion(gauge, version) }
}

// versionDigits is how many trailing digits of a resourceVersion a float64 gauge holds exactly.
const versionDigits = 15

// publishVersion sets the gauge to rv, cut to its last 15 digits. An empty rv is 0; one that is no number is left out.
func publishVersion(gauge GaugeMetric, rv string) {
	if len(rv) > versionDigits {
		rv = rv[len(rv)-versionDigits:]
	}
	if rv == "" {
		gauge.Set(0)
		return
	}
	if n, err := strconv.ParseInt(rv, 10, 64); err == nil {
		gauge.Set(float64(n))
	}
}
