// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
)

// A program of many informers, which takes memory for one list at a time when it starts.
func ExampleNewListSlots() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	newInformer := cache.InformerFunc(cache.WithListSlots(cache.NewListSlots(1)))
	first := newInformer(cachetest.New(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	second := newInformer(cachetest.New(newConfigMap("b", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(first)()
	defer runInformer(second)()
	fmt.Println(cache.WaitForSync(ctx, first), cache.WaitForSync(ctx, second))
	// Output: <nil> <nil>
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

// A program that ends when one of its informers stops for good.
func ExampleWithStopHandler() {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)

	server := cachetest.New()
	server.FailNext(cachetest.VerbList, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role allows it")))
	newInformer := cache.InformerFunc(
		cache.WithListMode(cache.ListModeList),
		cache.WithErrorPolicy(cache.StopOnForbidden),
		cache.WithStopHandler(func(_ context.Context, err error) { cancel(err) }),
	)
	informer := newInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	<-ctx.Done()
	fmt.Println(apierrors.IsForbidden(context.Cause(ctx)))
	// Output: true
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

// The handler of a typed informer, of which only the newest states are asked for.
func ExampleDeliverTyped() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	informer := cache.NewSharedIndexInformer(cachetest.New(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	registration, err := informer.AddEventHandler(cache.DeliverTyped(cache.TypedResourceEventHandlerFuncs[*corev1.ConfigMap]{
		AddFunc: func(added *corev1.ConfigMap) { fmt.Println("added", added.Name) },
	}, cache.Delivery{Overflow: cache.OverflowCoalesce}))
	if err != nil {
		fmt.Println(err)
	}
	defer runInformer(informer)()
	fmt.Println(cache.WaitForSync(ctx, registration))
	// Output:
	// added a
	// <nil>
}
