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
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/door"
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

// newInformer makes an informer according to the options, with an index by namespace as in client-go's
// factories.
func (c config) newInformer(r request) cache.SharedIndexInformer {
	listWatch := func(namespace string) cache.ListerWatcher {
		return cache.ToListWatcherWithWatchListSemantics(tweaked(r.lw(namespace), c.tweak), r.client)
	}
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	informer := kinformer.Constructor(c.optionsOf(r))(listWatch(c.namespace), r.example, r.resync, indexers)
	own := door.Of(informer)
	own.Configure(func(config *door.Config) {
		config.Bad = append(config.Bad, c.bad...)
		config.Transform = c.transform
		if c.options.Identifier == (cache.InformerNameAndResource{}) {
			config.Resource = r.gvr
		}
	})
	if status, _ := inspect.StatusOf(informer); c.namespaces == nil || status.LastError != nil {
		return informer // with invalid options it will never run
	}
	return c.namespaces.join(informer, r.example, listWatch)
}

// optionsOf returns the user's options of an informer, with the factory's values for empty fields.
func (c config) optionsOf(r request) kinformer.Options {
	o := c.options
	if o.Identifier == (cache.InformerNameAndResource{}) {
		o.Identifier = r.identity()
	}
	o.Requests.ExpectedNamespace = cmp.Or(o.Requests.ExpectedNamespace, c.namespace)
	return o
}
