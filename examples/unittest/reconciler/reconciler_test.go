// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package reconciler

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/adapters/client/clienttest"
	"github.com/kinformer/cache/cachetest"
)

// startCache starts a cache of controller-runtime without a manager, whose informer of pods follows source.
// It returns when the cache has the pods.
func startCache(ctx context.Context, t *testing.T, source *cachetest.Source) ctrlcache.Cache {
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Pod"), meta.RESTScopeNamespace)
	c, err := ctrlcache.New(&rest.Config{}, ctrlcache.Options{
		Scheme: scheme.Scheme, Mapper: mapper, // instead of discovery
		NewInformer: func(_ cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
			return cache.NewSharedIndexInformer(source, example, resync, indexers)
		},
	})
	require.NoError(t, err)
	informer, err := c.GetInformer(ctx, &corev1.Pod{}, ctrlcache.BlockUntilSynced(false))
	require.NoError(t, err)
	_, err = informer.AddEventHandler(source.Track(nil)) // for Settle
	require.NoError(t, err)
	go func() { assert.NoError(t, c.Start(ctx)) }()
	require.True(t, c.WaitForCacheSync(ctx))
	return c
}

func TestEvictor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait() // until the cache has ended
		defer cancel()
		pods := cachetest.Of(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a"}, Spec: corev1.PodSpec{NodeName: "n1"},
		})
		sources := map[client.Object]*cachetest.Source{&corev1.Pod{}: pods}
		reads := startCache(ctx, t, pods)
		evictor := &Evictor{Node: "n1", Client: fake.NewClientBuilder().
			WithObjectTracker(clienttest.NewTracker(scheme.Scheme, sources)).
			WithInterceptorFuncs(clienttest.ReadFrom(reads)).
			Build()}
		request := reconcile.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "a"}}

		heal := pods.Partition() // the cache does not receive the next write
		cachetest.PatchAs(pods, "ns", "a", func(p *corev1.Pod) { p.Labels = map[string]string{"touched": "yes"} })
		_, err := evictor.Reconcile(ctx, request)
		assert.True(t, apierrors.IsConflict(err), "%v: the pod of the cache is out of date", err)
		heal()
		require.NoError(t, pods.Settle(ctx))

		_, err = evictor.Reconcile(ctx, request)
		require.NoError(t, err)
		require.NoError(t, pods.Settle(ctx)) // until the cache has the new status
		var pod corev1.Pod
		require.NoError(t, reads.Get(ctx, request.NamespacedName, &pod))
		assert.Equal(t, corev1.PodFailed, pod.Status.Phase)
		assert.Equal(t, map[string]string{"touched": "yes"}, pod.Labels)
		written := pods.ResourceVersion()
		_, err = evictor.Reconcile(ctx, request)
		require.NoError(t, err)
		assert.Equal(t, written, pods.ResourceVersion(), "there is nothing left to do")
	})
}
