// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"cmp"
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/internal/door"
	"github.com/kinformer/cache/internal/switched"
	"github.com/kinformer/cache/kinformer"
)

// api has the common methods of all clients of one resource. L is the type of its lists.
type api[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// listWatchOf returns a ListWatch for a client of one resource.
func listWatchOf[L runtime.Object](client api[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
}

// tweaked returns lw with tweak applied to the options of every request. tweak may be nil.
func tweaked(lw *cache.ListWatch, tweak func(*metav1.ListOptions)) *cache.ListWatch {
	if tweak == nil {
		return lw
	}
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			tweak(&options)
			return lw.ListWithContextFunc(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			tweak(&options)
			return lw.WatchFuncWithContext(ctx, options)
		},
	}
}

// request has the parameters of one informer.
type request struct {
	client   any // checked for its support of watch-lists
	lw       func(namespace string) *cache.ListWatch
	example  runtime.Object
	gvr      schema.GroupVersionResource
	identity func() cache.InformerNameAndResource // called at most once
	resync   time.Duration
}

// newInformer makes an informer according to the options, which follows their Namespaces. The options of
// namespaces do not apply to objects that are known to have none.
func (c config) newInformer(r request) cache.SharedIndexInformer {
	if typedKinds().clusterResources[r.gvr.GroupResource()] || clusterScoped(r.example) {
		c.namespace, c.namespaces = metav1.NamespaceAll, nil
	}
	return c.join(c.unjoined(r), r)
}

// join makes the informer follow the Namespaces of the options, if they have any.
func (c config) join(informer cache.SharedIndexInformer, r request) cache.SharedIndexInformer {
	if c.namespaces == nil {
		return informer
	}
	return c.namespaces.join(informer, r.example, func(namespace string) cache.ListerWatcher { return c.listWatch(r, namespace) })
}

func (c config) listWatch(r request, namespace string) cache.ListerWatcher {
	return cache.NewShardedListWatch(cache.ToListWatcherWithWatchListSemantics(tweaked(r.lw(namespace), c.tweak), r.client), c.shard)
}

// unjoined makes an informer with an index by namespace, as in client-go's factories.
func (c config) unjoined(r request) cache.SharedIndexInformer {
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	lw := c.listWatch(r, c.namespace)
	if c.namespaces != nil || len(c.bad) > 0 {
		lw = switched.Keep(lw)
	}
	informer := kinformer.Constructor(c.optionsOf(r))(lw, r.example, r.resync, indexers)
	if foreign, is := informer.(*switched.Informer); is {
		foreign.Fix(c.transform)
		return foreign
	}
	door.Of(informer).Configure(func(config *door.Config) {
		config.Bad = append(config.Bad, c.bad...)
		config.Transform = c.transform
		if c.optionsFor(r).Identifier == (cache.InformerNameAndResource{}) {
			config.Resource = r.gvr
		}
	})
	return informer
}

// optionsOf returns the user's options of an informer, with the factory's values for empty fields.
func (c config) optionsOf(r request) kinformer.Options {
	o := c.optionsFor(r)
	if o.Identifier == (cache.InformerNameAndResource{}) {
		o.Identifier = r.identity()
	}
	// An informer of client-go's has no such option, and kinformer.New would warn of it.
	if switched.DecideStore(switched.SubjectOf(o.Identifier, r.example), o.Engine) == "" {
		o.Requests.ExpectedNamespace = cmp.Or(o.Requests.ExpectedNamespace, c.namespace)
	}
	return o
}
