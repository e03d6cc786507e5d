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

// Wrap returns f with accessors that make kinformer's informers. Wrap f before anybody asks it for
// an informer: those that exist stay what they are. When an accessor finds such an informer, the log
// says so once for its type. Foreign lists them, and Take makes one of ours in the place of a constructor
// that a program gives InformerFor. Start, Shutdown and InformerFor with a constructor are f's own.
//
// The namespace that f is limited to is taken over, unless WithNamespace is among the options. What
// Wrap cannot take over is one line in the log: a function that tweaks list options, which
// WithTweakListOptions has to give again, and the limits of a factory that is not client-go's.
func Wrap(f informers.SharedInformerFactory, options ...Option) informers.SharedInformerFactory {
	c := newConfig(options)
	c.adopt(f)
	return &typedFactory{SharedInformerFactory: f, accessors: accessors{SharedInformerFactory: f, config: c, warned: &sync.Map{}}}
}

// typedFactory is f but for its accessors; those of the API groups are in typed_groups.go.
type typedFactory struct {
	informers.SharedInformerFactory
	accessors accessors
}

// InformerName returns the name under which the informers report metrics, or nil.
func (f *typedFactory) InformerName() *cache.InformerName { return f.accessors.informerName }

// ForResource returns the informer of one of the types that client-go has informers for, and an
// error for any other.
func (f *typedFactory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	kind, ok := typedKinds().byResource[resource]
	if !ok {
		return nil, fmt.Errorf("no informer found for %v", resource)
	}
	informer := f.accessors.informerOf(kind)
	return &genericInformer{informer: informer, lister: cache.NewGenericLister(informer.GetIndexer(), resource.GroupResource())}, nil
}

// WaitForCacheSync waits until each started informer has its first list or has stopped, or stopCh
// is closed, and says which have it.
func (f *typedFactory) WaitForCacheSync(stopCh <-chan struct{}) map[reflect.Type]bool {
	return f.WaitForCacheSyncWithContext(wait.ContextForChannel(stopCh)).Synced
}

// WaitForCacheSyncWithContext waits until each started informer has its first list or has stopped,
// or ctx ends. If one has not got it then, Err says why, as that of ResourceFactory does. Of
// informers of other packages it is not known that they have stopped.
func (f *typedFactory) WaitForCacheSyncWithContext(ctx context.Context) cache.SyncResult {
	synced, err := waitForSync(ctx, f.started())
	return cache.SyncResult{Synced: synced, Err: err}
}

// started returns the informers that the wrapped factory has started.
func (f *typedFactory) started() map[reflect.Type]started {
	informers := map[reflect.Type]started{}
	for t, informer := range startedOf(f.SharedInformerFactory) {
		informers[t] = started{informer, context.Background()}
	}
	return informers
}

// startedOf yields the informers that a factory has started, which only its wait tells.
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

// accessors is the factory that generated accessors see. Their own constructors, which make
// client-go's informers, are used only for types that the table does not have. It is apart from
// typedFactory so that the constructor that a user passes to InformerFor is never mistaken for
// theirs.
type accessors struct {
	informers.SharedInformerFactory
	config
	warned *sync.Map // types of informers that are of other packages, once the log has said so
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
		return a.newInformer(request{
			client:   client,
			lw:       func(namespace string) *cache.ListWatch { return kind.listWatch(client, namespace) },
			example:  kind.example,
			gvr:      kind.gvr,
			identity: func() cache.InformerNameAndResource { return kind.identity(a.informerName) },
			resync:   resync,
		})
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
