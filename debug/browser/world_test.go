// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/debug"
	"github.com/kinformer/cache/inspect"
)

// serve serves the page of this process until the test ends, and returns its address.
func serve(t *testing.T, options debug.Options) string {
	t.Helper()
	return serveBehind(t, debug.Handler(options))
}

func serveBehind(t *testing.T, h http.Handler) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.Handle("/debug/informers/", h)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server.URL + "/debug/informers/"
}

// follow runs an informer until the test ends.
func follow(t *testing.T, lw cache.ListerWatcher, name string, setUp func(cache.SharedIndexInformer), options ...cache.Option) cache.SharedIndexInformer {
	t.Helper()
	options = append(options, cache.WithObjectDescription(name))
	informer := cache.InformerFunc(options...)(lw, &corev1.Pod{}, 0, cache.Indexers{})
	if setUp != nil {
		setUp(informer)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); informer.RunWithContext(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return informer
}

// synced waits until an informer has synced.
func synced(t *testing.T, informer cache.SharedIndexInformer) cache.SharedIndexInformer {
	t.Helper()
	require.True(t, cache.WaitForCacheSync(t.Context().Done(), informer.HasSynced))
	return informer
}

// source is a server of some pods.
func source(pods ...string) *cachetest.Source {
	var objects []runtime.Object
	for _, name := range pods {
		objects = append(objects, pod(name))
	}
	return cachetest.NewSource(cachetest.Options{
		Objects: objects, Example: &corev1.Pod{}, NewList: func() runtime.Object { return &corev1.PodList{} },
	})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
}

// handling adds a handler.
func handling(t *testing.T, name string, onAdd func(any)) func(cache.SharedIndexInformer) {
	return func(informer cache.SharedIndexInformer) {
		_, err := informer.AddEventHandler(cache.Deliver(cache.ResourceEventHandlerFuncs{AddFunc: onAdd}, cache.Delivery{Name: name}))
		require.NoError(t, err)
	}
}

// indexing adds an index.
func indexing(t *testing.T, name string, index cache.IndexFunc) func(cache.SharedIndexInformer) {
	return func(informer cache.SharedIndexInformer) {
		require.NoError(t, informer.AddIndexers(cache.Indexers{name: index}))
	}
}

func both(first, second func(cache.SharedIndexInformer)) func(cache.SharedIndexInformer) {
	return func(informer cache.SharedIndexInformer) { first(informer); second(informer) }
}

// pageOf is the address of an informer's page.
func pageOf(t *testing.T, address string, informer cache.SharedIndexInformer) string {
	t.Helper()
	inspection, err := inspect.Of(informer)
	require.NoError(t, err)
	return fmt.Sprintf("%s?id=%d", address, inspection.ID)
}

// soon has an informer try again soon.
var soon = cache.WithBackoff(wait.Backoff{Duration: 50 * time.Millisecond, Factor: 1, Steps: 1, Cap: 50 * time.Millisecond})
