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
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/kinformer"
)

// A program that should fail at its start, instead of waiting for a permission.
func ExampleWithErrorPolicy() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.New()
	server.FailNext(cachetest.VerbList, apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role allows it")))
	newInformer := cache.InformerFunc(cache.WithListMode(cache.ListModeList), cache.WithErrorPolicy(cache.StopOnForbidden))
	informer := newInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	err := kinformer.WaitForSync(ctx, informer)
	status, _ := inspect.StatusOf(informer)
	fmt.Println(apierrors.IsForbidden(err), status.Phase)
	// Output: true stopped
}

// A bound of what waits between the watch and the store.
func ExampleWithQueueLimit() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	newInformer := cache.InformerFunc(cache.WithQueueLimit(1000))
	informer := newInformer(cachetest.New(newConfigMap("a", "1")), &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()
	if err := kinformer.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	stats, err := inspect.QueueOf(informer)
	fmt.Println(stats.Depth, stats.Limit, stats.Pauses, err)
	// Output: 0 1000 0 <nil>
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
	if err := kinformer.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	status, err := inspect.StatusOf(informer)
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
	if err := kinformer.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	stats, _ := inspect.QueueOf(informer)
	fmt.Println(informer.GetStore().ListKeys(), stats.Untransformed, stats.LastTransformError)
	// Output: [default/a] 1 there is no value
}
