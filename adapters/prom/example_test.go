// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformerprom_test

import (
	"context"
	"fmt"
	"os"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kinformerprom "github.com/kinformer/cache/adapters/prom"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformer"
)

// A program registers the collector once. It exports all informers, including those that are made
// later.
func Example() {
	registry := prometheus.NewRegistry()
	registry.MustRegister(kinformerprom.NewCollector(kinformerprom.Options{}))
	// http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))

	pods := cachetest.Of(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	informer := kinformer.New(pods, &corev1.Pod{}, kinformer.Options{ObjectDescription: "my pods"})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	defer func() { cancel(); <-ended }()
	if err := kinformer.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}

	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
	}
	for _, family := range families {
		switch family.GetName() {
		case "kinformer_objects", "kinformer_synced":
			expfmt.MetricFamilyToText(os.Stdout, family)
		}
	}
	// Output:
	// # HELP kinformer_objects Objects in the store.
	// # TYPE kinformer_objects gauge
	// kinformer_objects{group="",name="",ordinal="0",resource="my pods",server="",version="",watched_namespace=""} 1
	// # HELP kinformer_synced Whether the first list is in the store (1) or not (0).
	// # TYPE kinformer_synced gauge
	// kinformer_synced{group="",name="",ordinal="0",resource="my pods",server="",version="",watched_namespace=""} 1
}
