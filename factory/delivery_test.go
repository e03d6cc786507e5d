// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/factory"
)

// startOf begins to follow pods, and returns their informer and a function that creates one.
type startOf func(ctx context.Context, option factory.Option) (pods cache.SharedIndexInformer, create func(name string), shutdown func())

// TestFactoryWithDelivery: handlers that are added to the informers of a factory are served as its
// option says.
func TestFactoryWithDelivery(t *testing.T) {
	for name, optionFor := range map[string]func(cache.Option) factory.Option{
		"WithInformerOptions": func(o cache.Option) factory.Option { return factory.WithInformerOptions(o) },
		"WithConstructor":     func(o cache.Option) factory.Option { return factory.WithConstructor(cache.InformerFunc(o)) },
	} {
		for kind, start := range map[string]startOf{"Wrap": startWrapped, "Dynamic": startDynamic} {
			t.Run(kind+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var why error
					disconnectsSlowHandler(t, start, optionFor(cache.WithDelivery(cache.Delivery{
						Overflow: cache.OverflowDisconnect, Max: 1, OnDisconnect: func(err error) { why = err },
					})))
					assert.ErrorIs(t, why, cache.ErrDisconnected)
				})
			})
		}
	}
}

// disconnectsSlowHandler adds a handler that does not return, and creates more than it may be
// behind.
func disconnectsSlowHandler(t *testing.T, start startOf, option factory.Option) {
	ctx, cancel := context.WithCancel(bubbleContext(t))
	pods, create, shutdown := start(ctx, option)
	defer shutdown()
	defer cancel()
	release := make(chan struct{})
	defer close(release)
	handle, err := pods.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: func(any) { <-release }})
	require.NoError(t, err)
	synctest.Wait()
	for i := range 3 {
		create(fmt.Sprint("p", i))
		synctest.Wait()
	}
	assert.Equal(t, cache.HandlerDisconnected, handle.(cache.MeasuredRegistration).Stats().State)
}

func startWrapped(ctx context.Context, option factory.Option) (cache.SharedIndexInformer, func(string), func()) {
	client := fake.NewClientset()
	f := factory.Wrap(informers.NewSharedInformerFactory(client, 0), option)
	pods := f.Core().V1().Pods().Informer()
	f.StartWithContext(ctx)
	return pods, func(name string) {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}}
		_, err := client.CoreV1().Pods("ns").Create(ctx, pod, metav1.CreateOptions{})
		utilruntime.Must(err)
	}, f.Shutdown
}

func startDynamic(ctx context.Context, option factory.Option) (cache.SharedIndexInformer, func(string), func()) {
	client := dynamicfake.NewSimpleDynamicClient(scheme.Scheme)
	f := factory.Dynamic(client, 0, option)
	pods := f.ForResource(podsResource).Informer()
	f.StartWithContext(ctx)
	return pods, func(name string) {
		pod := &unstructured.Unstructured{}
		pod.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Pod"))
		pod.SetNamespace("ns")
		pod.SetName(name)
		_, err := client.Resource(podsResource).Namespace("ns").Create(ctx, pod, metav1.CreateOptions{})
		utilruntime.Must(err)
	}, f.Shutdown
}
