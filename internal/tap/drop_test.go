// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clientgo "k8s.io/client-go/tools/cache"
)

func TestDropOf(t *testing.T) {
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	for _, tc := range []struct {
		paths, refused []string
		drop           *Drop
	}{
		{},
		{paths: []string{"metadata.managedFields"}, drop: &Drop{managedFields: true}},
		{paths: []string{"metadata.annotations[" + applied + "]", "metadata.annotations[A]"}, drop: &Drop{annotations: []string{applied, "A"}}},
		{paths: []string{"metadata.managedFields", "spec", "metadata.annotations[a]", "metadata.labels[a]"},
			drop: &Drop{managedFields: true, annotations: []string{"a"}}, refused: []string{"spec", "metadata.labels[a]"}},
	} {
		drop, refused := DropOf(tc.paths)
		assert.Equal(t, tc.drop, drop)
		assert.Equal(t, tc.refused, refused)
	}
	for _, path := range []string{
		"", "metadata", "metadata.managedfields", " metadata.managedFields", "metadata.managedFields[0]", "metadata.annotations", "metadata.annotations[]",
		"metadata.annotations.a", "metadata.annotations[a", "metadata.annotations['a']", "metadata.annotations[a]]", "metadata.annotations[a/b/c]",
		"metadata.annotations[k8s.io/initial-events-end]", "spec.template.metadata.annotations[a]", "metadata.annotations[a].b",
	} {
		drop, refused := DropOf([]string{path})
		assert.Nil(t, drop, path)
		assert.Equal(t, []string{path}, refused)
	}
}

// TestTrimIgnoresOtherValues checks that Trim ignores values without metadata, and does not modify an object
// that has none of the dropped metadata.
func TestTrimIgnoresOtherValues(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "1"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
	for _, obj := range []any{
		nil, 7, "text", (*corev1.Pod)(nil), (*unstructured.Unstructured)(nil), &unstructured.Unstructured{}, &corev1.PodList{Items: []corev1.Pod{*pod}},
		clientgo.DeletedFinalStateUnknown{Key: "a", Obj: pod}, &metav1.Status{}, *pod, &unstructured.Unstructured{Object: map[string]any{"metadata": "no"}},
		&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": 7, "name": "a"}}},
		&unstructured.UnstructuredList{Items: []unstructured.Unstructured{{Object: map[string]any{"metadata": map[string]any{"managedFields": 1}}}}},
	} {
		before := fmt.Sprintf("%+v", obj)
		NewDrop(true, "a").Trim(obj)
		assert.Equal(t, before, fmt.Sprintf("%+v", obj))
	}
	(*Drop)(nil).Trim(pod)
	assert.Len(t, pod.Annotations, 1)
	annotations := pod.Annotations
	NewDrop(false, "b").Trim(pod)
	assert.Equal(t, reflect.ValueOf(annotations).UnsafePointer(), reflect.ValueOf(pod.Annotations).UnsafePointer())
	assert.Len(t, pod.ManagedFields, 1)
	NewDrop(true, "a", "b").Trim(pod)
	assert.Equal(t, &corev1.Pod{}, pod)
	assert.Equal(t, map[string]string{"a": "1"}, annotations)
}
