// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/dynamic/dynamiclister"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/metadata/metadatalister"
	"k8s.io/klog/v2"

	"github.com/kinformer/cache"
)

var (
	_ dynamicinformer.DynamicSharedInformerFactory = &ResourceFactory{}
	_ metadatainformer.SharedInformerFactory       = &ResourceFactory{}
)

// Dynamic returns a factory whose informers hold *unstructured.Unstructured. resync is the period of their
// resyncs, unless their options have one; 0 means never.
func Dynamic(client dynamic.Interface, resync time.Duration, options ...Option) *ResourceFactory {
	return newResourceFactory(resync, options, resourceKind{
		client:  client,
		example: func() runtime.Object { return &unstructured.Unstructured{} },
		listWatch: func(gvr schema.GroupVersionResource, namespace string) *cache.ListWatch {
			return listWatchOf(client.Resource(gvr).Namespace(namespace))
		},
		lister: func(indexer cache.Indexer, gvr schema.GroupVersionResource) cache.GenericLister {
			return dynamiclister.NewRuntimeObjectShim(dynamiclister.New(indexer, gvr))
		},
	})
}

// Metadata returns a factory whose informers hold *metav1.PartialObjectMetadata. resync is as for Dynamic.
func Metadata(client metadata.Interface, resync time.Duration, options ...Option) *ResourceFactory {
	return newResourceFactory(resync, options, resourceKind{
		client:  client,
		example: func() runtime.Object { return &metav1.PartialObjectMetadata{} },
		listWatch: func(gvr schema.GroupVersionResource, namespace string) *cache.ListWatch {
			return listWatchOf(client.Resource(gvr).Namespace(namespace))
		},
		lister: func(indexer cache.Indexer, gvr schema.GroupVersionResource) cache.GenericLister {
			return metadatalister.NewRuntimeObjectShim(metadatalister.New(indexer, gvr))
		},
	})
}

// resourceKind has the differences between the dynamic and the metadata factory.
type resourceKind struct {
	client    any
	example   func() runtime.Object
	listWatch func(gvr schema.GroupVersionResource, namespace string) *cache.ListWatch
	lister    func(indexer cache.Indexer, gvr schema.GroupVersionResource) cache.GenericLister
}

// ResourceFactory makes an informer for each resource on its first use, and at most one at a time. Its
// methods may be called concurrently. Only Dynamic and Metadata return a usable ResourceFactory.
type ResourceFactory struct {
	kind   resourceKind
	resync time.Duration
	config config

	running sync.WaitGroup // the running informers; none is added once mu.shutdown is set

	mu struct {
		sync.Mutex
		members    map[schema.GroupVersionResource]*member
		identities map[schema.GroupVersionResource]cache.InformerNameAndResource // kept when an informer is removed
		shutdown   bool
	}
}

// member is an informer of a ResourceFactory. stop is nil until it is started, and guarded by the
// factory's mu.
type member struct {
	genericInformer
	stop  context.CancelFunc
	ended context.Context // done once the informer's run has returned
	end   context.CancelFunc
}

func newResourceFactory(resync time.Duration, options []Option, kind resourceKind) *ResourceFactory {
	f := &ResourceFactory{kind: kind, resync: resync, config: newConfig(options)}
	f.mu.members = map[schema.GroupVersionResource]*member{}
	f.mu.identities = map[schema.GroupVersionResource]cache.InformerNameAndResource{}
	return f
}

// ForResource returns the informer of gvr and its lister. A new one needs Start.
func (f *ResourceFactory) ForResource(gvr schema.GroupVersionResource) informers.GenericInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m, ok := f.mu.members[gvr]; ok {
		return &m.genericInformer
	}
	informer := f.config.newInformer(request{
		client:   f.kind.client,
		lw:       func(namespace string) *cache.ListWatch { return f.kind.listWatch(gvr, namespace) },
		example:  f.kind.example(),
		gvr:      gvr,
		identity: func() cache.InformerNameAndResource { return f.identityLocked(gvr) },
		resync:   f.resync,
	})
	if f.mu.shutdown && f.config.namespaces != nil {
		neverRun(informer)
	}
	m := &member{genericInformer: genericInformer{informer: informer, lister: f.kind.lister(informer.GetIndexer(), gvr)}}
	m.ended, m.end = context.WithCancel(context.Background())
	f.mu.members[gvr] = m
	return &m.genericInformer
}

