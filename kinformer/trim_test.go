// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer_test

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

	"github.com/kinformer/cache/kinformer"
)

const applied = "kubectl.kubernetes.io/last-applied-configuration"

// newPod returns a pod in the form that a server sends.
func newPod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name,
		Annotations:   map[string]string{applied: `{"kind":"Pod"}`, "example.com/owner": "web"},
		ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
	}}
}

// forms returns a pod in the form of each kind of client.
func forms(t *testing.T) []runtime.Object {
	pod := newPod("web-0")
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	require.NoError(t, err)
	return []runtime.Object{pod, &metav1.PartialObjectMetadata{ObjectMeta: *pod.ObjectMeta.DeepCopy()}, &unstructured.Unstructured{Object: content}}
}

// TestTrimmed: objects of each kind lose the fields that the function removes, and no others.
func TestTrimmed(t *testing.T) {
	for _, obj := range forms(t) {
		o := obj.(metav1.Object)
		for range 2 {
			got, err := kinformer.TrimManagedFields(obj)
			require.NoError(t, err)
			assert.Same(t, obj, got)
			assert.Empty(t, o.GetManagedFields())
			assert.Len(t, o.GetAnnotations(), 2)
		}
		got, err := kinformer.TrimAnnotations("other", applied)(obj)
		require.NoError(t, err)
		assert.Same(t, obj, got)
		assert.Equal(t, map[string]string{"example.com/owner": "web"}, o.GetAnnotations())
		_, err = kinformer.TrimAnnotations("example.com/owner")(obj)
		require.NoError(t, err)
		assert.Nil(t, o.GetAnnotations())
		assert.Equal(t, "web-0", o.GetName())
	}
	for _, obj := range forms(t) {
		_, err := kinformer.TrimAnnotations("example.com/owner", "example.com/owner")(obj)
		require.NoError(t, err)
		assert.Len(t, obj.(metav1.Object).GetAnnotations(), 1, "a key may be named twice")
		assert.Len(t, obj.(metav1.Object).GetManagedFields(), 1)
	}
	bare := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": map[string]any{"a": "1"}}}}
	_, err := kinformer.TrimAnnotations("a")(bare)
	require.NoError(t, err)
	assert.Equal(t, map[string]any{"metadata": map[string]any{}}, bare.Object)
}

// counted is an object that counts writes.
type counted struct {
	corev1.Pod
	writes int
}

func (c *counted) SetManagedFields([]metav1.ManagedFieldsEntry) { c.writes++ }

func (c *counted) SetAnnotations(map[string]string) { c.writes++ }

// TestNothingIsWritten: an object that needs no trimming is not written to, and a value that is not an object is
// returned unchanged.
func TestNothingIsWritten(t *testing.T) {
	bare, other := &counted{}, &counted{Pod: corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"example.com/owner": "web"}}}}
	metadata := map[string]any{"annotations": map[string]any{"example.com/owner": "web"}}
	untyped, empty := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata}}, &unstructured.Unstructured{Object: map[string]any{}}
	pod := newPod("web-0")
	list := &corev1.PodList{Items: []corev1.Pod{*pod}}
	for _, obj := range []any{
		bare, other, untyped, empty, nil, "text", 7, (*corev1.Pod)(nil), (*unstructured.Unstructured)(nil), &unstructured.Unstructured{},
		clientgo.DeletedFinalStateUnknown{Key: "default/web-0", Obj: pod}, &metav1.Status{}, list,
	} {
		for _, transform := range []clientgo.TransformFunc{kinformer.TrimManagedFields, kinformer.TrimAnnotations(applied), kinformer.TrimAnnotations()} {
			got, err := transform(obj)
			require.NoError(t, err)
			assert.True(t, obj == got, "%T", obj)
		}
	}
	assert.Zero(t, bare.writes)
	assert.Zero(t, other.writes)
	assert.Empty(t, empty.Object)
	metadata["seen"] = true
	assert.Equal(t, metadata, untyped.Object["metadata"], "it is the same map")
	assert.Equal(t, newPod("web-0"), pod)
	assert.Equal(t, []corev1.Pod{*newPod("web-0")}, list.Items)
}

// TestTrimCopies: maps that other objects may share are not written to.
func TestTrimCopies(t *testing.T) {
	pod := newPod("web-0")
	annotations, before := pod.Annotations, maps.Clone(pod.Annotations)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	require.NoError(t, err)
	metadata, whole := content["metadata"].(map[string]any), runtime.DeepCopyJSON(content)
	for _, obj := range []any{pod, &unstructured.Unstructured{Object: content}} {
		for _, transform := range []clientgo.TransformFunc{kinformer.TrimManagedFields, kinformer.TrimAnnotations(applied)} {
			_, err := transform(obj)
			require.NoError(t, err)
		}
	}
	assert.Equal(t, before, annotations)
	assert.Len(t, pod.Annotations, 1)
	assert.Equal(t, whole["metadata"], metadata)
	assert.NotEqual(t, whole, content)
}
