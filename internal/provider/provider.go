// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package provider finds the metrics of queues and stores: those of a provider that an informer was
// given, of that of the process, or of client-go's.
package provider

import (
	"reflect"
	"strconv"
	"sync"
	"unsafe"

	clientgo "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
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

// providerFor returns the given provider, or the one that was set here, or client-go's.
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

// OfQueue returns the metrics of a queue, if it has a reserved identity: items waiting, and seconds
// spent processing one pop; nil without a provider. A nil provider means that of the process.
func OfQueue(id clientgo.InformerNameAndResource, own clientgo.InformerMetricsProvider) (depth clientgo.GaugeMetric, latency clientgo.HistogramMetric) {
	if !id.Reserved() {
		return nil, nil
	}
	provider := providerFor(own)
	return provider.NewQueuedItemMetric(id), provider.NewProcessingLatencyMetric(id)
}

// OfStore returns what publishes the version of a store; nil if nobody looks at it. A nil provider
// means that of the process.
func OfStore(id clientgo.InformerNameAndResource, own clientgo.InformerMetricsProvider) func(version string) {
	if !id.Reserved() {
		return nil
	}
	gauge := providerFor(own).NewStoreResourceVersionMetric(id)
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

// client-go has no getter for the metrics provider that was set there, and the one that
// k8s.io/component-base/metrics/prometheus/clientgo sets when it is imported is of an unexported
// type. But a queue and a store of client-go that are made with an identity and no provider keep
// its metrics in a field. clientGos takes them from there. It is the only code that reads what
// client-go does not export.

// clientGos is the provider that was set on client-go, for identities that are reserved. Its
// metrics are nil if there is none, or it cannot be found out: then the log says so once.
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

// clientGoMetric returns the metric of type M that is found from owner by the names of fields.
func clientGoMetric[M any](id clientgo.InformerNameAndResource, owner any, path ...string) (none M) {
	metric, ok := hiddenField[M](owner, path...)
	switch {
	case !ok:
		warnOnce("Warning: informers publish no metrics: where client-go keeps its own is not known for this version of it. Give "+
			"a provider to SetInformerMetricsProvider of this package, before informers are made", id)
	case reflect.TypeOf(metric) == clientGoNoMetric():
		warnOnce("Warning: informers publish no metrics: they have a name for them, but no provider is set. Call "+
			"SetInformerMetricsProvider, or import a package that does, before informers are made", id)
	default:
		return metric
	}
	return none
}

// clientGoNoMetric returns the type that takes the place of metrics without a provider, in
// client-go; nil if not known.
var clientGoNoMetric = sync.OnceValue(func() reflect.Type {
	nobodys, _ := hiddenField[clientgo.GaugeMetric](queueOf(clientgo.InformerNameAndResource{}), "metrics", "numberOfQueuedItem")
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
func warnOnce(warning string, id clientgo.InformerNameAndResource) {
	if _, given := warned.LoadOrStore(warning, true); !given {
		klog.Background().Info(warning, "informer", id.Name(), "resource", id.GroupVersionResource())
	}
}
