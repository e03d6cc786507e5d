// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package matrix

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
	"github.com/kinformer/cache/internal/testkit"
)

// patience bounds every wait. It is far longer than any wait takes.
const patience = 30 * time.Minute

// TestMatrix compares a subset of combinations with all pairs of values, or all combinations.
func TestMatrix(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	Compare(t, ctx, clients()...)
}

// TestChosenSubsetCoversAllPairs checks that a small subset contains every pair of values of all combinations.
func TestChosenSubsetCoversAllPairs(t *testing.T) {
	t.Setenv(wholeEnv, "")
	all := all(clients())
	some := chosen(all)
	assert.Less(t, len(some), len(all)/4)
	assert.Equal(t, pairsOf(all), pairsOf(some))
}

// pairsOf returns the pairs of values in cases.
func pairsOf(cases []Case) map[string]bool {
	pairs := map[string]bool{}
	for _, c := range cases {
		values := []any{c.Client.Name, c.Encoding, c.Mode, c.HTTP2, c.Gzip, c.Share}
		for i := range values {
			for j := range i {
				pairs[fmt.Sprint(i, values[i], j, values[j])] = true
			}
		}
	}
	return pairs
}

// clients returns the kinds of client-go and kinformer.
func clients() []Client {
	both, pods := []string{JSON, Protobuf}, corev1.SchemeGroupVersion.WithResource("pods")
	newTyped, newDynamic, newMetadata := kubernetes.NewForConfigAndClient, dynamic.NewForConfigAndClient, metadata.NewForConfigAndClient
	return []Client{
		{"generated", both, follows(&corev1.Pod{}, newTyped, func(c *kubernetes.Clientset) cache.ListerWatcher {
			return testkit.ListWatchOf(c.CoreV1().Pods(Namespace))
		})},
		{"ListWatch of a client", both, follows(&corev1.Pod{}, newTyped, func(c *kubernetes.Clientset) cache.ListerWatcher {
			return clientgo.NewListWatchFromClient(c.CoreV1().RESTClient(), "pods", Namespace, fields.Everything())
		})},
		{"direct.NewListWatch", both, follows(&corev1.Pod{}, newTyped, func(c *kubernetes.Clientset) cache.ListerWatcher {
			return direct.NewListWatch(c.CoreV1().RESTClient(), &corev1.Pod{}, "pods", Namespace, nil)
		})},
		{"dynamic", []string{JSON}, follows(&unstructured.Unstructured{}, newDynamic, func(c *dynamic.DynamicClient) cache.ListerWatcher {
			return testkit.ListWatchOf(c.Resource(pods).Namespace(Namespace))
		})},
		{"metadata", []string{Protobuf}, follows(&metav1.PartialObjectMetadata{}, newMetadata, func(c metadata.Interface) cache.ListerWatcher {
			return testkit.ListWatchOf(c.Resource(pods).Namespace(Namespace))
		})},
	}
}

// follows returns Client.Run for a kind of client, its constructor and its source of pods.
func follows[C any](
	example runtime.Object, newClient func(*rest.Config, *http.Client) (C, error), source func(C) cache.ListerWatcher,
) func(context.Context, *rest.Config, *http.Client, NewInformer) error {
	return func(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer NewInformer) error {
		client, err := newClient(config, httpClient)
		if err != nil {
			return err
		}
		newInformer(source(client), example, 0, nil).RunWithContext(ctx)
		return nil
	}
}
