// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// sharedMetrics is the process-wide provider that SetInformerMetricsProvider leaves.
var sharedMetrics struct {
	sync.RWMutex
	provider InformerMetricsProvider
}

// SetInformerMetricsProvider sets the provider of the metrics of every queue and store made
// afterwards that is not given one of its own. The first call in the process wins; later ones, and
// nil, do nothing. It may be called from any goroutine.
//
// The call is forwarded to client-go, so that informers of both libraries report to the same
// provider. A program that sets its provider on client-go alone, as importing
// k8s.io/component-base/metrics/prometheus/clientgo does, need not call it: what has no provider
// here reports to that one. The log says once if an informer has a name for metrics and there is no
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

// metricsProvider returns the given provider, or the one that was set here, or nil when there is
// neither.
func metricsProvider(own InformerMetricsProvider) InformerMetricsProvider {
	if own != nil {
		return own
	}
	sharedMetrics.RLock()
	defer sharedMetrics.RUnlock()
	return sharedMetrics.provider
}

// queueMetrics are published for informers with a reserved identity only. Those without a provider
// are nil.
type queueMetrics struct {
	depth   GaugeMetric     // items waiting
	latency HistogramMetric // seconds spent processing one pop
}

func newQueueMetrics(id InformerNameAndResource, own InformerMetricsProvider) queueMetrics {
	if id.Reserved() {
		if provider := metricsProvider(own); provider != nil {
			return queueMetrics{
				depth:   provider.NewQueuedItemMetric(id),
				latency: provider.NewProcessingLatencyMetric(id),
			}
		}
		if metrics, ok := clientGoQueueMetrics(id); ok {
			return metrics
		}
	}
	return queueMetrics{}
}

// newVersionMetric returns the gauge that follows a store's resourceVersion; nil without a
// provider.
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

// publishVersion sets the gauge to rv, cut to its last 15 digits. An empty rv is 0; one that is no
// number is left out.
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

// client-go has no getter for the metrics provider that was set there, and the one that
// k8s.io/component-base/metrics/prometheus/clientgo sets when it is imported is of an unexported
// type. But a queue and a store of client-go that are made with an identity and no provider keep
// its metrics in a field. This file takes them from there. It is the only code that reads what
// client-go does not export.

// clientGoQueueMetrics returns the metrics that client-go's provider makes for a queue with this
// identity, which must be reserved. ok is false if there is no provider, or it cannot be found out:
// then the log says so once.
func clientGoQueueMetrics(id InformerNameAndResource) (metrics queueMetrics, ok bool) {
	queue := clientgo.NewRealFIFOWithOptions(clientgo.RealFIFOOptions{AtomicEvents: true, Identifier: id})
	depth, hasDepth := clientGoMetric[GaugeMetric](id, queue, "metrics", "numberOfQueuedItem")
	latency, hasLatency := clientGoMetric[HistogramMetric](id, queue, "metrics", "processingLatency")
	return queueMetrics{depth: depth, latency: latency}, hasDepth && hasLatency
}

// clientGoVersionMetric is clientGoQueueMetrics for a store.
func clientGoVersionMetric(id InformerNameAndResource) (GaugeMetric, bool) {
	store := clientgo.NewThreadSafeStore(nil, nil, clientgo.WithThreadSafeStoreMetrics(id, nil))
	return clientGoMetric[GaugeMetric](id, store, "metrics", "storeResourceVersion")
}

// clientGoMetric returns the metric of type M that is found from owner by the names of fields.
func clientGoMetric[M any](id InformerNameAndResource, owner any, path ...string) (metric M, ok bool) {
	metric, ok = hiddenField[M](owner, path...)
	switch {
	case !ok:
		warnOnce("Warning: informers publish no metrics: where client-go keeps its own is not known for this version of it. Give "+
			"a provider to SetInformerMetricsProvider of this package, before informers are made", id)
	case reflect.TypeOf(metric) == clientGoNoMetric():
		warnOnce("Warning: informers publish no metrics: they have a name for them, but no provider is set. Call "+
			"SetInformerMetricsProvider, or import a package that does, before informers are made", id)
		ok = false
	}
	return metric, ok
}

// clientGoNoMetric returns the type that takes the place of metrics without a provider, in
// client-go; nil if not known.
var clientGoNoMetric = sync.OnceValue(func() reflect.Type {
	queue := clientgo.NewRealFIFOWithOptions(clientgo.RealFIFOOptions{AtomicEvents: true})
	nobodys, _ := hiddenField[GaugeMetric](queue, "metrics", "numberOfQueuedItem")
	return reflect.TypeOf(nobodys)
})

// hiddenField returns the field of type M that is found from a pointer by the names of fields,
// exported or not, each of a struct or a pointer to one. ok is false if there is no such field, it
// is of another type, or it is nil.
func hiddenField[M any](owner any, path ...string) (field M, ok bool) {
	v := reflect.ValueOf(owner)
	for _, name := range path {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return field, false
		}
		v = v.FieldByName(name)
	}
	if !v.CanAddr() || v.Type() != reflect.TypeFor[M]() || v.IsZero() {
		return field, false
	}
	return *(*M)(unsafe.Pointer(v.UnsafeAddr())), true
}

// warned has the warnings that warnOnce has given.
var warned sync.Map

// warnOnce logs a warning about the metrics of an informer, once in the process: the other
// informers have them no more.
func warnOnce(warning string, id InformerNameAndResource) {
	if _, given := warned.LoadOrStore(warning, true); !given {
		klog.Background().Info(warning, "informer", id.Name(), "resource", id.GroupVersionResource())
	}
}
