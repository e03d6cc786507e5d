// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package footprint estimates the memory of values. It calls no methods of the values and does not
// modify them. It does not read the cached string of a resource.Quantity, because String writes it,
// possibly at the same time.
package footprint

import (
	"math"
	"math/bits"
	"reflect"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Of estimates the memory that v refers to, in bytes, without v itself. Memory that is referred to
// twice counts twice. The values must not refer to themselves.
func Of(v reflect.Value) int64 {
	s := sizer{steps: math.MaxInt}
	s.add(v)
	return s.bytes
}

// Objects returns the bytes of the objects, the number of objects that were visited before the steps
// were used up, and the number of steps that are left. A step is a visited value. Shared memory counts
// once.
func Objects(objects []any, steps int) (bytes int64, looked, left int) {
	s := sizer{seen: map[place]struct{}{}, steps: steps}
	for _, obj := range objects {
		if s.steps <= 0 {
			break
		}
		if looked++; obj != nil {
			s.addBoxed(reflect.ValueOf(obj))
		}
	}
	return s.bytes, looked, max(s.steps, 0)
}

var quantityType = reflect.TypeFor[resource.Quantity]()

// sizer sums up the memory of values.
type sizer struct {
	seen  map[place]struct{} // the memory that is not counted again; nil: all is
	steps int                // the number of values that may still be visited; values beyond are not counted
	bytes int64
}

// place identifies a value in memory. A struct and its first field have the same address.
type place struct {
	at uintptr
	of reflect.Type
}

// count adds memory of size bytes. Small values of objects share blocks with each other.
func (s *sizer) count(size uintptr) {
	if size < 16 && s.seen != nil {
		s.bytes += int64(size)
		return
	}
	s.bytes += Block(size)
}

// first reports whether the memory that v points to is to be counted, and records it.
func (s *sizer) first(v reflect.Value) bool {
	if s.seen == nil {
		return true
	}
	p := place{v.Pointer(), v.Type()}
	if v.Kind() == reflect.String {
		p.of = nil // a text is the same memory in all types of strings
	}
	_, seen := s.seen[p]
	s.seen[p] = struct{}{}
	return !seen
}

// addBoxed adds the content of an interface. Those of one byte are not allocated.
func (s *sizer) addBoxed(v reflect.Value) {
	if size := v.Type().Size(); size > 1 && v.Kind() != reflect.Pointer && v.Kind() != reflect.Map {
		s.count(size)
	}
	s.add(v)
}

// add adds the memory that a value refers to, without the value itself.
func (s *sizer) add(v reflect.Value) {
	if s.steps--; s.steps < 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		if v.Len() > 0 && s.first(v) {
			s.count(uintptr(v.Len()))
		}
	case reflect.Pointer:
		s.addPointer(v)
	case reflect.Interface:
		if !v.IsNil() {
			s.addBoxed(v.Elem())
		}
	case reflect.Slice:
		if v.Cap() > 0 && s.first(v) {
			s.count(uintptr(v.Cap()) * v.Type().Elem().Size())
			s.addElements(v)
		}
	case reflect.Map:
		if !v.IsNil() && s.first(v) {
			s.addMap(v)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); !isFlat(f.Type()) && (f.Kind() != reflect.String || v.Type() != quantityType) {
				s.add(f)
			}
		}
	case reflect.Array:
		s.addElements(v)
	}
}

func (s *sizer) addPointer(v reflect.Value) {
	if v.IsNil() || !s.first(v) {
		return
	}
	of := v.Type().Elem()
	s.count(of.Size())
	if !isFlat(of) {
		s.add(v.Elem())
	}
}

// addElements adds the memory that the elements of a slice or array refer to.
func (s *sizer) addElements(v reflect.Value) {
	if isFlat(v.Type().Elem()) {
		return
	}
	for i := 0; i < v.Len() && s.steps > 0; i++ {
		s.add(v.Index(i))
	}
}

func (s *sizer) addMap(v reflect.Value) {
	t := v.Type()
	s.bytes += mapSize(v.Len(), slotSize(t.Key())+slotSize(t.Elem()))
	if isFlat(t.Key()) && isFlat(t.Elem()) {
		return
	}
	key, value := reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()
	for entries := v.MapRange(); s.steps > 0 && entries.Next(); {
		if v.CanInterface() {
			key.SetIterKey(entries)
			value.SetIterValue(entries)
		} else {
			key, value = entries.Key(), entries.Value()
		}
		s.add(key)
		s.add(value)
	}
}

// slotSize returns the size of a key or element in a map. One of more than 128 bytes is behind a
// pointer.
func slotSize(t reflect.Type) uintptr {
	if t.Size() > 128 {
		return 8 + uintptr(Block(t.Size()))
	}
	return t.Size()
}

// mapSize returns the bytes of a map. Slots come in groups of 8, of which at most 7 are in use once
// there are several groups.
func mapSize(entries int, slot uintptr) int64 {
	const header, table, group = 48, 40, 8
	switch {
	case entries == 0:
		return header
	case entries <= group:
		return header + Block(group+group*slot)
	}
	groups := uintptr(1) << bits.Len(uint((entries*8/7-1)/group))
	return header + table + Block(groups*(group+group*slot))
}

// blocks are the sizes of the allocator's blocks between 256 bytes and a few pages.
var blocks = []uintptr{
	288, 320, 352, 384, 416, 448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408, 1536, 1792, 2048, 2304, 2688, 3072,
	3200, 3456, 4096, 4864, 5376, 6144, 6528, 6784, 6912, 8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336, 16384, 18432,
	19072, 20480, 21760, 24576, 27264, 28672, 32768,
}

// Block returns the size of the allocator's block for size bytes. The allocator packs several small values
// into a block of 16 bytes, and each of them keeps the block alive.
func Block(size uintptr) int64 {
	const page = 8192
	if size <= 256 {
		return int64((size + 15) &^ 15)
	}
	if i, _ := slices.BinarySearch(blocks, size); i < len(blocks) {
		return int64(blocks[i])
	}
	return int64((size + page - 1) &^ (page - 1))
}

// flatTypes caches the results of isFlat for structs.
var flatTypes sync.Map // reflect.Type → bool

// isFlat reports whether values of a type refer to no memory worth counting.
func isFlat(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Map:
		return false
	case reflect.Array:
		return t.Len() == 0 || isFlat(t.Elem())
	case reflect.Struct:
		if flat, ok := flatTypes.Load(t); ok {
			return flat.(bool)
		}
		flat := isFlatStruct(t)
		flatTypes.Store(t, flat)
		return flat
	default:
		return true
	}
}

func isFlatStruct(t reflect.Type) bool {
	if t == reflect.TypeFor[time.Time]() { // its location is shared
		return true
	}
	for i := range t.NumField() {
		if !isFlat(t.Field(i).Type) {
			return false
		}
	}
	return true
}
