// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package identical

import (
	"reflect"
	"strings"
	"time"
	"unsafe"

	"k8s.io/apimachinery/pkg/api/resource"
)

// comparison reports whether the values at a and b, both of the type that it was made for, are
// identical.
type comparison func(a, b unsafe.Pointer, depth int) bool

// maxDepth is how many pointers, slices, maps and interfaces deep an object may be: more than any
// that was decoded from a document, and few enough to find a cycle before the stack is a burden.
const maxDepth = 1000

// planner makes the comparison of a type and of those in it.
type planner struct {
	begun  map[reflect.Type]*comparison   // types may contain themselves
	values func(x, y any, depth int) bool // compares what interfaces hold
}

var (
	timeType     = reflect.TypeFor[time.Time]()
	quantityType = reflect.TypeFor[resource.Quantity]()
)

func never(unsafe.Pointer, unsafe.Pointer, int) bool { return false }

// of returns where the comparison of a type is, or will be.
func (p *planner) of(t reflect.Type) *comparison {
	if begun, ok := p.begun[t]; ok {
		return begun
	}
	made := new(comparison)
	p.begun[t] = made
	*made = p.plan(t)
	return made
}

func (p *planner) plan(t reflect.Type) comparison {
	if isPlain(t) {
		return run(t.Size())
	}
	switch t.Kind() {
	case reflect.String:
		return texts
	case reflect.Pointer:
		return p.pointer(t.Elem())
	case reflect.Slice:
		return p.slice(t.Elem())
	case reflect.Array:
		return p.array(t)
	case reflect.Map:
		return p.mapping(t)
	case reflect.Struct:
		return p.structure(t)
	case reflect.Interface:
		return p.held(t)
	default:
		return never
	}
}

// isPlain reports whether values are identical if their bytes are. Of a time that asks for the same
// clock readings and location.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return true
	default:
		return t == timeType
	}
}

// run compares n bytes.
func run(n uintptr) comparison {
	return func(a, b unsafe.Pointer, _ int) bool { return sameBytes(a, b, n) }
}

func sameBytes(a, b unsafe.Pointer, n uintptr) bool {
	return a == b || unsafe.String((*byte)(a), n) == unsafe.String((*byte)(b), n)
}

func texts(a, b unsafe.Pointer, _ int) bool { return *(*string)(a) == *(*string)(b) }

// held compares interfaces of type t.
func (p *planner) held(t reflect.Type) comparison {
	values := p.values
	if t.NumMethod() == 0 {
		return func(a, b unsafe.Pointer, depth int) bool { return values(*(*any)(a), *(*any)(b), depth+1) }
	}
	return func(a, b unsafe.Pointer, depth int) bool {
		return values(reflect.NewAt(t, a).Elem().Interface(), reflect.NewAt(t, b).Elem().Interface(), depth+1)
	}
}

func (p *planner) pointer(elem reflect.Type) comparison {
	target := p.of(elem)
	return func(a, b unsafe.Pointer, depth int) bool {
		x, y := *(*unsafe.Pointer)(a), *(*unsafe.Pointer)(b)
		return x == y || x != nil && y != nil && depth < maxDepth && (*target)(x, y, depth+1)
	}
}

// slice is the memory of a slice.
type slice struct {
	data     unsafe.Pointer
	len, cap int
}

func (p *planner) slice(elem reflect.Type) comparison {
	size := elem.Size()
	if isPlain(elem) {
		return func(a, b unsafe.Pointer, _ int) bool {
			x, y := (*slice)(a), (*slice)(b)
			return x.len == y.len && (x.data == nil) == (y.data == nil) && sameBytes(x.data, y.data, uintptr(x.len)*size)
		}
	}
	each := p.of(elem)
	return func(a, b unsafe.Pointer, depth int) bool {
		x, y := (*slice)(a), (*slice)(b)
		return x.len == y.len && (x.data == nil) == (y.data == nil) && depth < maxDepth &&
			elements(*each, x.data, y.data, x.len, size, depth+1)
	}
}

func (p *planner) array(t reflect.Type) comparison {
	if isSync(t.Elem()) {
		return never // an empty one marks what must not be copied
	}
	each, n, size := p.of(t.Elem()), t.Len(), t.Elem().Size()
	return func(a, b unsafe.Pointer, depth int) bool { return elements(*each, a, b, n, size, depth) }
}

func elements(same comparison, a, b unsafe.Pointer, n int, size uintptr, depth int) bool {
	for offset := uintptr(0); n > 0; n, offset = n-1, offset+size {
		if !same(unsafe.Add(a, offset), unsafe.Add(b, offset), depth) {
			return false
		}
	}
	return true
}

func isSync(t reflect.Type) bool {
	return t.PkgPath() == "sync" || strings.HasPrefix(t.PkgPath(), "sync/")
}

// structure compares field by field, but for the text of a quantity.
func (p *planner) structure(t reflect.Type) comparison {
	if isSync(t) {
		return never
	}
	type field struct {
		offset uintptr
		same   *comparison
	}
	var fields []field
	for i := range t.NumField() {
		if f := t.Field(i); t != quantityType || f.Name != "s" {
			fields = append(fields, field{f.Offset, p.of(f.Type)})
		}
	}
	return func(a, b unsafe.Pointer, depth int) bool {
		for _, f := range fields {
			if !(*f.same)(unsafe.Add(a, f.offset), unsafe.Add(b, f.offset), depth) {
				return false
			}
		}
		return true
	}
}

// mapping compares maps. The usual ones are read as maps of the same layout: a map does not know
// the names of its types, and all types of strings have one hash function.
func (p *planner) mapping(t reflect.Type) comparison {
	if elem := t.Elem(); t.Key().Kind() == reflect.String {
		switch {
		case elem.Kind() == reflect.String:
			return textMaps
		case elem.Kind() == reflect.Interface && elem.NumMethod() == 0:
			values := p.values
			return func(a, b unsafe.Pointer, depth int) bool {
				return depth < maxDepth && values(*(*map[string]any)(a), *(*map[string]any)(b), depth+1)
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
