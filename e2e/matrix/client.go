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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/e2e/follow"
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
	both := []string{JSON, Protobuf}
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	return []Client{
		{"generated", both, generated(func(c kubernetes.Interface) cache.ListerWatcher {
			return follow.ListWatchOf(c.CoreV1().Pods(Namespace))
		})},
		{"ListWatch of a client", both, generated(func(c kubernetes.Interface) cache.ListerWatcher {
			return clientgo.NewListWatchFromClient(c.CoreV1().RESTClient(), "pods", Namespace, fields.Everything())
		})},
		{"direct.NewListWatch", both, generated(func(c kubernetes.Interface) cache.ListerWatcher {
			return direct.NewListWatch(c.CoreV1().RESTClient(), &corev1.Pod{}, "pods", Namespace, nil)
		})},
		{"dynamic", []string{JSON}, func(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
			client, err := dynamic.NewForConfigAndClient(config, httpClient)
			if err != nil {
				return err
			}
			newInformer(follow.ListWatchOf(client.Resource(pods).Namespace(Namespace)), &unstructured.Unstructured{}, 0, nil).RunWithContext(ctx)
			return nil
		}},
		{"metadata", []string{Protobuf}, func(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
			client, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
			if err != nil {
				return err
			}
			newInformer(follow.ListWatchOf(client.Resource(pods).Namespace(Namespace)), &metav1.PartialObjectMetadata{}, 0, nil).RunWithContext(ctx)
			return nil
		}},
	}
}

// generated is Client.Run of a generated client.
func generated(source func(kubernetes.Interface) cache.ListerWatcher) func(context.Context, *rest.Config, *http.Client, NewInformer) error {
	return func(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
		client, err := kubernetes.NewForConfigAndClient(config, httpClient)
		if err != nil {
			return err
		}
		newInformer(source(client), &corev1.Pod{}, 0, nil).RunWithContext(ctx)
		return nil
	}
}
