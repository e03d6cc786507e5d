// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identical reports whether two objects are copies of each other. It takes an eighth of the
// time of apimachinery's semantic DeepEqual, so it can compare every object of a relist.
//
// The comparison is strict: a nil slice or map differs from an empty one, and equal instants in
// different locations differ. There is one exception: the cached string of a resource.Quantity is
// not read, because String writes it, possibly at the same time. So two spellings of one amount in
// one format, such as "100m" and "+100m", are identical.
//
// Values that cannot be compared reliably are reported as different: functions, channels, cycles,
// values of package sync, and everything that contains them, such as messages of protobuf's second
// API. References to the same memory are identical without a comparison.
//
// The comparison reads unexported fields, so no goroutine may write to the objects during the call.
package identical

import (
	"bytes"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Objects reports whether a and b have the same type and identical content. It is safe for
// concurrent use.
func Objects(a, b any) bool { return values(a, b, 0) }

// maxDepth is the greatest number of nested pointers, slices, maps and interfaces: more than in any
// decoded document, and few enough to stop at a cycle before the stack grows large.
const maxDepth = 1000

// values compares the values of two interfaces. The types of unstructured objects take a fast path
// without reflection.
func values(x, y any, depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch v := x.(type) {
	case nil, string, bool, int64:
		return x == y
	case map[string]any:
		w, ok := y.(map[string]any)
		return ok && maps(v, w, func(x, y any) bool { return values(x, y, depth+1) })
	case []any:
		w, ok := y.([]any)
		return ok && (v == nil) == (w == nil) && slices.EqualFunc(v, w, func(x, y any) bool { return values(x, y, depth+1) })
	}
	return y != nil && reflect.TypeOf(x) == reflect.TypeOf(y) && same(reflect.ValueOf(x), reflect.ValueOf(y), depth)
}

func maps[V any](v, w map[string]V, same func(x, y V) bool) bool {
	if len(v) != len(w) || (v == nil) != (w == nil) {
		return false
	}
	for key, x := range v {
		if y, exists := w[key]; !exists || !same(x, y) {
			return false
		}
	}
	return true
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	quantityType = reflect.TypeFor[resource.Quantity]()
	textMapType  = reflect.TypeFor[map[string]string]()
)

// same compares two values of the same type.
func same(v, w reflect.Value, depth int) bool {
	switch v.Kind() {
	case reflect.Bool:
		return v.Bool() == w.Bool()
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return v.Int() == w.Int()
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return v.Uint() == w.Uint()
	case reflect.Float32, reflect.Float64:
		return math.Float64bits(v.Float()) == math.Float64bits(w.Float())
	case reflect.String:
		return v.String() == w.String()
	case reflect.Struct:
		return sameStruct(v, w, depth)
	case reflect.Array:
		return !isSync(v.Type().Elem()) && sameElements(v, w, depth) // an empty array of a type of package sync marks a struct that must not be copied
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil() == w.IsNil() && depth <= maxDepth && (v.IsNil() || sameReferences(v, w, depth+1))
	default:
		return false
	}
}

// sameReferences compares the values that v and w refer to. Neither is nil.
func sameReferences(v, w reflect.Value, depth int) bool {
	switch v.Kind() {
	case reflect.Pointer:
		return v.UnsafePointer() == w.UnsafePointer() || same(v.Elem(), w.Elem(), depth)
	case reflect.Slice:
		switch {
		case v.Len() != w.Len():
			return false
		case v.UnsafePointer() == w.UnsafePointer():
			return true
		case v.Type().Elem().Kind() == reflect.Uint8:
			return bytes.Equal(v.Bytes(), w.Bytes())
		}
		return sameElements(v, w, depth)
	case reflect.Map:
		return v.UnsafePointer() == w.UnsafePointer() || sameMaps(v, w, depth)
	default:
		if v.CanInterface() {
			return values(v.Interface(), w.Interface(), depth)
		}
		return v.Elem().Type() == w.Elem().Type() && same(v.Elem(), w.Elem(), depth)
	}
}

func sameElements(v, w reflect.Value, depth int) bool {
	for i := range v.Len() {
		if !same(v.Index(i), w.Index(i), depth) {
			return false
		}
	}
	return true
}

// sameMaps compares maps. Keys are compared by ==.
func sameMaps(v, w reflect.Value, depth int) bool {
	if v.Type() == textMapType && v.CanInterface() {
		return maps(v.Interface().(map[string]string), w.Interface().(map[string]string), func(x, y string) bool { return x == y })
	}
	if v.Len() != w.Len() {
		return false
	}
	for entries := v.MapRange(); entries.Next(); {
		other := w.MapIndex(entries.Key())
		if !other.IsValid() || !same(entries.Value(), other, depth) {
			return false
		}
	}
	return true
}

// sameStruct compares field by field, except for the cached string of a quantity. The locations of
// two times must be the same pointer.
func sameStruct(v, w reflect.Value, depth int) bool {
	t := v.Type()
	if isSync(t) {
		return false
	}
	for i := range t.NumField() {
		switch x, y := v.Field(i), w.Field(i); {
		case t == quantityType && t.Field(i).Name == "s":
		case t == timeType && x.Kind() == reflect.Pointer:
			if x.UnsafePointer() != y.UnsafePointer() {
				return false
			}
		case !same(x, y, depth):
			return false
		}
	}
	return true
}

func isSync(t reflect.Type) bool {
	return t.PkgPath() == "sync" || strings.HasPrefix(t.PkgPath(), "sync/")
}
