// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package controllerruntime

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	"github.com/kinformer/cache/inspect"
	"github.com/kinformer/cache/internal/beside"
	"github.com/kinformer/cache/kinformer"
	"github.com/kinformer/cache/view"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

// TestInformersOfACache checks lists and informers of objects of all types, and that an informer stops when
// it is removed.
func TestInformersOfACache(t *testing.T) {
	ctx := patientContext(t)
	s := newStage(t, ctx)
	s.createPods(t, ctx, "default", 4)
	var ours counted
	mgr, _ := startManager(t, ctx, s, ctrlcache.Options{NewInformer: ours.newInformer}, nil)

	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	metadata := &metav1.PartialObjectMetadataList{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	var pods corev1.PodList
	require.NoError(t, mgr.GetClient().List(ctx, &pods, client.InNamespace("default"), client.MatchingLabels{"node": "node-1"}))
	assert.Len(t, pods.Items, 2)
	require.NoError(t, mgr.GetCache().List(ctx, list, client.InNamespace("default")))
	assert.Len(t, list.Items, 4)
	require.NoError(t, mgr.GetCache().List(ctx, metadata, client.InNamespace("default")))
	assert.Len(t, metadata.Items, 4)
	assert.EqualValues(t, 3, ours.made.Load())

	pod := &corev1.Pod{}
	require.NoError(t, mgr.GetCache().Get(ctx, client.ObjectKey{Namespace: "default", Name: "pod-1"}, pod))
	assert.Equal(t, "node-1", pod.Spec.NodeName)
	err := mgr.GetCache().Get(ctx, client.ObjectKey{Namespace: "default", Name: "none"}, pod)
	assert.True(t, apierrors.IsNotFound(err), err)

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

func TestFieldIndex(t *testing.T) {
	ctx := patientContext(t)
	s := newStage(t, ctx)
	s.createPods(t, ctx, "default", 4)
	s.createPods(t, ctx, "other", 2)
	mgr, _ := startManager(t, ctx, s, ctrlcache.Options{}, func(mgr ctrl.Manager) {
		require.NoError(t, mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, "spec.nodeName", func(obj client.Object) []string {
			return []string{obj.(*corev1.Pod).Spec.NodeName}
		}))
	})
	count := func(options ...client.ListOption) int {
		var pods corev1.PodList
		require.NoError(t, mgr.GetClient().List(ctx, &pods, options...))
		return len(pods.Items)
	}
	assert.Equal(t, 3, count(client.MatchingFields{"spec.nodeName": "node-0"}))
	assert.Equal(t, 2, count(client.MatchingFields{"spec.nodeName": "node-0"}, client.InNamespace("default")))
	assert.Zero(t, count(client.MatchingFields{"spec.nodeName": "none"}))

	require.NoError(t, mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, "metadata.name", func(obj client.Object) []string {
		return []string{obj.GetName()}
	}), "an index is added to a running informer")
	assert.Equal(t, 2, count(client.MatchingFields{"metadata.name": "pod-0"}))
}

func TestSeveralNamespaces(t *testing.T) {
	ctx := patientContext(t)
	s := newStage(t, ctx)
	for _, namespace := range []string{"a", "b", "c"} {
		s.createPods(t, ctx, namespace, 2)
	}
	var ours counted
	mgr, _ := startManager(t, ctx, s, ctrlcache.Options{
		NewInformer:       ours.newInformer,
		DefaultNamespaces: map[string]ctrlcache.Config{"a": {}, "b": {}},
		DefaultTransform:  ctrlcache.TransformStripManagedFields(),
	}, nil)
	var pods corev1.PodList
	require.NoError(t, mgr.GetClient().List(ctx, &pods))
	assert.Len(t, pods.Items, 4)
	for _, pod := range pods.Items {
		assert.Empty(t, pod.ManagedFields)
		assert.NotEqual(t, "c", pod.Namespace)
	}
	assert.EqualValues(t, 2, ours.made.Load(), "an informer for each namespace")
}
