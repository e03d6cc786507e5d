// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"net/http"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
)

// Namespace has the pods that are followed.
const Namespace = "matrix"

// NewInformer makes an informer, as cache.NewSharedIndexInformer does.
type NewInformer = func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer

// Client is a kind of client.
type Client struct {
	Name      string
	Encodings []string // that it can be made to ask for
	// Run follows the pods in Namespace, by an informer that newInformer makes, until ctx ends, and
	// returns when it has ended. config says how the client reaches the server, and in which
	// encoding; its requests are to be made by httpClient.
	Run func(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error
}

func (c Client) knows(encoding string) bool { return slices.Contains(c.Encodings, encoding) }

// Clients are the kinds that client-go has, and ours.
func Clients() []Client {
	return []Client{
		{"generated", []string{JSON, Protobuf}, generated},
		{"ListWatch of a client", []string{JSON, Protobuf}, listWatch},
		{"direct.NewListWatch", []string{JSON, Protobuf}, directListWatch},
		{"dynamic", []string{JSON}, dynamicClient},
		{"metadata", []string{Protobuf}, metadataClient},
	}
}

func generated(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return err
	}
	newInformer(listWatchOf(client.CoreV1().Pods(Namespace)), &corev1.Pod{}, 0, nil).RunWithContext(ctx)
	return nil
}

func listWatch(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return err
	}
	lw := clientgo.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", Namespace, fields.Everything())
	newInformer(lw, &corev1.Pod{}, 0, nil).RunWithContext(ctx)
	return nil
}

func directListWatch(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
	client, err := kubernetes.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return err
	}
	lw := direct.NewListWatch(client.CoreV1().RESTClient(), &corev1.Pod{}, "pods", Namespace, nil)
	newInformer(lw, &corev1.Pod{}, 0, nil).RunWithContext(ctx)
	return nil
}

func dynamicClient(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
	client, err := dynamic.NewForConfigAndClient(config, httpClient)
	if err != nil {
		return err
	}
	lw := listWatchOf(client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(Namespace))
	newInformer(lw, &unstructured.Unstructured{}, 0, nil).RunWithContext(ctx)
	return nil
}

func metadataClient(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
	client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
	if err != nil {
		return err
	}
	lw := listWatchOf(client.Resource(corev1.SchemeGroupVersion.WithResource("pods")).Namespace(Namespace))
	newInformer(lw, &metav1.PartialObjectMetadata{}, 0, nil).RunWithContext(ctx)
	return nil
}

// listWatchOf makes a ListWatch of the methods of a client, as informers of factories do.
func listWatchOf[L runtime.Object](c interface {
	List(context.Context, metav1.ListOptions) (L, error)
	Watch(context.Context, metav1.ListOptions) (watch.Interface, error)
}) cache.ListerWatcher {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) { return c.List(ctx, o) },
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, o)
		},
	}
}
