// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"unsafe"
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

// slice is what a slice consists of.
type slice struct {
	first    place
	len, cap int
}

// pointerAt returns the value at p as a pointer to it.
func pointerAt(t reflect.Type, p place) reflect.Value { return reflect.NewAt(t, p) }
