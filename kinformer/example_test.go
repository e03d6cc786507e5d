// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/cachetest"
	"github.com/kinformer/cache/kinformer"
)

// newConfigMap returns a ConfigMap for the examples.
func newConfigMap(name, value string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
		Data:       map[string]string{"value": value},
	}
}

// runInformer runs an informer until the function that it returns is called.
func runInformer(informer cache.SharedIndexInformer) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

// An error of WaitForSync says why, and errors.As and its kin look into it.
func ExampleWaitForSync() {
	server := cachetest.New()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no role allows it"))
	server.FailNext(cachetest.VerbList, forbidden)
	informer := cache.InformerFunc(cache.WithListMode(cache.ListModeList))(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	failed := make(chan struct{})
	_ = informer.SetWatchErrorHandler(func(*cache.Reflector, error) { close(failed) }) // instead of the log
	defer runInformer(informer)()

	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-failed
		cancel(errors.New("the program ends"))
	}()
	err := kinformer.WaitForSync(ctx, informer)
	fmt.Println(apierrors.IsForbidden(err))
	// Output: true
}

// A controller that reads its own write: the version that the write returned is in the store when
// the wait is over.
func ExampleWaitForVersion() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	server := cachetest.New()
	informer := cache.NewSharedIndexInformer(server, &corev1.ConfigMap{}, 0, cache.Indexers{})
	defer runInformer(informer)()

	written := server.Create(newConfigMap("a", "mine")).(*corev1.ConfigMap)
	if err := kinformer.WaitForVersion(ctx, informer, written.ResourceVersion); err != nil {
		fmt.Println(err)
	}
	obj, exists, _ := informer.GetStore().GetByKey("default/a")
	fmt.Println(exists, obj.(*corev1.ConfigMap).Data["value"])
	// Output: true mine
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
	if err := kinformer.WaitForSync(ctx, informer); err != nil {
		fmt.Println(err)
	}
	found := server.Lose()
	server.Create(newConfigMap("b", "1"))
	found()

	if err := kinformer.Relist(informer); err != nil {
		fmt.Println(err)
	}
	fmt.Println(<-added, <-added)
	// Output: a b
}
