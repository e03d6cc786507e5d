// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/cache"
)

// benchPods is how many pods the benchmarks' server holds, on benchNodes nodes.
const (
	benchPods  = 2000
	benchNodes = 2 // as createPods has them
)

// onBothSides runs a benchmark with our informers and with controller-runtime's default.
func onBothSides(b *testing.B, run func(b *testing.B, options ctrlcache.Options)) {
	b.Run("kinformer", func(b *testing.B) { run(b, ctrlcache.Options{NewInformer: cache.NewSharedIndexInformer}) })
	b.Run("default", func(b *testing.B) { run(b, ctrlcache.Options{}) })
}

// benchCache is a running cache that has all pods. The returned function stops it and waits for it.
func benchCache(b *testing.B, s stage, options ctrlcache.Options) (ctrlcache.Cache, func()) {
	ctx, cancel := context.WithCancel(b.Context())
	c, err := ctrlcache.New(s.Config(), options)
	require.NoError(b, err)
	require.NoError(b, c.IndexField(ctx, &corev1.Pod{}, "spec.nodeName", func(obj client.Object) []string {
		return []string{obj.(*corev1.Pod).Spec.NodeName}
	}))
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	require.True(b, c.WaitForCacheSync(ctx))
	return c, func() { cancel(); require.NoError(b, <-ended) }
}

// BenchmarkCacheSync makes a cache, waits until it has all pods, lists them once and stops it.
func BenchmarkCacheSync(b *testing.B) {
	s := newStage(b, b.Context())
	s.createPods(b, b.Context(), "default", benchPods)
	onBothSides(b, func(b *testing.B, options ctrlcache.Options) {
		b.ReportAllocs()
		for b.Loop() {
			c, stop := benchCache(b, s, options)
			var pods corev1.PodList
			require.NoError(b, c.List(b.Context(), &pods))
			require.Len(b, pods.Items, benchPods)
			stop()
		}
	})
}

// BenchmarkCacheReads reads from a cache that is at rest. Most of it is the copying that
// controller-runtime does for its callers, so that "list uncopied" tells more of the informer.
func BenchmarkCacheReads(b *testing.B) {
	s := newStage(b, b.Context())
	s.createPods(b, b.Context(), "default", benchPods)
	onBothSides(b, func(b *testing.B, options ctrlcache.Options) {
		c, stop := benchCache(b, s, options)
		defer stop()
		key := client.ObjectKey{Namespace: "default", Name: "pod-7"}
		b.Run("get", func(b *testing.B) {
			var pod corev1.Pod
			for b.Loop() {
				require.NoError(b, c.Get(b.Context(), key, &pod))
			}
		})
		list := func(b *testing.B, options ...client.ListOption) {
			for b.Loop() {
				var pods corev1.PodList
				require.NoError(b, c.List(b.Context(), &pods, options...))
				require.Len(b, pods.Items, benchPods/benchNodes)
			}
		}
		onNode := client.MatchingFields{"spec.nodeName": "node-1"}
		b.Run("list", func(b *testing.B) { list(b, onNode) })
		b.Run("list uncopied", func(b *testing.B) { list(b, onNode, client.UnsafeDisableDeepCopy) })
	})
}
