// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/kinformer/cache"
	"github.com/kinformer/cache/direct"
	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/metrics"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/test/e2e/matrix"
	"github.com/kinformer/cache/view"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// TestInformersOfACache checks that informers of typed objects and of metadata are ours, and that one stops when it
// is removed.
func TestInformersOfACache(t *testing.T) {
	ctx, s := newStage(t)
	s.createPods(t, ctx, "default", 4)
	mgr, _ := startManager(t, ctx, s, ctrlcache.Options{}, nil)
	partial := &metav1.PartialObjectMetadata{}
	partial.SetGroupVersionKind(podKind)
	informer, err := mgr.GetCache().GetInformer(ctx, partial)
	require.NoError(t, err)
	assert.True(t, isOurs(informer))

	first, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{})
	require.NoError(t, err)
	require.True(t, isOurs(first))
	checkHandedOut(t, ctx, first)
	require.NoError(t, mgr.GetCache().RemoveInformer(ctx, &corev1.Pod{}))
	require.Eventually(t, first.IsStopped, patience, pollEvery)
	second, err := mgr.GetCache().GetInformer(ctx, &corev1.Pod{})
	require.NoError(t, err)
	assert.NotSame(t, first, second)
	var pods corev1.PodList
	require.NoError(t, mgr.GetCache().List(ctx, &pods))
	assert.Len(t, pods.Items, 4)
}

// checkHandedOut checks that status, queue, snapshot, handlers and readiness are available from an unchanged
// cache's informer of four pods.
func checkHandedOut(t *testing.T, ctx context.Context, informer ctrlcache.Informer) {
	require.NoError(t, kinformer.WaitForSync(ctx, informer))
	inspection, err := inspect.Of(informer)
	require.NoError(t, err)
	assert.Equal(t, 4, inspection.Status.Objects)
	assert.NotZero(t, inspection.ID)
	assert.Empty(t, inspection.Handlers)
	status, err := inspect.StatusOf(informer)
	require.NoError(t, err)
	assert.Equal(t, 4, status.Objects)
	assert.NoError(t, kinformer.WaitForVersion(ctx, informer, status.ResourceVersion))
	_, err = inspect.QueueOf(informer)
	assert.NoError(t, err)
	snapshot, err := view.Of(informer)
	require.NoError(t, err)
	defer snapshot.Close()
	assert.Equal(t, 4, snapshot.Len())
	assert.Equal(t, 1, beside.TableOf(informer).Snapshots().Open)
	var check healthz.Checker = inspect.Ready(inspect.ReadyOptions{}, informer).Check
	assert.NoError(t, check(nil))
}

// TestNamesOfInformers checks that each informer of two namespaces has the same metrics series at each
// start, whichever starts first, and that logs name it by resource and namespace.
func TestNamesOfInformers(t *testing.T) {
	ctx, s := newStage(t)
	config := s.Config()
	config.Wrap(direct.Transport)
	server := strings.TrimPrefix(config.Host, "https://")
	for start := range 5 {
		s.createPods(t, ctx, fmt.Sprint("one-", start), 1) // in another namespace
		require.NoError(t, s.Create(ctx, podIn("one", fmt.Sprint("pod-", start), "node")))
		c, err := ctrlcache.New(config, ctrlcache.Options{
			NewInformer: cache.NewSharedIndexInformer, DefaultNamespaces: map[string]ctrlcache.Config{"one": {}, "two": {}},
		})
		require.NoError(t, err)
		running, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- c.Start(running) }()
		_, err = c.GetInformer(ctx, &corev1.Pod{}) // waits until both have synced
		require.NoError(t, err)
		assert.Equal(t, map[string]float64{
			"resource=pods,server=" + server + ",version=v1,watched_namespace=one": float64(start + 1),
			"resource=pods,server=" + server + ",version=v1,watched_namespace=two": 0,
		}, objects())
		var names []string
		for informer := range inspect.All() {
			all, err := inspect.Of(informer)
			require.NoError(t, err)
			names = append(names, all.Name)
		}
		assert.ElementsMatch(t, []string{"pods.v1 in namespace one", "pods.v1 in namespace two"}, names)
		stop()
		require.NoError(t, <-ended)
	}
}

// TestStripManagedFieldsKeepsParts checks that the transform is recognized, also in a build without
// inlining. It keeps the parts of objects other than unstructured ones.
func TestStripManagedFieldsKeepsParts(t *testing.T) {
	assert.True(t, event.KeepsParts(ctrlcache.TransformStripManagedFields(), &corev1.Pod{}))
	assert.True(t, event.KeepsParts(ctrlcache.TransformStripManagedFields(), &metav1.PartialObjectMetadata{}))
	assert.False(t, event.KeepsParts(ctrlcache.TransformStripManagedFields(), &unstructured.Unstructured{}))
	assert.False(t, event.KeepsParts(ctrlcache.TransformStripManagedFields(), nil))
}

// objects returns the number of objects of each running informer by its nonempty labels. No two
// informers may have the same labels.
func objects() map[string]float64 {
	of := map[string]float64{}
	metrics.NewReader(metrics.Options{}).Read(func(s metrics.Sample) {
		if s.Metric.Name != "kinformer_objects" {
			return
		}
		var labels []string
		for _, l := range s.Series.Labels {
			if l.Value != "" && l.Value != "0" {
				labels = append(labels, l.Name+"="+l.Value)
			}
		}
		of[strings.Join(labels, ",")] = s.Value
	})
	return of
}

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
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	matrix.Compare(t, ctx,
		matrix.Client{Name: "typed", Encodings: []string{matrix.JSON, matrix.Protobuf}, Run: cacheOf(func() client.Object { return &corev1.Pod{} })},
		matrix.Client{Name: "unstructured", Encodings: []string{matrix.JSON}, Run: cacheOf(func() client.Object {
			u := &unstructured.Unstructured{}
			u.SetGroupVersionKind(podKind)
			return u
		})},
	)
}
