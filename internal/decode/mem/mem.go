// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mem reads and writes values by their addresses. It is the only package below
// internal/decode that imports unsafe. A [Place] always points into memory that was allocated as
// the type that is written to it, so the garbage collector and checkptr know it.
package mem

import (
	"reflect"
	"unsafe"
	"weak"
)

// Place is the address of a value whose type the reader knows.
type Place = unsafe.Pointer

// Of returns the address in v, a pointer.
func Of(v reflect.Value) Place { return v.UnsafePointer() }

// In returns the address of a variable.
func In[T any](v *T) Place { return Place(v) }

// Offset returns the address that is n bytes behind p, within the same value.
func Offset(p Place, n uintptr) Place { return unsafe.Add(p, n) }

// Set writes v to p.
func Set[T any](p Place, v T) { *(*T)(p) = v }

// Get returns p as a pointer.
func Get[T any](p Place) *T { return (*T)(p) }

// Pointer returns p as a pointer to a t.
func Pointer(t reflect.Type, p Place) reflect.Value { return reflect.NewAt(t, p) }

// View returns b as a string, valid until b is written to.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Slice has the parts of a slice.
type Slice struct {
	First    Place
	Len, Cap int
}

// MakeList puts a list of n elements, at least one, to p, where a nil list of that type is, and
// returns the address of its first element.
func MakeList(t reflect.Type, p Place, n int) Place {
	list := Pointer(t, p).Elem()
	list.Grow(n)
	first := list.UnsafePointer()
	Set(p, Slice{First: first, Len: n, Cap: n})
	return first
}

// Copy copies a value of type t from one place to another.
func Copy(t reflect.Type, to, from Place) { Pointer(t, to).Elem().Set(Pointer(t, from).Elem()) }

// Weak refers to an object, and does not keep it alive.
type Weak struct{ to weak.Pointer[byte] }

// WeakTo refers to the value that obj, a pointer, points to.
func WeakTo(obj any) Weak { return Weak{weak.Make((*byte)(Of(reflect.ValueOf(obj))))} }

// IsGone reports whether the object is garbage.
func (w Weak) IsGone() bool { return w.to.Value() == nil }

// Object returns the object, or nil if it is gone. It must be of that type, a pointer.
func (w Weak) Object(t reflect.Type) any {
	at := w.to.Value()
	if at == nil {
		return nil
	}
	return Pointer(t.Elem(), Place(at)).Interface()
}
