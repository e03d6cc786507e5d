// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package mixing

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	clientgo "k8s.io/client-go/tools/cache"
	framework "k8s.io/client-go/tools/cache/testing"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/testkit"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

func boundedContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// told returns a handler that sends the objects of its notifications to events.
func told(events chan<- any) clientgo.ResourceEventHandler {
	return clientgo.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { events <- obj },
		UpdateFunc: func(_, obj any) { events <- obj },
		DeleteFunc: func(obj any) { events <- obj },
	}
}

func receive[T any](t *testing.T, ctx context.Context, events <-chan T) (e T) {
	t.Helper()
	select {
	case e = <-events:
	case <-ctx.Done():
		require.Fail(t, "nothing was heard")
	}
	return e
}

func TestTheirInformerUnderOurHelpers(t *testing.T) {
	ctx := boundedContext(t)
	source := cachetest.Of(testkit.Pod("a", "1"))
	informer := clientgo.NewSharedIndexInformer(source, &corev1.Pod{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	events := make(chan any, 10)
	registration, err := informer.AddEventHandler(kinformer.Deliver(cache.FilteringResourceEventHandler{
		FilterFunc: func(obj any) bool {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
			return err == nil && key == "ns/a"
		},
		Handler: told(events),
	}, kinformer.Delivery{Overflow: kinformer.OverflowCoalesce}))
	require.NoError(t, err)
	defer testkit.InBackground(t, informer.RunWithContext)()
	require.True(t, cache.WaitFor(ctx, "pods", informer.HasSyncedChecker(), registration.HasSyncedChecker()))
	require.True(t, cache.WaitForCacheSync(ctx.Done(), informer.HasSynced))
	assert.Equal(t, "a", receive(t, ctx, events).(*corev1.Pod).Name)
	var listed []any
	require.NoError(t, cache.ListAllByNamespace(informer.GetIndexer(), "ns", labels.Everything(), func(obj any) { listed = append(listed, obj) }))
	assert.Len(t, listed, 1)
	assert.Equal(t, 1, view.Len(informer.GetStore()))
	found, ok := view.TypedGet[*corev1.Pod](informer.GetStore(), "ns/a")
	require.True(t, ok)
	assert.Same(t, listed[0], found)
	require.NoError(t, kinformer.WaitForSync(ctx, informer.GetController()))
	_, err = inspect.StatusOf(informer.GetController())
	require.ErrorIs(t, err, inspect.ErrForeign)
	_, err = cache.NewGenericLister(informer.GetIndexer(), corev1.Resource("pods")).ByNamespace("ns").Get("a")
	require.NoError(t, err)
}

func TestOurInformerUnderTheirHelpers(t *testing.T) {
	ctx := boundedContext(t)
	source := framework.NewFakeControllerSource()
	source.Add(testkit.Pod("a", "1"))
	var informer clientgo.SharedIndexInformer = cache.NewSharedIndexInformer(source, &corev1.Pod{}, 0, clientgo.Indexers{})
	events := make(chan any, 10)
	registration, err := informer.AddEventHandler(told(events))
	require.NoError(t, err)
	defer testkit.InBackground(t, informer.RunWithContext)()
	require.True(t, clientgo.WaitFor(ctx, "pods", registration.HasSyncedChecker()))
	assert.Equal(t, "a", receive(t, ctx, events).(*corev1.Pod).Name)
}

func TestOurStoreUnderTheirReflector(t *testing.T) {
	ctx := boundedContext(t)
	pushed := make(chan []any, 10)
	store := &clientgo.UndeltaStore{Store: cache.NewStore(cache.MetaNamespaceKeyFunc), PushFunc: func(all []any) { pushed <- all }}
	source := cachetest.Of(testkit.Pod("a", "1"))
	defer testkit.InBackground(t, clientgo.NewReflector(source, &corev1.Pod{}, store, 0).RunWithContext)()
	assert.Len(t, receive(t, ctx, pushed), 1)
	assert.Equal(t, []string{"ns/a"}, store.ListKeys())
}

func TestOurRealFIFOUnderTheirController(t *testing.T) {
	ctx := boundedContext(t)
	source := cachetest.Of(testkit.Pod("a", "1"))
	popped := make(chan any, 10)
	queue := cache.NewRealFIFOWithOptions(cache.RealFIFOOptions{KeyFunction: cache.MetaNamespaceKeyFunc, KnownObjects: cache.NewStore(cache.MetaNamespaceKeyFunc)})
	controller := clientgo.New(&clientgo.Config{
		Queue: queue, ListerWatcher: source, ObjectType: &corev1.Pod{},
		Process: func(obj any, _ bool) error {
			for _, delta := range obj.(clientgo.Deltas) {
				popped <- delta.Object
			}
			return nil
		},
	})
	defer testkit.InBackground(t, controller.RunWithContext)()
	assert.Equal(t, "a", receive(t, ctx, popped).(*corev1.Pod).Name)
	source.Create(testkit.Pod("b", "1"))
	assert.Equal(t, "b", receive(t, ctx, popped).(*corev1.Pod).Name)
	require.True(t, clientgo.WaitForCacheSync(ctx.Done(), controller.HasSynced))
}
