// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package trim_test

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/trim"
)

// forms are a pod as clients of each kind have it.
func forms(t *testing.T) []runtime.Object {
	pod := newPod("web-0")
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	require.NoError(t, err)
	return []runtime.Object{pod, &metav1.PartialObjectMetadata{ObjectMeta: *pod.ObjectMeta.DeepCopy()}, &unstructured.Unstructured{Object: content}}
}

// TestTrimmed: objects of each kind lose what the function is for, and nothing else.
func TestTrimmed(t *testing.T) {
	for _, obj := range forms(t) {
		o := obj.(metav1.Object)
		for range 2 {
			got, err := trim.ManagedFields(obj)
			require.NoError(t, err)
			assert.Same(t, obj, got)
			assert.Empty(t, o.GetManagedFields())
			assert.Len(t, o.GetAnnotations(), 2)
		}
		got, err := trim.Annotations("other", applied)(obj)
		require.NoError(t, err)
		assert.Same(t, obj, got)
		assert.Equal(t, map[string]string{"example.com/owner": "web"}, o.GetAnnotations())
		_, err = trim.Annotations("example.com/owner")(obj)
		require.NoError(t, err)
		assert.Nil(t, o.GetAnnotations())
		assert.Equal(t, "web-0", o.GetName())
	}
	bare := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "1"}}}}
	_, err := trim.Annotations("a")(bare)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"metadata": map[string]any{}}, bare.Object)
}

// TestTrimCopies: maps that other objects may share are not written to.
func TestTrimCopies(t *testing.T) {
	pod := newPod("web-0")
	annotations, before := pod.Annotations, maps.Clone(pod.Annotations)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	require.NoError(t, err)
	metadata, whole := content["metadata"].(map[string]any), runtime.DeepCopyJSON(content)
	for _, obj := range []any{pod, &unstructured.Unstructured{Object: content}} {
		for _, transform := range []clientgo.TransformFunc{trim.ManagedFields, trim.Annotations(applied)} {
			_, err := transform(obj)
			require.NoError(t, err)
		}
	}
	assert.Equal(t, before, annotations)
	assert.Len(t, pod.Annotations, 1)
	assert.Equal(t, whole["metadata"], metadata)
	assert.NotEqual(t, whole, content)
}

// TestOthersPass: what is no object comes back as it is.
func TestOthersPass(t *testing.T) {
	pod := newPod("web-0")
	for _, obj := range []any{
		nil, "text", 7, (*corev1.Pod)(nil), clientgo.DeletedFinalStateUnknown{Key: "default/web-0", Obj: pod}, &metav1.Status{},
		&corev1.PodList{Items: []corev1.Pod{*pod}},
	} {
		for _, transform := range []clientgo.TransformFunc{trim.ManagedFields, trim.Annotations(applied), trim.Annotations()} {
			got, err := transform(obj)
			require.NoError(t, err)
			assert.Equal(t, obj, got)
		}
	}
	assert.Equal(t, newPod("web-0"), pod)
}
