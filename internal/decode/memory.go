// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"unsafe"
	"weak"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// All of this package's use of unsafe is in this file: places in values, at offsets that reflect
// gave, and texts that look at bytes. A place always points into memory that was allocated as the
// type that is written to it, so the garbage collector and checkptr know it.

// place is where a value of a type that the reader knows is.
type place = unsafe.Pointer

// placeOf returns where the value is that v, a pointer, points to.
func placeOf(v reflect.Value) place { return v.UnsafePointer() }

// placeIn returns the place of a variable.
func placeIn[T any](v *T) place { return place(v) }

func offset(p place, n uintptr) place { return unsafe.Add(p, n) }

func set[T any](p place, v T) { *(*T)(p) = v }

func get[T any](p place) *T { return (*T)(p) }

// view returns b as a string, valid until b is written to.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Weak refers to an object, and does not keep it.
type Weak struct{ to weak.Pointer[byte] }

// WeakTo refers to what obj points to.
func WeakTo(obj any) Weak { return Weak{weak.Make((*byte)(placeOf(reflect.ValueOf(obj))))} }

// IsGone reports whether the object is garbage.
func (w Weak) IsGone() bool { return w.to.Value() == nil }

// Object returns the object, or nil if it is gone. It must be of that type, a pointer.
func (w Weak) Object(t reflect.Type) any {
	at := w.to.Value()
	if at == nil {
		return nil
	}
	return reflect.NewAt(t.Elem(), place(at)).Interface()
}

// slice is what a slice consists of.
type slice struct {
	first    place
	len, cap int
}

// makerOf returns what makes a variable of a type. Those that objects have many pointers to are
// known here, for reflect is slow.
func makerOf(t reflect.Type) func() place {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return variable[metav1.Time]
	case reflect.TypeFor[metav1.FieldsV1]():
		return variable[metav1.FieldsV1]
	}
	switch t.Kind() {
	case reflect.Bool:
		return variable[bool]
	case reflect.Int32:
		return variable[int32]
	case reflect.Int64:
		return variable[int64]
	case reflect.String:
		return variable[string]
	}
	return func() place { return placeOf(reflect.New(t)) }
}

func variable[T any]() place { return place(new(T)) }

// makeList puts a list of n elements, at least one, to p, where a nil list of that type is, and
// returns the place of its first element.
func makeList(t reflect.Type, p place, n int) place {
	list := pointerAt(t, p).Elem()
	list.Grow(n)
	first := list.UnsafePointer()
	set(p, slice{first: first, len: n, cap: n})
	return first
}

// pointerAt returns the value at p as a pointer to it.
func pointerAt(t reflect.Type, p place) reflect.Value { return reflect.NewAt(t, p) }
