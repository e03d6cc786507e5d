// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/inspect"
)

// A readiness probe that fails until the informers have synced.
func ExampleReadyCheck() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	informer := cache.NewSharedIndexInformer(cachetest.New(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	ready := inspect.ReadyCheck(inspect.ReadyOptions{}, informer)
	probe := func() int {
		answer := httptest.NewRecorder()
		ready.ServeHTTP(answer, httptest.NewRequest("GET", "/readyz", nil))
		return answer.Code
	}
	fmt.Println(probe())

	defer runInformer(informer)()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	fmt.Println(probe())
	// Output:
	// 503
	// 200
}

// What an informer has done and what its store has.
func ExampleInspect() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	newInformer := cache.InformerFunc(cache.WithListMode(cache.ListModeList))
	informer := newInformer(cachetest.New(newConfigMap("a", "1"), newConfigMap("b", "1")), &corev1.ConfigMap{}, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	defer runInformer(informer)()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
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

// A program that should fail at its start, instead of waiting for a permission.
func ExampleWithErrorPolicy() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.New()
	server.FailNext(cachetest.VerbList, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role allows it")))
	newInformer := cache.InformerFunc(cache.WithListMode(cache.ListModeList), cache.WithErrorPolicy(cache.StopOnForbidden))
	informer := newInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	err := cache.WaitForSync(ctx, informer)
	status, _ := cache.StatusOf(informer)
	fmt.Println(apierrors.IsForbidden(err), status.Phase)
	// Output: true stopped
}

// A cache that is in doubt: the handler hears of what the watch did not bring.
func ExampleRelist() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.New(newConfigMap("a", "1"))
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	added := make(chan string, 2)
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(obj any) { added <- obj.(*corev1.ConfigMap).Name }})
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	found := server.Lose()
	server.Create(newConfigMap("b", "1"))
	found()

	if err := cache.Relist(informer); err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-added, <-added)
	// Output: a b
}

// What a handler does and how long its calls take.
func ExampleMeasuredRegistration() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	informer := cache.NewSharedIndexInformer(cachetest.New(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	handler := cache.ResourceEventHandlerFuncs{AddFunc: func(any) {}}
	registration, err := informer.AddEventHandler(cache.Deliver(handler, cache.Delivery{Name: "settings"}))
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()
	if err := cache.WaitForSync(ctx, registration); err != nil {
		fmt.Println(err)
	}
	if measured, ok := registration.(cache.MeasuredRegistration); ok {
		stats := measured.Stats()
		fmt.Println(stats.Name, stats.SyncError, stats.State == cache.HandlerStuck)
	}
	// Output: settings <nil> false
}

// A bound of what waits between the watch and the store.
func ExampleWithQueueLimit() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	newInformer := cache.InformerFunc(cache.WithQueueLimit(1000))
	informer := newInformer(cachetest.New(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	stats, ok := cache.QueueStatsOf(informer)
	fmt.Println(stats.Depth, stats.Limit, stats.Pauses, ok)
	// Output: 0 1000 0 true
}

// A ListerWatcher that is to request one namespace, and does not.
func ExampleWithExpectedNamespace() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	elsewhere := newConfigMap("b", "1")
	elsewhere.Namespace = "kube-system"
	newInformer := cache.InformerFunc(cache.WithExpectedNamespace("default"))
	informer := newInformer(cachetest.New(newConfigMap("a", "1"), elsewhere), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	status, err := cache.StatusOf(informer)
	fmt.Println(informer.GetStore().ListKeys(), status.Dropped, err)
	// Output: [default/a] 1 <nil>
}

// A transform that fails for one object, which should not keep the others from being listed.
func ExampleWithCachedOnTransformError() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	newInformer := cache.InformerFunc(cache.WithCachedOnTransformError(), cache.WithListMode(cache.ListModeList))
	informer := newInformer(cachetest.New(newConfigMap("a", "1"), newConfigMap("b", "")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	err := informer.SetTransform(func(obj any) (any, error) {
		if obj.(*corev1.ConfigMap).Data["value"] == "" {
			return nil, errors.New("there is no value")
		}
		return obj, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()
	if err := cache.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	stats, _ := cache.QueueStatsOf(informer)
	fmt.Println(informer.GetStore().ListKeys(), stats.Untransformed, stats.LastTransformError)
	// Output: [default/a] 1 there is no value
}
