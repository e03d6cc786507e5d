// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package kinformer

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/event"
	"github.com/kinformer/cache/internal/tap"
)

func init() { event.CopiesParts(TrimManagedFields, TrimAnnotations()) }

var managedFields = tap.NewDrop(true)

// TrimManagedFields is a transform function, for SetTransform of any informer, that removes metadata.managedFields,
// the record of the manager of each field. It is a fifth of a pod or more, and few programs use it: those that call an
// Extract function of an apply configuration, which finds nothing without it.
//
// Like TrimAnnotations, TrimManagedFields accepts objects as clients decode them: typed, unstructured, or metadata only.
// It returns other values, and tombstones, unchanged. It does not write to an object that needs no trimming, and writes only
// to fields of the topmost struct, or to the topmost map: it copies the metadata of an unstructured object. So it satisfies
// Decoding.TransformCopies, and is safe with ShareParts. Decoding.Drop does the same without a transform function.
func TrimManagedFields(obj any) (any, error) {
	managedFields.Trim(obj)
	return obj, nil
}

// TrimAnnotations returns a transform function like TrimManagedFields, which removes the annotations with these keys, such
// as kubectl.kubernetes.io/last-applied-configuration, a copy of the object. It copies the annotations of an object before it
// removes one. If no other annotation is left, the map is nil, and missing in an unstructured object.
//
//go:noinline
func TrimAnnotations(keys ...string) clientgo.TransformFunc {
	// Not inlined, so that all functions returned have the address that event.CopiesParts knows.
	drop := tap.NewDrop(false, keys...)
	return func(obj any) (any, error) {
		drop.Trim(obj)
		return obj, nil
	}
}
