// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/testkit"
)

// BenchmarkEvent is the way of one update of a small object from the watch channel to the last
// handler's return, for profiles; bench/ has the figures. The library is named first, so that
// benchstat can compare by it.
func BenchmarkEvent(b *testing.B) {
	for library, newInformer := range map[string]func(cache.ListerWatcher) cache.SharedIndexInformer{
		"kinformer": func(lw cache.ListerWatcher) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		},
		"client-go": func(lw cache.ListerWatcher) cache.SharedIndexInformer {
			return clientgo.NewSharedIndexInformer(lw, &corev1.ConfigMap{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
		},
	} {
		for _, slots := range []int{0, 1024} {
			for _, handlers := range []int{1, 4, 16, 64} {
				b.Run(fmt.Sprintf("library=%s/slots=%d/handlers=%d", library, slots, handlers), func(b *testing.B) {
					benchmarkEvent(b, newInformer, slots, handlers)
				})
			}
		}
	}
}

const benchmarkObjects = 2000

func benchmarkEvent(b *testing.B, newInformer func(cache.ListerWatcher) cache.SharedIndexInformer, slots, handlers int) {
	list := &corev1.ConfigMapList{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for i := range benchmarkObjects {
		list.Items = append(list.Items, *smallObject(i, 1))
	}
	events := make([]watch.Event, 10*benchmarkObjects)
	for i := range events {
		events[i] = watch.Event{Type: watch.Modified, Object: smallObject(i%benchmarkObjects, i+2)}
	}
	opened := make(chan chan watch.Event, 1) // no cachetest: its goroutine for a stream would be measured too
	informer := newInformer(&clientgo.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return list, nil },
		WatchFuncWithContext: func(_ context.Context, options metav1.ListOptions) (watch.Interface, error) {
			if options.SendInitialEvents != nil {
				return nil, fmt.Errorf("no watch-list here")
			}
			stream := make(chan watch.Event, slots)
			opened <- stream
			return watch.NewProxyWatcher(stream), nil
		},
	})
	var called atomic.Int64
	done := make(chan struct{})
	for range handlers {
		calls := 0
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{UpdateFunc: func(_, _ any) {
			if calls++; calls == b.N && called.Add(1) == int64(handlers) {
				close(done)
			}
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(b.Context())
	stopped := make(chan struct{})
	go func() { defer close(stopped); informer.RunWithContext(ctx) }()
	stream := <-opened
	b.ReportAllocs()
	b.ResetTimer()
	before := testkit.CpuTime(b)
	for i := range b.N {
		stream <- events[i%len(events)]
	}
	<-done
	b.StopTimer()
	b.ReportMetric(float64((testkit.CpuTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
	cancel()
	<-stopped
}

func smallObject(i, version int) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("object-%d", i), Namespace: fmt.Sprintf("ns-%d", i%20), ResourceVersion: fmt.Sprint(version),
	}}
}
