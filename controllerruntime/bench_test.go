// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	clientgo "k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/kinformer/cache"
)

// benchPods is how many pods the benchmarks' server holds.
const benchPods = 2000

// BenchmarkCacheSync makes a cache, waits until it has all pods and stops it, with our informers and with the default ones.
func BenchmarkCacheSync(b *testing.B) {
	ctx := b.Context()
	s := newStage(b, ctx)
	s.createPods(b, ctx, "default", benchPods)
	b.Run("kinformer", func(b *testing.B) { syncCaches(b, s, ctrlcache.Options{NewInformer: cache.NewSharedIndexInformer}) })
	b.Run("default", func(b *testing.B) { syncCaches(b, s, ctrlcache.Options{NewInformer: clientgo.NewSharedIndexInformer}) })
}

func syncCaches(b *testing.B, s stage, options ctrlcache.Options) {
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		c, err := ctrlcache.New(s.Config(), options)
		require.NoError(b, err)
		_, err = c.GetInformer(ctx, &corev1.Pod{}, ctrlcache.BlockUntilSynced(false))
		require.NoError(b, err)
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		require.True(b, c.WaitForCacheSync(ctx))
		var pods corev1.PodList
		require.NoError(b, c.List(ctx, &pods))
		require.Len(b, pods.Items, benchPods)
		cancel()
		require.NoError(b, <-ended)
	}
}
