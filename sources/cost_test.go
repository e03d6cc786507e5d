// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package sources_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/sources"
)

// TestCost: an idle namespace uses two goroutines, one of which is the stream of the fake server, and
// at most 12 KiB besides their stacks.
func TestCost(t *testing.T) {
	const namespaces = 500
	server := cachetest.New(cachetest.Options{
		Example: &corev1.Pod{}, NewList: func() k8sruntime.Object { return &corev1.PodList{} }, WatchList: cachetest.WatchListUnsupported,
	})
	informer, set := sources.New(&corev1.Pod{}, kinformer.Options{})
	defer testkit.InBackground(t, informer.RunWithContext)()
	require.NoError(t, kinformer.WaitForSync(t.Context(), informer))

	goroutines := runtime.NumGoroutine()
	heap, stacks := memory()
	for i := range namespaces {
		set.Put(fmt.Sprint(i), &lister{request: request{namespace: fmt.Sprint("n", i)}, server: server})
	}
	require.NoError(t, server.WaitWatching(t.Context(), namespaces))
	for _, source := range set.All() {
		require.NoError(t, kinformer.WaitForSync(t.Context(), source))
	}
	heapNow, stacksNow := memory()
	heap, stacks = (heapNow-heap)/namespaces, (stacksNow-stacks)/namespaces
	t.Logf("%d bytes, %d of stacks and %.2f goroutines a namespace", heap, stacks, float64(runtime.NumGoroutine()-goroutines)/namespaces)
	assert.LessOrEqual(t, runtime.NumGoroutine()-goroutines, 2*namespaces+2)
	assert.LessOrEqual(t, heap, int64(12<<10))
}

// memory returns the bytes of live objects and of stacks, when stacks have their minimum size: each
// collection halves unused ones.
func memory() (heap, stacks int64) {
	for range 5 {
		runtime.GC()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc), int64(stats.StackInuse)
}
