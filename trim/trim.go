// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trim has transform functions that make objects smaller before an informer stores them:
//
//	err := informer.SetTransform(trim.ManagedFields)
//
// They accept objects as clients decode them: typed, unstructured, or metadata only. They return other
// values, and tombstones, unchanged. They trim the metadata of the objects themselves, not that of
// templates in them. The resourceVersion, and all other fields that an informer needs, are kept.
//
// An informer of github.com/kinformer/cache can do the same, without a transform function, with
// Decoding.Drop, which removes managed fields and annotations together.
//
// # Writes
//
// Like all transform functions, they may modify the object that they receive, and return it. They do
// not write to an object that needs no trimming. They write only to fields of the topmost struct, or to
// the topmost map: they copy annotations before they remove one, and the metadata of an unstructured
// object. So they satisfy Decoding.TransformCopies, and are safe with ShareParts.
package trim

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
)

var managedFields = tap.NewDrop(true)

// ManagedFields is a transform function that removes metadata.managedFields, the record of the manager
// of each field. Hardly any program uses it, and it is a fifth of a pod or more.
func ManagedFields(obj any) (any, error) {
	managedFields.Trim(obj)
	return obj, nil
}

var _ clientgo.TransformFunc = ManagedFields

// Annotations returns a transform function that removes the annotations with these keys, such as
// kubectl.kubernetes.io/last-applied-configuration, which contains a copy of the object. If no other
// annotation is left, the map is nil, and missing in an unstructured object.
func Annotations(keys ...string) clientgo.TransformFunc {
	drop := tap.NewDrop(false, keys...)
	return func(obj any) (any, error) {
		drop.Trim(obj)
		return obj, nil
	}
}
