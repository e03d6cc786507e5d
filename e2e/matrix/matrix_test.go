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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/e2e/follow"
)

// patience bounds every wait. It is far longer than any wait takes.
const patience = 30 * time.Minute

// TestMatrix compares a subset of combinations with all pairs of values, or all combinations.
func TestMatrix(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	Compare(t, ctx, clients()...)
}

// TestChosen checks that a small subset contains every pair of values of all combinations.
func TestChosen(t *testing.T) {
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

// generated returns Client.Run of a generated client.
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
