// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package identical reports whether two objects are copies of each other, fast
// enough to ask it of every object of a relist: in an eighth of the time of
// apimachinery's semantic DeepEqual.
//
// It compares what the users of an object can see, and is strict: a nil slice
// or map is not an empty one, a time is not the same moment in another
// location. One exception is the text of a resource.Quantity: its String method
// writes that into the quantity, perhaps at this moment, so it is not read, and
// two ways to write one amount in one format, such as "100m" and "+100m", are
// identical. What it cannot compare for sure it calls different:
// functions, channels, cycles, values of package sync, and what contains them
// (messages of protobuf's second API). What is at one place in memory is identical.
//
// It reads private fields, too, so the objects must not be written to meanwhile.
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

// Objects reports whether two values have the same type and identical content.
// Any number of goroutines may call it.
func Objects(a, b any) bool { return values(a, b, 0) }

// maxDepth is how many pointers, slices, maps and interfaces deep an object may be: more than any
// that was decoded from a document, and few enough to find a cycle before the stack is a burden.
const maxDepth = 1000

// values compares what two interfaces hold. What unstructured objects consist
// of has a shorter way.
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

// same compares two values of one type.
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
		return !isSync(v.Type().Elem()) && sameElements(v, w, depth) // an empty one of package sync marks what must not be copied
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return v.IsNil() == w.IsNil() && depth <= maxDepth && (v.IsNil() || sameReferences(v, w, depth+1))
	default:
		return false
	}
}

// sameReferences compares what two values refer to, neither of which is nil.
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

// sameMaps compares maps. Keys are the same if Go says so.
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

// sameStruct compares field by field, but for the text of a quantity. Of a time it asks for the same
// clock readings and location.
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
