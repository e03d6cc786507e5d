// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// A program of a user, who has metrics in Prometheus.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformerprom"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

func main() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(kinformerprom.NewCollector(kinformerprom.Options{}))
	informer := cache.NewSharedIndexInformer(cachetest.New(pod("a"), pod("b")), &corev1.Pod{}, 0, cache.Indexers{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		log.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		log.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "kinformer_objects" {
			fmt.Println(family.GetName(), family.GetMetric()[0].GetGauge().GetValue())
		}
	}
	cancel()
	<-ended
}
