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
// one of its own. The first call in the process wins; later ones do nothing. It may be called from any goroutine.
//
// The call is forwarded to client-go, so that informers of both libraries report to the same provider. The reverse is not
// possible: a provider that was set on client-go alone (importing k8s.io/component-base/metrics/prometheus/clientgo does
// that) cannot be read back and has to be set here as well, or given as SharedIndexInformerOptions.InformerMetricsProvider.
func SetInformerMetricsProvider(provider InformerMetricsProvider) {
	clientgo.SetInformerMetricsProvider(provider)
	sharedMetrics.Lock()
	defer sharedMetrics.Unlock()
	if sharedMetrics.provider == nil {
		sharedMetrics.provider = provider
	}
}

// metricsProvider returns the given provider, or the process-wide one, or nil when there is neither.
func metricsProvider(own InformerMetricsProvider) InformerMetricsProvider {
	if own != nil {
		return own
	}
	sharedMetrics.RLock()
	defer sharedMetrics.RUnlock()
	return sharedMetrics.provider
}

// noMetric takes the place of every metric that nobody asked for.
type noMetric struct{}

func (noMetric) Set(float64)     {}
func (noMetric) Observe(float64) {}

// queueMetrics are published for informers with a reserved identity only.
type queueMetrics struct {
	depth   GaugeMetric     // items waiting
	latency HistogramMetric // seconds spent processing one pop
}

func newQueueMetrics(id InformerNameAndResource, own InformerMetricsProvider) queueMetrics {
	provider := metricsProvider(own)
	if provider == nil || !id.Reserved() {
		return queueMetrics{depth: noMetric{}, latency: noMetric{}}
	}
	return queueMetrics{
		depth:   provider.NewQueuedItemMetric(id),
		latency: provider.NewProcessingLatencyMetric(id),
	}
}

// newVersionMetric returns the gauge that follows a store's resourceVersion.
func newVersionMetric(id InformerNameAndResource, own InformerMetricsProvider) GaugeMetric {
	provider := metricsProvider(own)
	if provider == nil || !id.Reserved() {
		return noMetric{}
	}
	return provider.NewStoreResourceVersionMetric(id)
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
