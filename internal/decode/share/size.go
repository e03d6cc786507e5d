// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"math/bits"
	"reflect"
	"time"
)

// textBytes and boxBytes are the sizes of a string and of a slice behind an interface.
const (
	textBytes = 16
	boxBytes  = 24
)

// block is no less than the allocator hands out for so many bytes. Of blocks of 16 it makes several
// small ones, of which one keeps all alive.
func block(size int) int64 {
	step := 16
	if size > 512 {
		step = 1 << (bits.Len(uint(size-1)) - 3)
	}
	return int64((size + step - 1) &^ (step - 1))
}

// mapBytes is the size of a map of so many entries, each of which has a slot of that many bytes:
// groups of 8 slots, of which at most 7 are in use once there are several groups.
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

// mapSlot is the size of an entry of a map of type t. Large values are behind a pointer.
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

// sizeOf estimates the memory that v refers to, without v. Values that are referred to twice count
// twice.
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
			return 0 // its Location is everybody's
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

// sizeOfAny is sizeOf for values of documents, with what an interface points to.
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
