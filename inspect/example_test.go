// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package inspect_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

// newConfigMap returns a ConfigMap for the examples.
func newConfigMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// runInformer runs an informer until stop is called, and waits until it and its handlers have
// synced.
func runInformer(informer cache.SharedIndexInformer, handlers ...inspect.Syncer) (stop func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	if err := kinformer.WaitForSync(ctx, append(handlers, informer)...); err != nil {
		fmt.Println(err)
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// The phase and the problems of an informer.
func ExampleStatusOf() {
	informer := cache.NewSharedIndexInformer(cachetest.Of(newConfigMap("a")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	status, _ := inspect.StatusOf(informer)
	fmt.Println(status.Phase)

	defer runInformer(informer)()
	status, _ = inspect.StatusOf(informer)
	fmt.Println(status.Objects, status.LastError)
	// Output:
	// new
	// 1 <nil>
}

// A readiness probe that fails until the informers have synced.
func ExampleReady() {
	informer := cache.NewSharedIndexInformer(cachetest.Of(newConfigMap("a")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	ready := inspect.Ready(inspect.ReadyOptions{}, informer)
	probe := func() int {
		answer := httptest.NewRecorder()
		ready.ServeHTTP(answer, httptest.NewRequest("GET", "/readyz", nil))
		return answer.Code
	}
	fmt.Println(probe())

	defer runInformer(informer)()
	fmt.Println(probe())
	// Output:
	// 503
	// 200
}

// The history of an informer and the size of its store.
func ExampleOf() {
	newInformer := kinformer.Constructor(kinformer.Options{Requests: kinformer.Requests{Mode: kinformer.ListModeList}})
	informer := newInformer(cachetest.Of(newConfigMap("a"), newConfigMap("b")), &corev1.ConfigMap{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	defer runInformer(informer)()
	inspection, err := inspect.Of(informer)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(inspection.Type, inspection.Status.Objects)
	for _, index := range inspection.Indices {
		fmt.Println(index.Name, "values:", index.Values, "members:", index.Members)
	}
	// Output:
	// *v1.ConfigMap 2
	// namespace values: 1 members: 2
}

// The state of a handler and the time of its calls.
func ExampleHandlerOf() {
	informer := cache.NewSharedIndexInformer(cachetest.Of(newConfigMap("a")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}}
	registration, err := informer.AddEventHandler(kinformer.Deliver(handler, kinformer.Delivery{Name: "settings"}))
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer, registration)()
	stats, err := inspect.HandlerOf(registration)
	fmt.Println(stats.Name, stats.SyncError, stats.State == inspect.HandlerStuck, err)
	// Output: settings <nil> false <nil>
}
