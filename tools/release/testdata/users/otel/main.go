// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// A program of a user, who has spans in OpenTelemetry.
package main

import (
	"context"
	"fmt"
	"log"

	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformerotel"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func main() {
	spans := tracetest.NewInMemoryExporter()
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	informer := cache.NewSharedIndexInformer(cachetest.New(pod("a"), pod("b")), &corev1.Pod{}, 0, cache.Indexers{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		log.Fatal(err)
	}
	once, stop := context.WithCancel(ctx)
	stop() // so that the next call looks once
	kinformerotel.RunTraces(once, provider, kinformerotel.TraceOptions{})
	for _, span := range spans.GetSpans() {
		if span.Name == "kinformer.sync" {
			fmt.Println(span.Name)
		}
	}
	cancel()
	<-ended
}
