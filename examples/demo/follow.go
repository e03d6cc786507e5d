// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache"
)

// follower is the informer with what the screen shows of it.
type follower struct {
	informer cache.SharedIndexInformer
	stop     func() // ends the informer and waits for it

	events atomic.Int64 // changes that the handler was told of, after the initial list
	mu     sync.Mutex
	lags   []time.Duration // how long after their writes the handler has heard of the last changes
}

// keptLags are those of three minutes at the demo's rate.
const keptLags = 1 << 16

// lag returns the lag of half, and of 99 %, of the last changes, in milliseconds.
func (f *follower) lag() (half, most float64) {
	f.mu.Lock()
	lags := slices.Sorted(slices.Values(f.lags))
	f.mu.Unlock()
	if len(lags) == 0 {
		return 0, 0
	}
	at := func(percent int) float64 { return lags[(len(lags)-1)*percent/100].Seconds() * 1000 }
	return at(50), at(99)
}

// constructor is what makes informers in a library.
type constructor func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

// follow starts an informer on the world's resource.
func follow(ctx context.Context, w *world, newInformer constructor) *follower {
	f := &follower{}
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(w.kind)
	source := &cache.ListWatch{
		ListWithContextFunc:  func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return w.client.List(ctx, o) },
		WatchFuncWithContext: w.client.Watch,
	}
	f.informer = newInformer(source, example, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	if _, err := f.informer.AddEventHandler(f.handler()); err != nil {
		panic(err) // the informer is new
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.informer.RunWithContext(ctx)
	}()
	f.stop = func() { cancel(); <-done }
	return f
}

// handler hears of changes. After an outage it may be given objects that are as they were before:
// those are none.
func (f *follower) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				f.heard(obj)
			}
		},
		UpdateFunc: func(old, obj any) {
			if versionOf(old) != versionOf(obj) {
				f.heard(obj)
			}
		},
		DeleteFunc: func(any) { f.events.Add(1) },
	}
}

func versionOf(obj any) string {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return ""
	}
	return accessor.GetResourceVersion()
}

// status is what the informer says of itself.
func (f *follower) status() cache.Status {
	s, err := cache.StatusOf(f.informer)
	if err != nil {
		panic(err) // it is one of ours
	}
	return s
}

// heard counts a change, and how long ago its object was written if that says so.
func (f *follower) heard(obj any) {
	f.events.Add(1)
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	nanos, err := strconv.ParseInt(accessor.GetAnnotations()[writtenAt], 10, 64)
	if err != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.lags) == keptLags {
		f.lags = append(f.lags[:0], f.lags[keptLags/2:]...)
	}
	f.lags = append(f.lags, time.Since(time.Unix(0, nanos)))
}
