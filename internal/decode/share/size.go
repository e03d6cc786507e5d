// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"math/bits"
	"reflect"
	"time"
)

// The sizes, in bytes, of the header of a string and of a slice in an interface.
const (
	textBytes = 16
	boxBytes  = 24
)

// block returns an upper bound of the memory that the allocator uses for size bytes. The allocator
// packs several small values into a block of 16 bytes, and each of them keeps the block alive.
func block(size int) int64 {
	step := 16
	if size > 512 {
		step = 1 << (bits.Len(uint(size-1)) - 3)
	}
	return int64((size + step - 1) &^ (step - 1))
}

// mapBytes returns the size of a map with the given number of entries, in slots of slot bytes.
// Slots come in groups of 8. In a map with several groups, at most 7 of 8 slots are in use.
func mapBytes(entries, slot int) int64 {
	const header, table, group = 48, 40, 8
	switch {
	case entries == 0:
		return header
	case entries <= group:
		return header + block(group+group*slot)
	}
	groups := 1 << bits.Len(uint((entries*8/7-1)/group))
	return header + table + block(groups*(group+group*slot))
}

// mapSlot returns the size of an entry of a map of type t. A key or element of more than 128 bytes
// is behind a pointer.
func mapSlot(t reflect.Type) int {
	slot := 0
	for _, part := range [2]reflect.Type{t.Key(), t.Elem()} {
		if size := int(part.Size()); size <= 128 {
			slot += size
		} else {
			slot += 8 + int(block(size))
		}
	}
	return slot
}

// sizeOf estimates the memory that v refers to, in bytes, without v itself. A value that is
// referred to twice counts twice.
func sizeOf(v reflect.Value) (n int64) {
	switch v.Kind() {
	case reflect.String:
		return block(v.Len())
	case reflect.Pointer:
		if !v.IsNil() {
			n = block(int(v.Type().Elem().Size())) + sizeOf(v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() {
			return sizeOfAny(v.Interface())
		}
	case reflect.Slice:
		n = block(v.Cap() * int(v.Type().Elem().Size()))
		if v.Type().Elem().Kind() != reflect.Uint8 {
			n += sizeOfElements(v)
		}
	case reflect.Array:
		n = sizeOfElements(v)
	case reflect.Map:
		return sizeOfMap(v)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return 0 // its Location is shared by all times
		}
		for i := range v.NumField() {
			n += sizeOf(v.Field(i))
		}
	}
	return n
}

func sizeOfElements(v reflect.Value) (n int64) {
	for i := range v.Len() {
		n += sizeOf(v.Index(i))
	}
	return n
}

func sizeOfMap(v reflect.Value) (n int64) {
	if v.IsNil() {
		return 0
	}
	n = mapBytes(v.Len(), mapSlot(v.Type()))
	key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	for entries := v.MapRange(); entries.Next(); {
		key.SetIterKey(entries)
		value.SetIterValue(entries)
		n += sizeOf(key) + sizeOf(value)
	}
	return n
}

// sizeOfAny is sizeOf for values of documents, including the memory behind the interface.
func sizeOfAny(v any) (n int64) {
	switch v := v.(type) {
	case nil, bool:
		return 0
	case string:
		return textBytes + block(len(v))
	case []any:
		n = boxBytes + block(textBytes*len(v))
		for _, element := range v {
			n += sizeOfAny(element)
		}
		return n
	case map[string]any:
		n = mapBytes(len(v), 2*textBytes)
		for key, member := range v {
			n += block(len(key)) + sizeOfAny(member)
		}
		return n
	case int64, float64:
		return block(8)
	}
	return boxBytes + sizeOf(reflect.ValueOf(v))
}
