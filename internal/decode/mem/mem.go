// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mem reads and writes values by their addresses. It is the only package below
// internal/decode that imports unsafe.
//
// A [Place] always points into memory that was allocated as the type with which it is read and
// written, so the garbage collector and checkptr know its layout. No Place is converted to uintptr,
// so the memory stays alive and may move with its stack.
package mem

import (
	"reflect"
	"unsafe"
	"weak"
)

// Place is the address of a value whose type the decoder knows.
type Place = unsafe.Pointer

// Of returns the address held by v, a pointer, map or slice.
func Of(v reflect.Value) Place { return v.UnsafePointer() }

// In returns the address of a variable.
func In[T any](v *T) Place { return Place(v) }

// Offset returns the address n bytes after p. Both must be within the same allocation.
func Offset(p Place, n uintptr) Place { return unsafe.Add(p, n) }

// Set writes v to p. The value at p must be of type T or of a type with the same layout.
func Set[T any](p Place, v T) { *(*T)(p) = v }

// Get returns p as a pointer to T.
func Get[T any](p Place) *T { return (*T)(p) }

// Pointer returns p as a pointer to a t.
func Pointer(t reflect.Type, p Place) reflect.Value { return reflect.NewAt(t, p) }

// View returns b as a string without copying. The string is valid until b is modified.
func View(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// Slice is the header of a slice, in the layout of the runtime.
type Slice struct {
	First    Place
	Len, Cap int
}

// MakeList allocates a list of n > 0 elements, stores it at p, where there is a nil list of type t,
// and returns the address of its first element.
func MakeList(t reflect.Type, p Place, n int) Place {
	list := Pointer(t, p).Elem()
	list.Grow(n)
	first := list.UnsafePointer()
	Set(p, Slice{First: first, Len: n, Cap: n})
	return first
}

// Copy copies a value of type t from one place to another.
func Copy(t reflect.Type, to, from Place) { Pointer(t, to).Elem().Set(Pointer(t, from).Elem()) }

// Weak is a weak reference to an object: it does not keep the object alive. The element type byte
// is safe because Object restores the type of the object, and no byte is ever read.
type Weak struct{ to weak.Pointer[byte] }

// WeakTo returns a weak reference to the value that the pointer obj points to.
func WeakTo(obj any) Weak { return Weak{weak.Make((*byte)(Of(reflect.ValueOf(obj))))} }

// IsGone reports whether the object was garbage collected.
func (w Weak) IsGone() bool { return w.to.Value() == nil }

// Object returns the object as a t, the pointer type it was created with, or nil if it was
// collected.
func (w Weak) Object(t reflect.Type) any {
	at := w.to.Value()
	if at == nil {
		return nil
	}
	return Pointer(t.Elem(), Place(at)).Interface()
}
