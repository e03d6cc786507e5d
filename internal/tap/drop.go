// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Drop names the metadata to remove from objects. It applies to the metadata of the object itself,
// not to metadata nested in it, such as that of a pod template. If no annotation remains, the map
// of annotations is removed too. A nil Drop removes nothing. A Drop is immutable.
type Drop struct {
	managedFields bool
	annotations   []string
}

// NewDrop returns a Drop of the managed fields, if managedFields is true, and of the annotations
// with the given keys. It returns nil if there is nothing to remove.
func NewDrop(managedFields bool, annotations ...string) *Drop {
	if !managedFields && len(annotations) == 0 {
		return nil
	}
	return &Drop{managedFields: managedFields, annotations: slices.Clone(annotations)}
}

// ManagedFields reports whether the managed fields are removed.
func (w *Drop) ManagedFields() bool { return w != nil && w.managedFields }

const (
	managedFieldsPath = "metadata.managedFields"
	annotationsPath   = "metadata.annotations["
)

// DropOf returns the Drop of paths of the forms metadata.managedFields and
// metadata.annotations[KEY]. The other paths are refused, and so is the annotation that ends a
// watch-list.
func DropOf(paths []string) (drop *Drop, refused []string) {
	var managedFields bool
	var annotations []string
	for _, path := range paths {
		key, closed := strings.CutSuffix(path, "]")
		key, isAnnotation := strings.CutPrefix(key, annotationsPath)
		switch {
		case path == managedFieldsPath:
			managedFields = true
		case closed && isAnnotation && isAnnotationKey(key) && key != metav1.InitialEventsAnnotationKey:
			annotations = append(annotations, key)
		default:
			refused = append(refused, path)
		}
	}
	return NewDrop(managedFields, annotations...), refused
}

func isAnnotationKey(key string) bool {
	return len(validation.IsQualifiedName(strings.ToLower(key))) == 0
}

// Trim removes the dropped metadata from obj, and ignores a value that is not an object. It
// modifies the topmost struct or map only. Nested values may be shared with other objects, so Trim
// copies a nested map before changing it. Trim does not write to an object that has none of the
// metadata.
func (w *Drop) Trim(obj any) {
	if w == nil {
		return
	}
	if object, ok := obj.(*unstructured.Unstructured); ok {
		if object != nil {
			w.trimContent(object.Object)
		}
		return
	}
	if v := reflect.ValueOf(obj); v.Kind() == reflect.Pointer && v.IsNil() {
		return
	}
	object, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	if w.managedFields && object.GetManagedFields() != nil {
		object.SetManagedFields(nil)
	}
	if annotations, changed := without(object.GetAnnotations(), w.annotations); changed {
		object.SetAnnotations(annotations)
	}
}

func (w *Drop) trimContent(content map[string]any) {
	metadata, _ := content["metadata"].(map[string]any)
	all, _ := metadata["annotations"].(map[string]any)
	annotations, changed := without(all, w.annotations)
	_, managed := metadata["managedFields"]
	managed = managed && w.managedFields
	if !changed && !managed {
		return
	}
	metadata = maps.Clone(metadata)
	if managed {
		delete(metadata, "managedFields")
	}
	switch {
	case changed && annotations == nil:
		delete(metadata, "annotations")
	case changed:
		metadata["annotations"] = annotations
	}
	content["metadata"] = metadata
}

// without returns a copy of all without the keys, or nil if no entry remains. changed reports
// whether any key was present.
func without[V any](all map[string]V, keys []string) (left map[string]V, changed bool) {
	n := 0
	for i, key := range keys {
		if _, has := all[key]; has && !slices.Contains(keys[:i], key) {
			n++
		}
	}
	if n == 0 || n == len(all) {
		return nil, n > 0
	}
	left = make(map[string]V, len(all)-n)
	for key, value := range all {
		if !slices.Contains(keys, key) {
			left[key] = value
		}
	}
	return left, true
}
