// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/kinformer"
)

// sides are compared, the first one with each of the others.
var sides = []string{"client-go", "direct", "shared"}

// shared is the side with all that saves.
const shared = 2

// newInformer returns the constructor of a side.
func newInformer(side int) func(clientgo.ListerWatcher, runtime.Object, time.Duration, clientgo.Indexers) clientgo.SharedIndexInformer {
	if side == 0 {
		return clientgo.NewSharedIndexInformer
	}
	return kinformer.Constructor(kinformer.Options{Decoding: kinformer.Decoding{ShareParts: side == shared}})
}

const (
	// slowness is how long the slow handler takes for each notification.
	slowness = 10 * time.Millisecond
	// look is how often the demo looks whether something has happened.
	look = 5 * time.Millisecond
)

// follower has the informers of a program: one of all pods, with a prompt and a slow handler, and one of the
// ConfigMaps of each namespace.
type follower struct {
	informers []cache.SharedIndexInformer // that of pods is the first
	marked    []string                    // the key of the object of each that is marked
	expiry    expiry
	unchanged atomic.Int64 // how often the prompt handler was told of a pod that is as it was
	stop      func()       // ends the informers and waits for them
}

// follow starts the informers of a side. first is the key of the pod that is marked.
func follow(ctx context.Context, config *rest.Config, side int, first string) (*follower, error) {
	f := &follower{}
	config.QPS = -1
	config.Wrap(f.expiry.wrap)
	if side > 0 {
		config.Wrap(direct.Transport)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	add := func(resource, namespace, key string, example runtime.Object) {
		source := clientgo.NewListWatchFromClient(client.CoreV1().RESTClient(), resource, namespace, fields.Everything())
		f.informers = append(f.informers, newInformer(side)(source, example, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}))
		f.marked = append(f.marked, key)
	}
	add("pods", "", first, &corev1.Pod{})
	for i := range namespaces {
		add("configmaps", namespace(i), namespace(i)+"/"+configName, &corev1.ConfigMap{})
	}
	for _, handler := range []cache.ResourceEventHandler{f.prompt(), slow()} {
		if _, err := f.informers[0].AddEventHandler(handler); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	for _, informer := range f.informers {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	f.stop = func() { cancel(); running.Wait() }
	return f, nil
}

// prompt is a handler that counts pods that are as they were: a relist has handlers hear of all.
func (f *follower) prompt() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{UpdateFunc: func(old, obj any) {
		if old.(*corev1.Pod).ResourceVersion == obj.(*corev1.Pod).ResourceVersion {
			f.unchanged.Add(1)
		}
	}}
}

func slow() cache.ResourceEventHandler {
	wait := func(any) { time.Sleep(slowness) }
	return cache.ResourceEventHandlerFuncs{AddFunc: wait, UpdateFunc: func(_, obj any) { wait(obj) }, DeleteFunc: wait}
}

// await waits until a condition holds.
func await(ctx context.Context, what string, holds func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !holds() {
		if !sleep(ctx, look) {
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		}
	}
	return nil
}

// synced waits until all informers have synced.
func (f *follower) synced(ctx context.Context) error {
	return await(ctx, "the informers have not synced", func() bool {
		for _, informer := range f.informers {
			if !informer.HasSynced() {
				return false
			}
		}
		return true
	})
}

// current waits until the caches have these versions of the objects that are marked, or later ones.
func (f *follower) current(ctx context.Context, versions []string) error {
	return await(ctx, "the caches are not current", func() bool {
		for i, informer := range f.informers {
			obj, exists, err := informer.GetStore().GetByKey(f.marked[i])
			if err != nil || !exists || number(obj.(metav1.Object).GetResourceVersion()) < number(versions[i]) {
				return false
			}
		}
		return true
	})
}

// number is a version of the API server's as what it is.
func number(version string) uint64 {
	n, _ := strconv.ParseUint(version, 10, 64) // "" is before all
	return n
}

// relist has the server forget the version of the pods, so that the informer lists them anew, and returns the longest Get meanwhile.
func (f *follower) relist(ctx context.Context) (longest time.Duration, err error) {
	pods, before := f.informers[0].GetStore(), f.unchanged.Load()
	all := int64(len(pods.ListKeys()))
	done := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Microsecond): // a loop without a pause would be preempted in a Get
			}
			start := time.Now()
			_, _, missed := pods.GetByKey(f.marked[0])
			longest, err = max(longest, time.Since(start)), errors.Join(err, missed)
		}
	})
	f.expiry.now()
	failed := await(ctx, "the pods were not listed anew", func() bool { return f.unchanged.Load()-before >= all })
	close(done)
	reader.Wait()
	return longest, errors.Join(err, failed)
}
