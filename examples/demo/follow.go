// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
)

// follower is the informer with what the screen shows of it.
type follower struct {
	informer cache.SharedIndexInformer
	handler  cache.ResourceEventHandlerRegistration
	source   *countingSource
	stop     func() // ends the informer and waits for it

	events atomic.Int64 // notifications after the initial list
	mu     sync.Mutex
	lag    time.Duration // the greatest since the last look; guarded by mu
	lagged bool          // there was one; guarded by mu
}

// follow starts an informer on the world's resource.
func follow(ctx context.Context, w *world) *follower {
	f := &follower{source: &countingSource{client: w}}
	example := &unstructured.Unstructured{}
	example.SetGroupVersionKind(w.kind)
	f.informer = cache.NewSharedIndexInformer(f.source, example, 0, cache.Indexers{
		cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	})
	handler, err := f.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, initial bool) {
			if !initial {
				f.heard(obj)
			}
		},
		UpdateFunc: func(_, obj any) { f.heard(obj) },
		DeleteFunc: func(any) { f.events.Add(1) },
	})
	if err != nil {
		panic(err) // the informer is new
	}
	f.handler = handler
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.informer.RunWithContext(ctx)
	}()
	f.stop = func() { cancel(); <-done }
	return f
}

// heard counts an event, and how long ago its object was written if that says so.
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
	lag := time.Since(time.Unix(0, nanos))
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lag, f.lagged = max(f.lag, lag), true
}

// takeLag returns the greatest lag since the last call; ok is false if nothing with a time of writing came.
func (f *follower) takeLag() (lag time.Duration, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	lag, ok = f.lag, f.lagged
	f.lag, f.lagged = 0, false
	return lag, ok
}

// countingSource is the ListerWatcher, which knows what the informer asks for.
type countingSource struct {
	client                  *world
	lists, streams, watches atomic.Int64
}

func (s *countingSource) List(o metav1.ListOptions) (runtime.Object, error) {
	return s.ListWithContext(context.Background(), o)
}

func (s *countingSource) Watch(o metav1.ListOptions) (watch.Interface, error) {
	return s.WatchWithContext(context.Background(), o)
}

func (s *countingSource) ListWithContext(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	s.lists.Add(1)
	return s.client.client.List(ctx, o)
}

func (s *countingSource) WatchWithContext(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	w, err := s.client.client.Watch(ctx, o)
	if err != nil {
		return nil, err
	}
	if o.SendInitialEvents != nil && *o.SendInitialEvents {
		s.streams.Add(1)
	} else {
		s.watches.Add(1)
	}
	return w, nil
}

// mode is how the informer got its state last.
func (s *countingSource) mode() string {
	switch {
	case s.streams.Load() > 0:
		return "watch-list"
	case s.lists.Load() > 0:
		return "list"
	default:
		return "connecting"
	}
}

// reconnects is how many connections there were after the first one. A stream goes on as a watch; a list is followed by one.
func (s *countingSource) reconnects() int64 { return max(0, s.streams.Load()+s.watches.Load()-1) }