// identityLocked returns the identity of a resource. Consecutive informers of the resource share it,
// because an InformerName reserves each resource only once.
func (f *ResourceFactory) identityLocked(gvr schema.GroupVersionResource) cache.InformerNameAndResource {
	identity, ok := f.mu.identities[gvr]
	if !ok {
		identity = f.config.informerName.WithResource(gvr)
		f.mu.identities[gvr] = identity
	}
	return identity
}

// Start is StartWithContext for a stop channel.
func (f *ResourceFactory) Start(stopCh <-chan struct{}) {
	f.StartWithContext(wait.ContextForChannel(stopCh))
}

// StartWithContext starts the informers that are not running, until ctx ends, and returns at once.
// After Shutdown it does nothing.
func (f *ResourceFactory) StartWithContext(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.mu.shutdown {
		return
	}
	for _, m := range f.mu.members {
		if m.stop != nil {
			continue
		}
		running, stop := context.WithCancel(ctx)
		m.stop = stop
		f.running.Go(func() {
			defer m.end()
			defer stop()
			m.informer.RunWithContext(running)
		})
	}
}

// Stop stops the informer of gvr, waits until its handlers have returned, and removes it from the
// factory: a later ForResource makes a new informer, which continues the metrics of the old one. The
// last state of the old informer stays readable. An informer that has not been started is stopped as
// well, and cannot be run afterwards; one that the program runs itself is only removed. Stop returns
// false if there is no such informer. A handler of the informer must not call it.
func (f *ResourceFactory) Stop(gvr schema.GroupVersionResource) bool {
	f.mu.Lock()
	m, ok := f.mu.members[gvr]
	var stop context.CancelFunc
	if ok {
		stop = m.stop
		delete(f.mu.members, gvr)
	}
	f.mu.Unlock()
	switch {
	case stop != nil:
		stop()
		<-m.ended.Done()
	case ok:
		neverRun(m.informer)
	}
	return ok
}

// WaitForCacheSync waits until each started informer has its first list or has stopped, or stopCh is
// closed, and returns which of them have synced.
func (f *ResourceFactory) WaitForCacheSync(stopCh <-chan struct{}) map[schema.GroupVersionResource]bool {
	result := f.WaitForCacheSyncWithContext(wait.ContextForChannel(stopCh))
	if result.Err != nil {
		klog.V(4).InfoS("Stopped waiting for caches", "synced", result.Synced, "err", result.Err)
	}
	return result.Synced
}

// WaitForCacheSyncWithContext waits until each started informer has its first list or has stopped, or
// ctx ends. If one of them has not synced then, Err joins the cause of ctx with the reasons of each of
// these informers, as the error of kinformer.WaitForSync does.
func (f *ResourceFactory) WaitForCacheSyncWithContext(ctx context.Context) GVRSyncResult {
	synced, err := waitForSync(ctx, f.started())
	return GVRSyncResult{Err: err, Synced: synced}
}

func (f *ResourceFactory) started() map[schema.GroupVersionResource]cache.SharedIndexInformer {
	f.mu.Lock()
	defer f.mu.Unlock()
	informers := make(map[schema.GroupVersionResource]cache.SharedIndexInformer, len(f.mu.members))
	for gvr, m := range f.mu.members {
		if m.stop != nil {
			informers[gvr] = m.informer
		}
	}
	return informers
}

// Shutdown keeps informers from starting and waits until the running ones have ended, for which their
// contexts must end. It may be called several times, and concurrently.
func (f *ResourceFactory) Shutdown() {
	f.mu.Lock()
	f.mu.shutdown = true
	unrun := f.unrunLocked()
	f.mu.Unlock()
	f.running.Wait()
	for _, informer := range unrun {
		neverRun(informer)
	}
	f.config.informerName.Release()
}

// unrunLocked returns the informers that follow Namespaces and have not been started.
func (f *ResourceFactory) unrunLocked() (unrun []cache.SharedIndexInformer) {
	for _, m := range f.mu.members {
		if m.stop == nil && f.config.namespaces != nil {
			unrun = append(unrun, m.informer)
		}
	}
	return unrun
}
