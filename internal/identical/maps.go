// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package identical

import (
	"reflect"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// mapping compares maps. The usual ones are read as maps of the same layout:
// a map does not know the names of its types, and all types of strings have one
// hash function.
func (p *planner) mapping(t reflect.Type) comparison {
	if elem := t.Elem(); t.Key().Kind() == reflect.String {
		switch {
		case elem.Kind() == reflect.String:
			return textMaps
		case elem == quantityType:
			return mapsOf[resource.Quantity](p.of(elem))
		case elem.Kind() == reflect.Slice && elem.Elem().Kind() == reflect.Uint8:
			return mapsOf[[]byte](p.of(elem))
		case elem.Kind() == reflect.Interface && elem.NumMethod() == 0:
			return func(a, b unsafe.Pointer, depth int) bool {
				return depth < maxDepth && documents(*(*map[string]any)(a), *(*map[string]any)(b), depth+1)
			}
		}
	}
	return p.anyMap(t)
}

func textMaps(a, b unsafe.Pointer, _ int) bool {
	x, y := *(*map[string]string)(a), *(*map[string]string)(b)
	if len(x) != len(y) || (x == nil) != (y == nil) {
		return false
	}
	for key, v := range x {
		if w, exists := y[key]; !exists || v != w {
			return false
		}
	}
	return true
}

// mapsOf compares maps from strings to values of V's layout.
func mapsOf[V any](same *comparison) comparison {
	return func(a, b unsafe.Pointer, depth int) bool {
		x, y := *(*map[string]V)(a), *(*map[string]V)(b)
		if len(x) != len(y) || (x == nil) != (y == nil) || depth >= maxDepth {
			return false
		}
		var v, w V // in one place for all entries, as they escape
		for key, value := range x {
			var exists bool
			v = value
			if w, exists = y[key]; !exists || !(*same)(unsafe.Pointer(&v), unsafe.Pointer(&w), depth+1) {
				return false
			}
		}
		return true
	}
}

// anyMap compares maps of any type. Keys are the same if Go says so.
func (p *planner) anyMap(t reflect.Type) comparison {
	same := p.of(t.Elem())
	return func(a, b unsafe.Pointer, depth int) bool {
		x, y := reflect.NewAt(t, a).Elem(), reflect.NewAt(t, b).Elem()
		if x.Len() != y.Len() || x.IsNil() != y.IsNil() || depth >= maxDepth {
			return false
		}
		v, w := reflect.New(t.Elem()), reflect.New(t.Elem())
		for entries := x.MapRange(); entries.Next(); {
			other := y.MapIndex(entries.Key())
			if !other.IsValid() {
				return false
			}
			v.Elem().SetIterValue(entries)
			w.Elem().Set(other)
			if !(*same)(v.UnsafePointer(), w.UnsafePointer(), depth+1) {
				return false
			}
		}
		return true
	}
}
