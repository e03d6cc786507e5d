// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode"
)

// difference returns the place at which two objects are not deeply equal, by type and path, without
// a value. It returns "" if they are equal.
func difference(ours, theirs runtime.Object) string {
	if reflect.DeepEqual(ours, theirs) {
		return ""
	}
	a, b := reflect.ValueOf(ours), reflect.ValueOf(theirs)
	if !a.IsValid() || !b.IsValid() || a.Type() != b.Type() {
		return fmt.Sprintf("a %T, is a %T", ours, theirs)
	}
	return fmt.Sprintf("a %T, differs at %s", ours, "object"+path(a, b, deepestPath))
}

// writtenTo returns the place of a modification, by type and path, without a value.
func writtenTo(w *decode.Written) string {
	text := fmt.Sprintf("a %v", w.Is.Type())
	if w.Is.Kind() == reflect.Interface {
		text = fmt.Sprintf("a %v", w.Is.Elem().Type())
	}
	if w.In != "" {
		text = w.In + ", " + text
	}
	if at := path(w.Is, w.Was, deepestPath); at != "" {
		text += ", at " + at
	}
	return text
}

// deepestPath bounds the length of a path.
const deepestPath = 40

// path returns the path to the first place at which two values that are not deeply equal differ.
// Keys of maps are data, so the path does not contain them.
func path(a, b reflect.Value, depth int) string {
	if depth == 0 || a.Type() != b.Type() {
		return ""
	}
	switch a.Kind() {
	case reflect.Pointer, reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return ""
		}
		return path(a.Elem(), b.Elem(), depth-1)
	case reflect.Struct:
		for i := range a.NumField() {
			if !equal(a.Field(i), b.Field(i)) {
				return "." + a.Type().Field(i).Name + path(a.Field(i), b.Field(i), depth-1)
			}
		}
	case reflect.Slice, reflect.Array:
		if a.Len() != b.Len() || a.Kind() == reflect.Slice && a.IsNil() != b.IsNil() {
			return ""
		}
		for i := range a.Len() {
			if !equal(a.Index(i), b.Index(i)) {
				return fmt.Sprintf("[%d]", i) + path(a.Index(i), b.Index(i), depth-1)
			}
		}
	case reflect.Map:
		return mapPath(a, b, depth)
	}
	return ""
}

func mapPath(a, b reflect.Value, depth int) string {
	for _, key := range a.MapKeys() {
		inB := b.MapIndex(key)
		if inB.IsValid() && !equal(a.MapIndex(key), inB) {
			return "[...]" + path(a.MapIndex(key), inB, depth-1)
		}
	}
	return ""
}

// equal is reflect.DeepEqual for values reached by path. It reports true for unexported fields that
// cannot be compared, which makes the path shorter.
func equal(a, b reflect.Value) bool {
	switch {
	case a.CanInterface() && b.CanInterface():
		return reflect.DeepEqual(a.Interface(), b.Interface())
	case a.Comparable() && b.Comparable():
		return a.Equal(b)
	default:
		return true
	}
}
