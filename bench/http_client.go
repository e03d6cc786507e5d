// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/bench/internal/wire"
	"github.com/kinformer/cache/direct"
)

// httpListerWatcher is what users of a client have, made to list where lists are
// asked for.
type httpListerWatcher struct {
	clientgo.ListerWatcherWithContext
	watchList bool
	watching  chan struct{} // gets one value when a watch is open
}

// config is that of a client of the row's server.
func (h *httpStage) config(tapped bool) *rest.Config {
	config := &rest.Config{Host: h.server.URL, QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: h.server.CA}}
	if h.row.figures == httpOpen {
		config.Dial = wire.DialNarrow
	}
	if tapped {
		config.Wrap(direct.Transport)
	}
	return config
}

func (h *httpStage) listerWatcher(tapped bool) (*httpListerWatcher, error) {
	connect := h.typedClient
	if h.row.untyped() {
		connect = h.dynamicClient
	}
	lw, err := connect(h.config(tapped))
	if err != nil {
		return nil, fmt.Errorf("make client: %w", err)
	}
	return &httpListerWatcher{
		ListerWatcherWithContext: clientgo.ToListerWatcherWithContext(lw),
		watchList:                h.row.kind.watchList,
		watching:                 make(chan struct{}, 1),
	}, nil
}

func (h *httpStage) typedClient(config *rest.Config) (*clientgo.ListWatch, error) {
	version := h.row.resource.GroupVersion()
	config.APIPath = h.row.resource.APIPath()
	config.ContentConfig = rest.ContentConfig{GroupVersion: &version, NegotiatedSerializer: wire.Codecs.WithoutConversion()}
	config.ContentType, config.AcceptContentTypes = h.row.mediaType(), h.row.mediaType()
	client, err := rest.RESTClientFor(config)
	if err != nil {
		return nil, err
	}
	return clientgo.NewListWatchFromClient(client, h.row.resource.Name, metav1.NamespaceAll, fields.Everything()), nil
}

func (h *httpStage) dynamicClient(config *rest.Config) (*clientgo.ListWatch, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	of := client.Resource(h.row.resource.GroupVersion().WithResource(h.row.resource.Name))
	return &clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return of.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return of.Watch(ctx, options)
		},
	}, nil
}

// example is an object of the type that the informer holds.
func (h *httpStage) example() (runtime.Object, error) {
	if h.row.untyped() {
		return &unstructured.Unstructured{}, nil
	}
	return h.row.resource.Example()
}

// IsWatchListSemanticsUnSupported tells reflectors whether to list instead of
// streaming.
func (lw *httpListerWatcher) IsWatchListSemanticsUnSupported() bool { return !lw.watchList }

// WatchWithContext opens a watch and says so.
func (lw *httpListerWatcher) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	w, err := lw.ListerWatcherWithContext.WatchWithContext(ctx, options)
	if err == nil {
		select {
		case lw.watching <- struct{}{}:
		default: // one is enough
		}
	}
	return w, err
}

// List is ListWithContext without a context.
func (lw *httpListerWatcher) List(options metav1.ListOptions) (runtime.Object, error) {
	return lw.ListWithContext(context.Background(), options)
}

// Watch is WatchWithContext without a context.
func (lw *httpListerWatcher) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return lw.WatchWithContext(context.Background(), options)
}
