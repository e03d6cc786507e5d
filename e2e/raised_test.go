// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/e2e/follow"
	"github.com/kinformer/cache/e2e/transport"
)

// TestPrefersProtobuf: an informer whose client has chosen no encoding follows in protobuf, every
// object decoded by both, and has what a list has.
func TestPrefersProtobuf(t *testing.T) {
	t.Parallel()
	for _, mode := range []cache.ListMode{cache.ListModeList, cache.ListModeWatchList} {
		t.Run(string(mode), func(t *testing.T) {
			ctx := patientContext(t)
			srv := startServer(t, ctx)
			r := resourceOf(t, srv, "pods-protobuf")
			created(t, ctx, r, "before")
			config := srv.Config()
			transport.Direct(config)
			client, err := kubernetes.NewForConfig(config)
			require.NoError(t, err)
			lw := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "pods", follow.Namespace, fields.Everything())
			informer := cache.InformerFunc(cache.WithListMode(mode), cache.WithDecoding(cache.Decoding{
				PreferProtobuf: true, Verify: 1, Drop: []string{"metadata.managedFields"},
			}))(lw, &corev1.Pod{}, 0, cache.Indexers{})
			running, cancel := context.WithCancel(ctx)
			ended := make(chan struct{})
			go func() { informer.RunWithContext(running); close(ended) }()
			t.Cleanup(func() { cancel(); <-ended })
			require.NoError(t, cache.WaitForSync(ctx, informer.GetController()))

			writers := startWriters(ctx, r, 1)
			require.NoError(t, writers.awaitWrites(ctx, someWrites))
			writers.finish()
			require.NoError(t, awaitVersions(ctx, informer, listed(t, ctx, r)))
			status, err := cache.StatusOf(informer)
			require.NoError(t, err)
			d := status.Decoding
			assert.True(t, d.On, d.Why)
			assert.Equal(t, "protobuf", d.Encoding)
			assert.NotZero(t, d.Verified)
			assert.Zero(t, d.Differences)
			for _, pod := range cache.TypedAll[*corev1.Pod](informer.GetStore()) {
				assert.Empty(t, pod.ManagedFields)
			}
		})
	}
}
