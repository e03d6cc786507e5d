// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/internal/testkit/workload"
	"github.com/kinformer/cache/kinformer"
)

// sides are the compared sides: the first is compared with each of the others.
var sides = [...]string{"client-go", "direct", "shared"}

// shared is the side with direct decoding and ShareParts.
const shared = 2

// newInformer returns the constructor of a side's informers.
func newInformer(side int) func(clientgo.ListerWatcher, runtime.Object, time.Duration, clientgo.Indexers) clientgo.SharedIndexInformer {
	if side == 0 {
		return clientgo.NewSharedIndexInformer
	}
	return kinformer.Constructor(kinformer.Options{Decoding: kinformer.Decoding{ShareParts: side == shared}})
}

const (
	// slowness is the duration of each call of the slow handler.
	slowness = 100 * time.Millisecond
	// pollInterval is the interval of polls and retries.
	pollInterval = 5 * time.Millisecond
)

// follower holds the informers of a program: one of all pods, with a prompt and a slow handler, and
// one of the ConfigMaps of each namespace.
type follower struct {
	informers []cache.SharedIndexInformer // the first is that of pods
	marked    []string                    // the key of each informer's marked object
	longest   atomic.Int64                // the longest Get of a pod, in nanoseconds
	stop      func()                      // ends the informers and waits for them
}

// follow starts the informers of a side.
func follow(ctx context.Context, config *rest.Config, side int) (*follower, error) {
	f := &follower{}
	config.QPS = -1
	if side > 0 {
		config.Wrap(direct.Transport)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	add := func(resource, namespace, key string, example runtime.Object, indexers cache.Indexers) {
		source := clientgo.NewListWatchFromClient(client.CoreV1().RESTClient(), resource, namespace, fields.Everything())
		f.informers = append(f.informers, newInformer(side)(source, example, 0, indexers))
		f.marked = append(f.marked, key)
	}
	first := workload.Pod(workload.Config{N: 1}, 0)
	add("pods", "", first.Namespace+"/"+first.Name, &corev1.Pod{}, indexers)
	for i := range namespaces {
		add("configmaps", namespace(i), namespace(i)+"/"+configName, &corev1.ConfigMap{}, nil)
	}
	prompt := func(any) {}
	slow := func(any) { time.Sleep(slowness) }
	for _, handle := range []func(any){prompt, slow} {
		handler := cache.ResourceEventHandlerFuncs{AddFunc: handle, UpdateFunc: func(_, obj any) { handle(obj) }, DeleteFunc: handle}
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

// indexers are the indexers of pods in a controller manager.
var indexers = cache.Indexers{
	cache.NamespaceIndex: cache.MetaNamespaceIndexFunc,
	"node":               func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).Spec.NodeName}, nil },
	"owner":              func(obj any) ([]string, error) { return []string{obj.(*corev1.Pod).OwnerReferences[0].Name}, nil },
}

// await waits until holds returns true, and fails after patience. state names the condition.
func await(state string, holds func() bool) error {
	for began := time.Now(); !holds(); time.Sleep(pollInterval) {
		if time.Since(began) > patience {
			return fmt.Errorf("after %s the caches are not %s", patience, state)
		}
	}
	return nil
}

// synced waits until all informers have synced.
func (f *follower) synced() error {
	return await("synced", func() bool {
		return !slices.ContainsFunc(f.informers, func(i cache.SharedIndexInformer) bool { return !i.HasSynced() })
	})
}

// current waits until the caches have at least these versions of the marked objects.
func (f *follower) current(versions []string) error {
	return await("current", func() bool {
		for i, informer := range f.informers {
			obj, exists, err := informer.GetStore().GetByKey(f.marked[i])
			if err != nil || !exists {
				return false
			}
			version := obj.(metav1.Object).GetResourceVersion()
			if order, err := resourceversion.CompareResourceVersion(version, versions[i]); err != nil || order < 0 {
				return false
			}
		}
		return true
	})
}

// read reads a pod in an endless loop, and stores the longest Get.
func (f *follower) read() {
	for pods := f.informers[0].GetStore(); ; time.Sleep(100 * time.Microsecond) { // the system preempts loops without a pause
		start := time.Now()
		_, _, _ = pods.GetByKey(f.marked[0])
		f.longest.Store(max(f.longest.Load(), int64(time.Since(start))))
	}
}
