// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerotel_test

import (
	"context"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformerotel"
)

// A program does this once, for all of its informers.
func Example() {
	reader := metric.NewManualReader() // in place of an exporter
	registration, err := kinformerotel.RegisterMetrics(metric.NewMeterProvider(metric.WithReader(reader)), kinformerotel.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer registration.Unregister()

	pods := cachetest.New(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	informer := cache.InformerFunc(cache.WithListMode(cache.ListModeList))(pods, &corev1.Pod{}, 0, cache.Indexers{})
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	if err := cache.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		fmt.Println(err)
	}
	for _, m := range all.ScopeMetrics[0].Metrics {
		if m.Name == "kinformer.objects" {
			fmt.Println(m.Name, m.Data.(metricdata.Sum[float64]).DataPoints[0].Value)
		}
	}

	cancel()
	group.Wait()
	// Output:
	// kinformer.objects 1
}

// Spans are made as long as the program runs.
func ExampleRunTraces() {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { kinformerotel.RunTraces(ctx, otel.GetTracerProvider(), kinformerotel.TraceOptions{}) })
	// ... all that the program does
	cancel()
	group.Wait() // the last requests are traced
	// Output:
}
