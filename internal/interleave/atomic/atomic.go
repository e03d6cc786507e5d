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

// value is the type A of sync/atomic, whose values are of type V, with points.
type value[V, A any, P interface {
	*A
	Load() V
	Store(V)
	Swap(V) V
	CompareAndSwap(V, V) bool
}] struct{ v A }

func (x *value[V, A, P]) Load() V { interleave.Point(); return P(&x.v).Load() }

func (x *value[V, A, P]) Store(to V) { interleave.Point(); P(&x.v).Store(to) }

func (x *value[V, A, P]) Swap(to V) V { interleave.Point(); return P(&x.v).Swap(to) }

func (x *value[V, A, P]) CompareAndSwap(from, to V) bool {
	interleave.Point()
	return P(&x.v).CompareAndSwap(from, to)
}

// number is a value of a type with Add.
type number[V, A any, P interface {
	*A
	Load() V
	Store(V)
	Swap(V) V
	CompareAndSwap(V, V) bool
	Add(V) V
}] struct{ value[V, A, P] }

func (x *number[V, A, P]) Add(by V) V { interleave.Point(); return P(&x.v).Add(by) }

// The types of sync/atomic with points.
type (
	Bool   = value[bool, atomic.Bool, *atomic.Bool]
	Int32  = number[int32, atomic.Int32, *atomic.Int32]
	Int64  = number[int64, atomic.Int64, *atomic.Int64]
	Uint32 = number[uint32, atomic.Uint32, *atomic.Uint32]
	Uint64 = number[uint64, atomic.Uint64, *atomic.Uint64]

	Pointer[T any] struct {
		value[*T, atomic.Pointer[T], *atomic.Pointer[T]]
	}
)

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
