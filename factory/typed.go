// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/informers/internalinterfaces"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/cache"
)

//go:generate go run ./internal/tablegen -table typed_table.go -groups typed_groups.go

// Wrap returns f with accessors that make kinformer's informers. Call it before any informer of f is
// requested: existing informers are kept. When an accessor finds such an informer, the log reports it
// once for its type. Foreign returns the types of such informers, and Take replaces a constructor that
// a program passes to InformerFor. Start, Shutdown and InformerFor with a constructor are those of f;
// for one more effect of Shutdown see WithNamespaces.
//
// The namespace of f is taken over, unless WithNamespace is among the options. Wrap logs one line for
// settings that it cannot take over: a function that tweaks list options, which must be passed with
// WithTweakListOptions, and the limits of a factory that is not client-go's. Of an f that Wrap
// has returned, each option is taken over that is not among the options.
func Wrap(f informers.SharedInformerFactory, options ...Option) informers.SharedInformerFactory {
	c := configOf(f, options)
	return &typedFactory{SharedInformerFactory: f, accessors: accessors{SharedInformerFactory: f, config: c, warned: &sync.Map{}, unrun: &unrun{}}}
}

// typedFactory is f with other accessors; those of the API groups are in typed_groups.go.
type typedFactory struct {
	informers.SharedInformerFactory
	accessors accessors
}

// InformerName returns the name under which the informers report metrics, or nil.
func (f *typedFactory) InformerName() *cache.InformerName { return f.accessors.informerName }

// ForResource returns the informer of a type that client-go has an informer for, and an error for any
// other resource.
func (f *typedFactory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	kind, ok := typedKinds().byResource[resource]
	if !ok {
		return nil, fmt.Errorf("no informer found for %v", resource)
	}
	informer := f.accessors.informerOf(kind)
	return &genericInformer{informer: informer, lister: cache.NewGenericLister(informer.GetIndexer(), resource.GroupResource())}, nil
}

// Shutdown is that of the wrapped factory. Then informers that follow Namespaces and have not been
// started are stopped, and cannot be run afterwards.
func (f *typedFactory) Shutdown() {
	f.SharedInformerFactory.Shutdown()
	f.accessors.unrun.shutdown()
}

// WaitForCacheSync waits until each started informer has its first list or has stopped, or stopCh is
// closed, and returns which of them have synced.
func (f *typedFactory) WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool {
	return f.WaitForCacheSyncWithContext(wait.ContextForChannel(stopCh)).Synced
}

// WaitForCacheSyncWithContext waits until each started informer has its first list or has stopped, or
// ctx ends. If one of them has not synced then, Err gives the reason, like the error of
// ResourceFactory. The stop of an informer of another package is not noticed.
func (f *typedFactory) WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult {
	synced, err := waitForSync(ctx, f.started())
	return cache.SyncResult{Synced: synced, Err: err}
}

// started returns the informers that the wrapped factory has started.
func (f *typedFactory) started() map[reflect.Type]cache.SharedIndexInformer {
	informers := map[reflect.Type]cache.SharedIndexInformer{}
	for t, informer := range startedOf(f.SharedInformerFactory) {
		informers[t] = informer
	}
	return informers
}

// startedOf yields the informers that a factory has started, which only the result of its wait reveals.
func startedOf(f informers.SharedInformerFactory) iter.Seq2[reflect.Type, cache.SharedIndexInformer] {
	ended, end := context.WithCancel(context.Background())
	end()
	return func(yield func(reflect.Type, cache.SharedIndexInformer) bool) {
		for t := range f.WaitForCacheSyncWithContext(ended).Synced {
			example := reflect.New(t.Elem()).Interface().(runtime.Object) // all keys are types of pointers to objects
			if !yield(t, f.InformerFor(example, nil)) {
				return
			}
		}
	}
}

// accessors is the factory that generated accessors see. Their constructors, which make client-go's
// informers, are used only for types that are not in the table. It is separate from typedFactory so
// that a constructor that the user passes to InformerFor is never mistaken for one of theirs.
type accessors struct {
	informers.SharedInformerFactory
	config
	warned *sync.Map // types of foreign informers that were logged
	unrun  *unrun
}

// InformerName returns the name under which the informers report metrics, or nil.
func (a accessors) InformerName() *cache.InformerName { return a.informerName }

// InformerFor returns the one informer for the type of obj.
func (a accessors) InformerFor(obj runtime.Object, generated internalinterfaces.NewInformerFunc) cache.SharedIndexInformer {
	kind, ok := typedKinds().byType[reflect.TypeOf(obj)]
	if !ok {
		return a.SharedInformerFactory.InformerFor(obj, generated)
	}
	return a.informerOf(kind)
}

func (a accessors) informerOf(kind typedKind) cache.SharedIndexInformer {
	informer := a.SharedInformerFactory.InformerFor(kind.example, func(client kubernetes.Interface, resync time.Duration) cache.SharedIndexInformer {
		informer := a.newInformer(request{
			client:   client,
			lw:       func(namespace string) *cache.ListWatch { return kind.listWatch(client, namespace) },
			example:  kind.example,
			gvr:      kind.gvr,
			identity: func() cache.InformerNameAndResource { return kind.identity(a.informerName) },
			resync:   resync,
		})
		if a.namespaces != nil {
			a.unrun.add(informer)
		}
		return informer
	})
	a.warnOfForeign(informer, kind.example)
	return informer
}

// genericInformer is an informer and its lister.
type genericInformer struct {
	informer cache.SharedIndexInformer
	lister   cache.GenericLister
}

// Informer returns the informer.
func (g *genericInformer) Informer() cache.SharedIndexInformer { return g.informer }

// Lister returns the lister over the informer's store.
func (g *genericInformer) Lister() cache.GenericLister { return g.lister }
