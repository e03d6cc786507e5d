// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/kinformer"
)

// TransformStripManagedFields has the name of a known function.
func TransformStripManagedFields() func(any) (any, error) {
	return func(obj any) (any, error) { return obj, nil }
}

// TestKeepsParts checks that the functions of package kinformer are recognized, and functions that only
// have the name of a known one are not. The conformance tests cover controller-runtime.
func TestKeepsParts(t *testing.T) {
	for _, example := range []runtime.Object{&corev1.Pod{}, &unstructured.Unstructured{}, &metav1.PartialObjectMetadata{}, nil} {
		assert.True(t, event.KeepsParts(kinformer.TrimManagedFields, example))
		assert.True(t, event.KeepsParts(kinformer.TrimAnnotations("a"), example))
		assert.False(t, event.KeepsParts(TransformStripManagedFields(), example))
		assert.False(t, event.KeepsParts(func(obj any) (any, error) { return kinformer.TrimManagedFields(obj) }, example))
		assert.False(t, event.KeepsParts(nil, example))
	}
}
