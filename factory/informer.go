// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package factory

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache"
)

// api is what all clients of one resource have in common. L is the type of its lists.
type api[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// listWatchOf lists and watches through a client of one resource.
func listWatchOf[L runtime.Object](client api[L]) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: client.Watch,
	}
}

// tweaked returns lw with every request's options changed by tweak, which may be nil.
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

// request is what one informer is made from.
type request struct {
	client   any // asked whether it can stream lists
	lw       *cache.ListWatch
	example  runtime.Object
	gvr      schema.GroupVersionResource
	identity func() cache.InformerNameAndResource // called at most once, and not for a constructor of the user
	resync   time.Duration
}

// newInformer makes an informer as the options say, indexed by namespace as client-go's factories
// do.
func (c config) newInformer(r request) cache.SharedIndexInformer {
	lw := cache.ToListWatcherWithWatchListSemantics(tweaked(r.lw, c.tweak), r.client)
	indexers := cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}
	construct := c.constructor
	if construct == nil {
		options := append([]cache.Option{
			cache.WithIdentifier(r.identity(), nil),
			cache.WithObjectDescription(r.gvr.String()),
			cache.WithExpectedNamespace(c.namespace),
		}, c.options...)
		construct = cache.InformerFunc(options...)
	}
	informer := construct(lw, r.example, r.resync, indexers)
	if c.transform != nil {
		if err := informer.SetTransform(c.transform); err != nil {
			utilruntime.HandleError(fmt.Errorf("setting the transform of a new informer for %v: %w", r.gvr, err))
		}
	}
	return informer
}
