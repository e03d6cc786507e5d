// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kinformer/cache/e2e/matrix"
)

// cacheOf returns matrix.Client.Run for a cache of controller-runtime.
func cacheOf(example func() client.Object) func(context.Context, *rest.Config, *http.Client, matrix.NewInformer) error {
	return func(ctx context.Context, config *rest.Config, httpClient *http.Client, newInformer matrix.NewInformer) error {
		c, err := ctrlcache.New(config, ctrlcache.Options{
			HTTPClient: httpClient, NewInformer: newInformer,
			DefaultNamespaces: map[string]ctrlcache.Config{matrix.Namespace: {}},
		})
		if err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- c.Start(ctx) }()
		if _, err := c.GetInformer(ctx, example(), ctrlcache.BlockUntilSynced(false)); err != nil {
			return err
		}
		return <-ended
	}
}

// TestMatrix is the test of package matrix for caches of controller-runtime. Metadata caches change the
// results of lists and watches, and therefore do not decode directly.
func TestMatrix(t *testing.T) {
	matrix.Compare(t, patientContext(t),
		matrix.Client{Name: "typed", Encodings: []string{matrix.JSON, matrix.Protobuf}, Run: cacheOf(func() client.Object { return &corev1.Pod{} })},
		matrix.Client{Name: "unstructured", Encodings: []string{matrix.JSON}, Run: cacheOf(func() client.Object {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(podKind)
			return u
		})},
	)
}
