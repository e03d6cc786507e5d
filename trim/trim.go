// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package trim has transform functions that make objects smaller before an informer stores them:
//
//	err := informer.SetTransform(trim.ManagedFields)
//
// They take objects as clients decode them: typed, unstructured, or metadata only. Other values,
// and tombstones, are returned unchanged. They trim the objects' own metadata, not that of
// templates in them. The resourceVersion, and everything else that an informer needs, stays.
//
// An informer of github.com/kinformer/cache can do the same, without a transform function, by
// Decoding.Drop, which takes both at once.
//
// # What they write to
//
// Like all transform functions, they may change the object that they get, and return it. They do
// not write to an object that has nothing to trim. They write only to fields of the topmost struct,
// or to the topmost map: they copy annotations before they leave one out, and the metadata of an
// unstructured object. So they keep the promise of Decoding.TransformCopies, and are safe with
// ShareParts.
package trim

import (
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/decode"
)

var managedFields = decode.NewDrop(true)

// ManagedFields is a transform function that leaves out metadata.managedFields: the record of who
// has set which field. Hardly any program uses it, and it is a fifth of a pod or more.
func ManagedFields(obj any) (any, error) {
	managedFields.Trim(obj)
	return obj, nil
}

var _ clientgo.TransformFunc = ManagedFields

// Annotations returns a transform function that leaves out the annotations with these keys, such as
// kubectl.kubernetes.io/last-applied-configuration, which has the whole object once more. Where no
// other annotation is left the map is nil, and missing in an unstructured object.
func Annotations(keys ...string) clientgo.TransformFunc {
	drop := decode.NewDrop(false, keys...)
	return func(obj any) (any, error) {
		drop.Trim(obj)
		return obj, nil
	}
}
