// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// ForKind returns the value in m for objects like example, and how many there are.
func ForKind[V any](m map[runtime.Object]V, example runtime.Object) (of V, n int) {
	for other, value := range m {
		if SameKind(other, example) {
			of, n = value, n+1
		}
	}
	return of, n
}

// SameKind reports whether two examples are of the same Go type, and if that is one for many kinds, of the same kind.
func SameKind(a, b runtime.Object) bool {
	if a == nil || b == nil || reflect.TypeOf(a) != reflect.TypeOf(b) {
		return false
	}
	return !HasAnyKind(a) || a.GetObjectKind().GroupVersionKind() == b.GetObjectKind().GroupVersionKind()
}

// HasAnyKind reports whether the type of an example is one for many kinds.
func HasAnyKind(example runtime.Object) bool {
	switch example.(type) {
	case runtime.Unstructured, *metav1.PartialObjectMetadata:
		return true
	}
	return false
}
