// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	goruntime "runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
)

// TestAnIdleInformerHasTwoGoroutines: that of Run, and the reflector's, however many handlers there
// are. A watch that has none of its own shows that.
func TestAnIdleInformerHasTwoGoroutines(t *testing.T) {
	const informers = 20
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		newInformer := cache.InformerFunc(cache.WithListMode(cache.ListModeList))
		before := goroutinesInBubble()
		var synced []cache.InformerSynced
		for range informers {
			informer := newInformer(quietPods(), &v1.Pod{}, 0, cache.Indexers{})
			for range 3 {
				_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
				require.NoError(t, err)
			}
			running.Go(func() { informer.RunWithContext(ctx) })
			synced = append(synced, informer.HasSynced)
		}
		synctest.Wait()
		for _, hasSynced := range synced {
			assert.True(t, hasSynced())
		}
		assert.Equal(t, 2*informers, goroutinesInBubble()-before)
		cancel()
		running.Wait()
	})
}

// goroutinesInBubble returns how many goroutines are in synctest's bubbles, of which there is one.
func goroutinesInBubble() int {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:goruntime.Stack(stacks, true)]
	return strings.Count(string(stacks), "synctest bubble")
}

// quietPods lists one pod, and watches nothing.
func quietPods() *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			pod := v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "n", ResourceVersion: "1"}}
			return &v1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []v1.Pod{pod}}, nil
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewFake(), nil
		},
	}
}
