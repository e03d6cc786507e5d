// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package atomic replaces sync/atomic in code run by package interleave. Each operation is preceded
// by a point. It has only the operations that this code uses.
package atomic

import (
	"sync/atomic"
	"unsafe"

	"github.com/kinformer/cache/internal/interleave"
)

// Bool is atomic.Bool with points.
type Bool struct{ v atomic.Bool }

func (x *Bool) Load() bool { interleave.Point(); return x.v.Load() }

func (x *Bool) Store(to bool) { interleave.Point(); x.v.Store(to) }

func (x *Bool) Swap(to bool) bool { interleave.Point(); return x.v.Swap(to) }

func (x *Bool) CompareAndSwap(from, to bool) bool {
	interleave.Point()
	return x.v.CompareAndSwap(from, to)
}

// Int32 is atomic.Int32 with points.
type Int32 struct{ v atomic.Int32 }

func (x *Int32) Load() int32 { interleave.Point(); return x.v.Load() }

func (x *Int32) Store(to int32) { interleave.Point(); x.v.Store(to) }

func (x *Int32) Add(by int32) int32 { interleave.Point(); return x.v.Add(by) }

// Int64 is atomic.Int64 with points.
type Int64 struct{ v atomic.Int64 }

func (x *Int64) Load() int64 { interleave.Point(); return x.v.Load() }

func (x *Int64) Store(to int64) { interleave.Point(); x.v.Store(to) }

func (x *Int64) Add(by int64) int64 { interleave.Point(); return x.v.Add(by) }

func (x *Int64) CompareAndSwap(from, to int64) bool {
	interleave.Point()
	return x.v.CompareAndSwap(from, to)
}

// Uint32 is atomic.Uint32 with points.
type Uint32 struct{ v atomic.Uint32 }

func (x *Uint32) Load() uint32 { interleave.Point(); return x.v.Load() }

func (x *Uint32) Store(to uint32) { interleave.Point(); x.v.Store(to) }

func (x *Uint32) Add(by uint32) uint32 { interleave.Point(); return x.v.Add(by) }

func (x *Uint32) CompareAndSwap(from, to uint32) bool {
	interleave.Point()
	return x.v.CompareAndSwap(from, to)
}

// Uint64 is atomic.Uint64 with points.
type Uint64 struct{ v atomic.Uint64 }

func (x *Uint64) Load() uint64 { interleave.Point(); return x.v.Load() }

func (x *Uint64) Store(to uint64) { interleave.Point(); x.v.Store(to) }

func (x *Uint64) Add(by uint64) uint64 { interleave.Point(); return x.v.Add(by) }

func (x *Uint64) CompareAndSwap(from, to uint64) bool {
	interleave.Point()
	return x.v.CompareAndSwap(from, to)
}

// Pointer is atomic.Pointer with points.
type Pointer[T any] struct{ v atomic.Pointer[T] }

func (x *Pointer[T]) Load() *T { interleave.Point(); return x.v.Load() }

func (x *Pointer[T]) Store(to *T) { interleave.Point(); x.v.Store(to) }

func (x *Pointer[T]) Swap(to *T) *T { interleave.Point(); return x.v.Swap(to) }

func (x *Pointer[T]) CompareAndSwap(from, to *T) bool {
	interleave.Point()
	return x.v.CompareAndSwap(from, to)
}

// LoadPointer is atomic.LoadPointer with a point.
func LoadPointer(p *unsafe.Pointer) unsafe.Pointer {
	interleave.Point()
	return atomic.LoadPointer(p)
}

// StorePointer is atomic.StorePointer with a point.
func StorePointer(p *unsafe.Pointer, to unsafe.Pointer) {
	interleave.Point()
	atomic.StorePointer(p, to)
}

// LoadUint32 is atomic.LoadUint32 with a point.
func LoadUint32(p *uint32) uint32 { interleave.Point(); return atomic.LoadUint32(p) }

// StoreUint32 is atomic.StoreUint32 with a point.
func StoreUint32(p *uint32, to uint32) { interleave.Point(); atomic.StoreUint32(p, to) }
