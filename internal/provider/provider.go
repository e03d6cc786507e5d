// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider finds the metrics of queues and stores: from the provider of an informer, of the
// process, or of client-go.
package provider

import (
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/minor"
)

// shared is the provider of the process.
var shared struct {
	sync.RWMutex
	provider clientgo.InformerMetricsProvider
}

// Set makes p the provider of the process and of client-go, unless one is set already or p is nil.
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

// providerFor returns own, or the provider of the process, or client-go's.
func providerFor(own clientgo.InformerMetricsProvider) clientgo.InformerMetricsProvider {
	if own != nil {
		return own
	}
	shared.RLock()
	defer shared.RUnlock()
	if shared.provider != nil {
		return shared.provider
	}
	return clientGos{}
}

// OfQueue returns the metrics of a queue with a reserved identity: the number of waiting items, and
// the seconds of processing for each Pop. They are nil without a provider. If own is nil, the
// provider of the process is used.
func OfQueue(id clientgo.InformerNameAndResource, own clientgo.InformerMetricsProvider) (depth clientgo.GaugeMetric, latency clientgo.HistogramMetric) {
	if !id.Reserved() {
		return nil, nil
	}
	provider := providerFor(own)
	return provider.NewQueuedItemMetric(id), provider.NewProcessingLatencyMetric(id)
}

// OfStore returns a function that publishes the version of a store, or nil if there is no gauge for
// it. If own is nil, the provider of the process is used. Since v0.38 of client-go the gauge is made by
// the first call, so that no version 0 is published before there is one.
func OfStore(id clientgo.InformerNameAndResource, own clientgo.InformerMetricsProvider) func(version string) {
	if !id.Reserved() {
		return nil
	}
	gauge := sync.OnceValue(func() clientgo.GaugeMetric { return providerFor(own).NewStoreResourceVersionMetric(id) })
	if !minor.Since38 && gauge() == nil {
		return nil
	}
	return func(version string) {
		if made := gauge(); made != nil {
			publishVersion(made, version)
		}
	}
}

// versionDigits is the number of trailing digits of a resourceVersion that a float64 holds exactly.
const versionDigits = 15

// publishVersion sets the gauge to the last 15 digits of rv. An empty rv is 0; an rv that is not a
// number is ignored.
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

// client-go has no getter for its metrics provider, and the provider that
// k8s.io/component-base/metrics/prometheus/clientgo sets on import has an unexported type. But a
// queue or a store of client-go with an identity and without a provider keeps its metrics in a
// field. clientGos reads them from there. It is the only code that reads unexported fields of
// client-go.

// clientGos is the provider that was set on client-go, for reserved identities. Its metrics are nil
// if no provider was set or the fields cannot be read; this is logged once.
type clientGos struct{}

func (clientGos) NewQueuedItemMetric(id clientgo.InformerNameAndResource) clientgo.GaugeMetric {
	return clientGoMetric[clientgo.GaugeMetric](id, queueOf(id), "metrics", "numberOfQueuedItem")
}

func (clientGos) NewProcessingLatencyMetric(id clientgo.InformerNameAndResource) clientgo.HistogramMetric {
	return clientGoMetric[clientgo.HistogramMetric](id, queueOf(id), "metrics", "processingLatency")
}

func (clientGos) NewStoreResourceVersionMetric(id clientgo.InformerNameAndResource) clientgo.GaugeMetric {
	store := clientgo.NewThreadSafeStore(nil, nil, clientgo.WithThreadSafeStoreMetrics(id, nil))
	return clientGoMetric[clientgo.GaugeMetric](id, store, "metrics", "storeResourceVersion")
}

func queueOf(id clientgo.InformerNameAndResource) any {
	return clientgo.NewRealFIFOWithOptions(clientgo.RealFIFOOptions{AtomicEvents: true, Identifier: id})
}

// clientGoMetric returns the metric of type M that path, a list of field names, leads to from
// owner.
func clientGoMetric[M any](id clientgo.InformerNameAndResource, owner any, path ...string) (none M) {
	metric, ok := hiddenField[M](owner, path...)
	switch {
	case !ok:
		warnOnce("Informers publish no metrics: where client-go keeps its own is not known for this version of it. Give "+
			"a provider to SetInformerMetricsProvider of this package, before informers are made", id)
	case reflect.TypeOf(metric) == clientGoNoMetric():
		warnOnce("Informers publish no metrics: they have a name for them, but no provider is set. Call "+
			"SetInformerMetricsProvider, or import a package that does, before informers are made", id)
	default:
		return metric
	}
	return none
}

// clientGoNoMetric returns the type of client-go's metrics without a provider, or nil if it is not
// known.
var clientGoNoMetric = sync.OnceValue(func() reflect.Type {
	nobodys, _ := hiddenField[clientgo.GaugeMetric](queueOf(clientgo.InformerNameAndResource{}), "metrics", "numberOfQueuedItem")
	return reflect.TypeOf(nobodys)
})

// hiddenField returns the field of type M that path, a list of exported or unexported field names,
// leads to from owner, a pointer. Each field on the way is a struct or a pointer to one. ok is
// false if there is no such field, or if it has another type or is nil.
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

// warned has the warnings that warnOnce has logged.
var warned sync.Map

// warnOnce logs a warning about an informer's metrics once in the process, because it applies to
// the other informers, too.
func warnOnce(warning string, id clientgo.InformerNameAndResource) {
	if _, given := warned.LoadOrStore(warning, true); !given {
		event.Warn(klog.Background(), 1, warning, "informer", id.Name(), "resource", id.GroupVersionResource())
	}
}
