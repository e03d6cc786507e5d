// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/cachetest"
)

// startConfigMaps runs an informer on src with one handler, and returns a function that stops it.
func startConfigMaps(src *cachetest.Source, handler clientgo.ResourceEventHandler) (stop func()) {
	informer := clientgo.NewSharedIndexInformer(src, &corev1.ConfigMap{}, 0, clientgo.Indexers{})
	if _, err := informer.AddEventHandler(handler); err != nil {
		panic(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() { informer.RunWithContext(ctx) })
	return func() {
		cancel()
		group.Wait()
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// A handler receives the state, then each change.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	src := cachetest.Of(configMap("a"))
	var recorder cachetest.Recorder
	defer startConfigMaps(src, src.Track(&recorder))()
	if err := src.Settle(ctx); err != nil {
		fmt.Println(err)
	}

	cachetest.PatchAs(src, "default", "a", func(c *corev1.ConfigMap) { c.Data = map[string]string{"k": "v"} })
	src.Create(configMap("b"))
	src.Delete("default", "a")
	if err := src.Settle(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Print(recorder.String())
	// Output:
	// add default/a 2 initial
	// update default/a 2 -> 3
	// add default/b 4
	// delete default/a 5
}

// The connection is lost, and the server forgets the changes that happened meanwhile: the informer has
// to list again, and detects the deletion only in the list.
func ExampleSource_Compact() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	src := cachetest.New(cachetest.Options{
		Objects:   []runtime.Object{configMap("a")},
		NewList:   func() runtime.Object { return &corev1.ConfigMapList{} },
		WatchList: cachetest.WatchListUnsupported,
	})
	var recorder cachetest.Recorder
	defer startConfigMaps(src, src.Track(&recorder))()
	if err := src.Settle(ctx); err != nil {
		fmt.Println(err)
	}

	heal := src.Partition()
	src.Delete("default", "a")
	src.Compact(src.ResourceVersion())
	heal()
	if err := src.Settle(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Print(recorder.String())
	// Output:
	// add default/a 2 initial
	// delete default/a 2 unknown
}

// A request fails once, and is repeated.
func ExampleSource_FailNext() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()

	src := cachetest.Of(configMap("a"))
	src.FailNext(cachetest.VerbWatchList, cachetest.TooManyRequests(time.Second))
	var recorder cachetest.Recorder
	defer startConfigMaps(src, src.Track(&recorder))()
	if err := src.Settle(ctx); err != nil {
		fmt.Println(err)
	}
	for _, request := range src.Requests() {
		fmt.Println(request)
	}
	// Output:
	// watch-list rv="" match=NotOlderThan bookmarks
	// watch-list rv="" match=NotOlderThan bookmarks
}

// The error of Settle names the handlers that have not received the state, and the difference.
func ExampleSource_Settle() {
	src := cachetest.Of(configMap("a"))
	src.Track(nil).Named("a handler that was never registered")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(src.Settle(ctx))
	// Output:
	// cachetest: not settled: a handler that was never registered [default/a: was not told of "2"]: context canceled
}
