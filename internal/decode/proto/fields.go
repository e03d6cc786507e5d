// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// basicField returns the node of fields that are no messages, lists or maps, and their wire type.
func basicField(t reflect.Type) (wireNode, uint64) {
	switch t.Kind() {
	case reflect.String:
		return textField{}, scan.WireBytes
	case reflect.Bool:
		return boolField{}, scan.WireVarint
	case reflect.Int64, reflect.Uint64:
		return varintField[uint64]{}, scan.WireVarint
	case reflect.Int32, reflect.Uint32:
		return varintField[uint32]{}, scan.WireVarint
	case reflect.Float64:
		return float64Field{}, scan.WireFixed64
	case reflect.Float32:
		return float32Field{}, scan.WireFixed32
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return bytesField{}, scan.WireBytes
		}
	}
	return unsureMessage{"a kind of field that is not known"}, scan.WireBytes
}

type textField struct{}

func (textField) wire(d *reader, p mem.Place, end int) bool {
	text, ok := d.Chunk(end)
	if ok {
		mem.Set(p, d.Kept(text))
	}
	return ok
}

type boolField struct{}

func (boolField) wire(d *reader, p mem.Place, end int) bool {
	n, ok := d.Varint(end)
	if ok && n > 1 {
		return d.GiveUp("a bool that is a number")
	}
	mem.Set(p, n == 1)
	return ok
}

// varintField reads integers of 32 or 64 bits.
type varintField[T uint32 | uint64] struct{}

func (varintField[T]) wire(d *reader, p mem.Place, end int) bool {
	n, ok := d.Varint(end)
	mem.Set(p, T(n))
	return ok
}

type float64Field struct{}

func (float64Field) wire(d *reader, p mem.Place, end int) bool {
	n, ok := d.Little(8, end)
	mem.Set(p, math.Float64frombits(n))
	return ok
}

type float32Field struct{}

func (float32Field) wire(d *reader, p mem.Place, end int) bool {
	n, ok := d.Little(4, end)
	mem.Set(p, math.Float32frombits(uint32(n)))
	return ok
}

type bytesField struct{}

func (bytesField) wire(d *reader, p mem.Place, end int) bool {
	b, ok := d.Chunk(end)
	mem.Set(p, share.Exactly(b))
	return ok
}

// textsField reads a list of strings.
type textsField struct{ tag uint64 }

func (f textsField) wire(d *reader, p mem.Place, end int) bool {
	n, _, ok := d.Run(f.tag, end)
	if !ok {
		return false
	}
	texts := make([]string, n)
	for i := range texts {
		if !d.Again(i, end) || !(textField{}).wire(d, mem.In(&texts[i]), end) {
			return false
		}
	}
	mem.Set(p, texts)
	return true
}

// scalarsField reads a list of what has a size of its own, or of bytes. Packed lists have another
// wire type, and are given up.
type scalarsField struct {
	wireNode
	t    reflect.Type
	tag  uint64
	size uintptr
}

func (f *scalarsField) wire(d *reader, p mem.Place, end int) bool {
	n, _, ok := d.Run(f.tag, end)
	if !ok {
		return false
	}
	first := mem.MakeList(f.t, p, n)
	for i := range n {
		if !d.Again(i, end) || !f.wireNode.wire(d, mem.Offset(first, uintptr(i)*f.size), end) {
			return false
		}
	}
	return true
}

// Entries of maps are messages with a key and a value, which come in this order.

// entry reads the begin of an entry up to its value, and returns where it ends.
func (d *reader) entry(end int) (key []byte, entryEnd int, ok bool) {
	if entryEnd, ok = d.Length(end); !ok {
		return nil, 0, false
	}
	key, ok = d.Expect(1, entryEnd)
	return key, entryEnd, ok
}

// value reads the tag of an entry's value.
func (d *reader) value(wire uint64, entryEnd int) bool {
	tag, ok := d.Varint(entryEnd)
	return ok && tag == 2<<3|wire || d.GiveUp("an entry without a value")
}

// closed reports whether an entry has nothing behind its value.
func (d *reader) closed(entryEnd int) bool {
	return d.Pos == entryEnd || d.GiveUp("an entry with more than a key and a value")
}

// textMapField reads maps of strings.
type textMapField struct{ tag uint64 }

func (f textMapField) wire(d *reader, p mem.Place, end int) bool {
	n, _, ok := d.Run(f.tag, end)
	if !ok {
		return false
	}
	made := make(map[string]string, n)
	for i := range n {
		if !d.Again(i, end) {
			return false
		}
		key, entryEnd, ok := d.entry(end)
		if !ok {
			return false
		}
		value, ok := d.Expect(2, entryEnd)
		if !ok || !d.closed(entryEnd) {
			return false
		}
		made[d.Kept(key)] = d.Kept(value)
	}
	mem.Set(p, made)
	return true
}

// bytesMapField reads maps of bytes. Those that were nil are written without a value, and read as
// empty ones.
type bytesMapField struct{ tag uint64 }

func (f bytesMapField) wire(d *reader, p mem.Place, end int) bool {
	n, _, ok := d.Run(f.tag, end)
	if !ok {
		return false
	}
	made := make(map[string][]byte, n)
	for i := range n {
		if !d.Again(i, end) {
			return false
		}
		key, entryEnd, ok := d.entry(end)
		value := []byte{}
		if ok && d.Pos < entryEnd {
			value, ok = d.Expect(2, entryEnd)
		}
		if !ok || !d.closed(entryEnd) {
			return false
		}
		made[d.Kept(key)] = share.Exactly(value)
	}
	mem.Set(p, made)
	return true
}

// mapField reads other maps with strings as keys.
type mapField struct {
	value      wireNode
	valueWire  uint64
	t          reflect.Type
	tag        uint64
	quantities bool // are its values
}

func (f *mapField) wire(d *reader, p mem.Place, end int) bool {
	n, _, ok := d.Run(f.tag, end)
	if !ok {
		return false
	}
	made := reflect.MakeMapWithSize(f.t, n)
	mem.Pointer(f.t, p).Elem().Set(made)
	key, value := reflect.New(f.t.Key()).Elem(), reflect.New(f.t.Elem())
	for i := range n {
		if !d.Again(i, end) {
			return false
		}
		before := d.Unsharable
		name, entryEnd, ok := d.entry(end)
		ok = ok && d.value(f.valueWire, entryEnd) && f.value.wire(d, mem.Of(value), entryEnd)
		if !ok || !d.closed(entryEnd) {
			return false
		}
		if f.quantities && d.Sharable && share.IsShort(*mem.Get[resource.Quantity](mem.Of(value))) {
			d.Unsharable = before
		}
		key.SetString(d.Kept(name))
		made.SetMapIndex(key, value.Elem())
		value.Elem().SetZero()
	}
	return true
}
