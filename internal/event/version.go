// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// VersionOf returns the resourceVersion of obj. ok is false when obj has no metadata.
func VersionOf(obj any) (rv string, ok bool) {
	accessor, err := meta.Accessor(obj)
	if err != nil {
		return "", false
	}
	return accessor.GetResourceVersion(), true
}

// LaterVersion returns the resourceVersion to hold after seeing seen while holding held: the greater one when the two
// can be compared, else the one seen last.
func LaterVersion(held, seen string) string {
	if len(seen) > len(held) || len(seen) == len(held) && seen >= held {
		return seen // whether it is the greater number or none at all
	}
	if order, err := resourceversion.CompareResourceVersion(held, seen); err == nil && order > 0 {
		return held
	}
	return seen
}
