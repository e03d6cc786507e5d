// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/internal/testkit"
)

// TestInformerAnswersWhileAHandlerWaitsToJoin: a handler joins between two batches, and so waits
// for an index function that takes its time. Those who ask the informer something do not, also the
// index function itself.
func TestInformerAnswersWhileAHandlerWaitsToJoin(t *testing.T) {
	inside, held := make(chan struct{}), make(chan struct{})
	release := sync.OnceFunc(func() { close(held) })
	indexers := cache.Indexers{"slow": func(any) ([]string, error) {
		close(inside)
		<-held
		return nil, nil
	}}
	server := cachetest.New()
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, indexers)
	defer runInformer(informer)()
	defer release()
	cache.WaitFor(t.Context(), "config maps", informer.HasSyncedChecker())
	server.Create(newConfigMap("a", "1"))
	<-inside

	joined, asked := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{})
		joined <- err
	}()
	go func() {
		defer close(asked)
		for range 10_000 { // the other goroutine is waiting long before the last of them
			_, _ = cache.StatusOf(informer)
			informer.IsStopped()
			runtime.Gosched()
		}
	}()
	select {
	case <-asked:
	case <-time.After(testkit.Patience):
		require.Fail(t, "StatusOf waits for AddEventHandler")
	}
	assert.Empty(t, joined, "the handler waits for the batch")
	release()
	assert.NoError(t, <-joined)
	<-asked
}
