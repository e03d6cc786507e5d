// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

// newConfigMap returns a ConfigMap for the examples.
func newConfigMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Data:       map[string]string{"value": value},
	}
}

// runInformer runs an informer until the returned function is called.
func runInformer(informer cache.SharedIndexInformer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// An informer with an index and a handler that puts names into a queue, as in client-go.
func ExampleNewSharedIndexInformer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.Of(newConfigMap("a", "1"), newConfigMap("b", "2"))
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	names := make(chan cache.ObjectName, 10) // a workqueue, in a controller
	enqueue := func(obj any) {
		if name, err := cache.DeletionHandlingObjectToName(obj); err == nil {
			names <- name
		}
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: enqueue, UpdateFunc: func(_, obj any) { enqueue(obj) }, DeleteFunc: enqueue,
	})
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()

	if err := kinformer.WaitForSync(ctx, informer, registration); err != nil {
		fmt.Println(err)
	}
	found, err := informer.GetIndexer().ByIndex(cache.NamespaceIndex, "default")
	fmt.Println(len(found), err, len(names))
	// Output: 2 <nil> 2
}

// A view of an informer with the type of its objects, in handlers and in reads.
func ExampleNewTypedSharedIndexInformer() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.Of(newConfigMap("a", "1"))
	informer := cache.NewTypedSharedIndexInformer[*corev1.ConfigMap](
		cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{}))
	registration, err := informer.AddTypedEventHandler(cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(added *corev1.ConfigMap) { fmt.Println("added", added.Name) },
	})
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()

	if err := kinformer.WaitForSync(ctx, registration); err != nil {
		fmt.Println(err)
	}
	if found, ok := view.TypedGet[*corev1.ConfigMap](informer.GetStore(), "default/a"); ok {
		fmt.Println(found.Data["value"])
	}
	// Output:
	// added a
	// 1
}
