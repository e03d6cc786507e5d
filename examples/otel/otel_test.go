// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otel_test shows the export of informer metrics to OpenTelemetry, with OpenTelemetry's bridge.
package otel_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	kinformerprom "github.com/kinformer/cache/adapters/prom"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformer"
)

// A program sets up one collector for all of its informers.
func Example() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(kinformerprom.NewCollector(kinformerprom.Options{}))
	producer := bridge.NewMetricProducer(bridge.WithGatherer(registry))
	reader := metric.NewManualReader(metric.WithProducer(producer)) // instead of the reader of an exporter
	provider := metric.NewMeterProvider(metric.WithReader(reader))

	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	synced := follow(ctx, &group)
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil || !synced {
		fmt.Println("not collected:", err)
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[float64]:
				if m.Name == "kinformer_objects" {
					fmt.Println(m.Name, data.DataPoints[0].Value)
				}
			case metricdata.Histogram[float64]:
				fmt.Println(m.Name, data.DataPoints[0].Count, data.DataPoints[0].Bounds)
			}
		}
	}

	cancel()
	group.Wait()
	fmt.Println(provider.Shutdown(context.Background()))
	// Output:
	// kinformer_handler_call_duration_seconds 1 [0.0001 0.001 0.01 0.1 1 10]
	// kinformer_objects 1
	// <nil>
}

// follow runs an informer with a handler, and reports whether both have received the only pod.
func follow(ctx context.Context, group *sync.WaitGroup) (synced bool) {
	pods := cachetest.Of(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	informer := cache.NewSharedIndexInformer(pods, &corev1.Pod{}, 0, cache.Indexers{})
	handler, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}})
	if err != nil {
		return false
	}
	group.Go(func() { informer.RunWithContext(ctx) })
	return kinformer.WaitForSync(ctx, informer, handler) == nil
}
