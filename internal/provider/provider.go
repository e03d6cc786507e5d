// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider finds the metrics of queues and stores: those of a provider that an informer was
// given, of that of the process, or of client-go's.
package provider

import (
	"strconv"
	"sync"

	clientgo "k8s.io/client-go/tools/cache"
)

// shared is the provider of the process.
var shared struct {
	sync.RWMutex
	provider clientgo.InformerMetricsProvider
}

// Set makes p the provider of the process, and of client-go, unless there is one or p is nil.
func Set(p clientgo.InformerMetricsProvider) {
	if p == nil {
		return
	}
	clientgo.SetInformerMetricsProvider(p)
	shared.Lock()
	defer shared.Unlock()
	if shared.provider == nil {
		shared.provider = p
	}
}

// providerFor returns the given provider, or the one that was set here, or nil when there is
// neither.
func providerFor(own clientgo.InformerMetricsProvider) clientgo.InformerMetricsProvider {
	if own != nil {
		return own
	}
	shared.RLock()
	defer shared.RUnlock()
	return shared.provider
}

// OfQueue returns the metrics of a queue. A nil provider means that of the process.
func OfQueue(id clientgo.InformerNameAndResource, own clientgo.InformerMetricsProvider) QueueMetrics {
	if id.Reserved() {
		if provider := providerFor(own); provider != nil {
			return QueueMetrics{
				Depth:   provider.NewQueuedItemMetric(id),
				Latency: provider.NewProcessingLatencyMetric(id),
			}
		}
		if metrics, ok := clientGoQueueMetrics(id); ok {
			return metrics
		}
	}
	return QueueMetrics{}
}

// newVersionMetric returns the gauge that follows a store's resourceVersion; nil without a
// provider.
func newVersionMetric(id clientgo.InformerNameAndResource, own clientgo.InformerMetricsProvider) clientgo.GaugeMetric {
	if id.Reserved() {
		if provider := providerFor(own); provider != nil {
			return provider.NewStoreResourceVersionMetric(id)
		}
		if metric, ok := clientGoVersionMetric(id); ok {
			return metric
		}
	}
	return nil
}

// OfStore returns what publishes the version of a store; nil if nobody looks at it. A nil provider
// means that of the process.
func OfStore(id clientgo.InformerNameAndResource, own clientgo.InformerMetricsProvider) func(version string) {
	gauge := newVersionMetric(id, own)
	if gauge == nil {
		return nil
	}
	return func(version string) { publishVersion(gauge, version) }
}

// versionDigits is how many trailing digits of a resourceVersion a float64 gauge holds exactly.
const versionDigits = 15

// publishVersion sets the gauge to rv, cut to its last 15 digits. An empty rv is 0; one that is no
// number is left out.
func publishVersion(gauge clientgo.GaugeMetric, rv string) {
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
