// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

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

// Drop says what is left out of the metadata of objects: of what a whole object has as its own,
// and at no other depth. Where no annotation is left, the object has no annotations at all. A nil
// Drop leaves out nothing. None is ever written to.
type Drop struct {
	managedFields bool
	annotations   []string
}

// NewDrop leaves out the managed fields, if so, and annotations by their keys.
func NewDrop(managedFields bool, annotations ...string) *Drop {
	if !managedFields && len(annotations) == 0 {
		return nil
	}
	return &Drop{managedFields: managedFields, annotations: slices.Clone(annotations)}
}

const (
	managedFieldsPath = "metadata.managedFields"
	annotationsPath   = "metadata.annotations["
)

// DropOf leaves out what is at these paths: metadata.managedFields and metadata.annotations[KEY].
// It returns those that cannot be left out: all others, and the annotation that ends a watch-list.
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

// Trim leaves this out of an object that has it; what is no object stays as it is. It writes to the
// fields of the topmost struct, or to the topmost map, only: what is below, which other objects may
// share, is copied before it is changed. To an object that has none of it nothing is written.
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

// without returns a map without these keys, nil if it has no others, and whether it had any.
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
