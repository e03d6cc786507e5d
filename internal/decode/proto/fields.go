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

// basicField returns the node and the wire type of a field that is not a message, list or map.
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
	return unsupportedMessage{"a kind of field that is not known"}, scan.WireBytes
}

type textField struct{}

func (textField) wire(d *decoder, p mem.Place, end int) bool {
	text, ok := d.Chunk(end)
	if ok {
		mem.Set(p, d.Intern(text))
	}
	return ok
}

type boolField struct{}

func (boolField) wire(d *decoder, p mem.Place, end int) bool {
	n, ok := d.Varint(end)
	if ok && n > 1 {
		return d.GiveUp("a bool that is a number")
	}
	mem.Set(p, n == 1)
	return ok
}

// varintField decodes integers of 32 or 64 bits.
type varintField[T uint32 | uint64] struct{}

func (varintField[T]) wire(d *decoder, p mem.Place, end int) bool {
	n, ok := d.Varint(end)
	mem.Set(p, T(n))
	return ok
}

type float64Field struct{}

func (float64Field) wire(d *decoder, p mem.Place, end int) bool {
	n, ok := d.Little(8, end)
	mem.Set(p, math.Float64frombits(n))
	return ok
}

type float32Field struct{}

func (float32Field) wire(d *decoder, p mem.Place, end int) bool {
	n, ok := d.Little(4, end)
	mem.Set(p, math.Float32frombits(uint32(n)))
	return ok
}

type bytesField struct{}

func (bytesField) wire(d *decoder, p mem.Place, end int) bool {
	b, ok := d.Chunk(end)
	mem.Set(p, share.Exactly(b))
	return ok
}

// textsField decodes a list of strings.
type textsField struct{ tag uint64 }

func (f textsField) wire(d *decoder, p mem.Place, end int) bool {
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

// scalarsField decodes a list of scalars or of bytes. It gives up on packed lists, which have
// another wire type.
type scalarsField struct {
	wireNode
	t    reflect.Type
	tag  uint64
	size uintptr
}

func (f *scalarsField) wire(d *decoder, p mem.Place, end int) bool {
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

// An entry of a map is a message with a key and a value, in this order.

// entry reads an entry up to its value. It returns the key and the index of the end of the entry.
func (d *decoder) entry(end int) (key []byte, entryEnd int, ok bool) {
	if entryEnd, ok = d.Length(end); !ok {
		return nil, 0, false
	}
	key, ok = d.Expect(1, entryEnd)
	return key, entryEnd, ok
}

// value reads the tag of the value of an entry.
func (d *decoder) value(wire uint64, entryEnd int) bool {
	tag, ok := d.Varint(entryEnd)
	return ok && tag == 2<<3|wire || d.GiveUp("an entry without a value")
}

// closed gives up unless the entry ends here.
func (d *decoder) closed(entryEnd int) bool {
	return d.Pos == entryEnd || d.GiveUp("an entry with more than a key and a value")
}

// textMapField decodes maps of strings.
type textMapField struct{ tag uint64 }

func (f textMapField) wire(d *decoder, p mem.Place, end int) bool {
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
		made[d.Intern(key)] = d.Intern(value)
	}
	mem.Set(p, made)
	return true
}

// bytesMapField decodes maps of bytes. An entry without a value, which a nil slice is encoded as,
// is decoded as an empty slice.
type bytesMapField struct{ tag uint64 }

func (f bytesMapField) wire(d *decoder, p mem.Place, end int) bool {
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
		made[d.Intern(key)] = share.Exactly(value)
	}
	mem.Set(p, made)
	return true
}

// mapField decodes other maps with string keys.
type mapField struct {
	value      wireNode
	valueWire  uint64
	t          reflect.Type
	tag        uint64
	quantities bool                // the values are quantities
	kept       map[string]wireNode // if not nil, only these members are kept, and of none the map is nil
}

func (f *mapField) wire(d *decoder, p mem.Place, end int) bool {
	n, _, ok := d.Run(f.tag, end)
	if !ok {
		return false
	}
	to := mem.Pointer(f.t, p).Elem()
	if f.kept == nil {
		to.Set(reflect.MakeMapWithSize(f.t, n))
	}
	key, value := reflect.New(f.t.Key()).Elem(), reflect.New(f.t.Elem())
	for i := range n {
		if !d.Again(i, end) {
			return false
		}
		before := d.Unsharable
		name, entryEnd, ok := d.entry(end)
		if !ok {
			return false
		}
		node := f.value
		if f.kept != nil {
			if node = f.kept[string(name)]; node == nil {
				d.Skipped += entryEnd - d.Pos
				d.Pos = entryEnd
				continue
			}
			if to.IsNil() {
				to.Set(reflect.MakeMap(f.t))
			}
		}
		if d.Pos == entryEnd && f.kept != nil && f.t.Elem() == reflect.TypeFor[[]byte]() {
			value.Elem().Set(reflect.ValueOf([]byte{})) // see bytesMapField
		} else if !d.value(f.valueWire, entryEnd) || !node.wire(d, mem.Of(value), entryEnd) || !d.closed(entryEnd) {
			return false
		}
		if f.quantities && d.Sharable && share.IsShort(*mem.Get[resource.Quantity](mem.Of(value))) {
			d.Unsharable = before
		}
		key.SetString(d.Intern(name))
		to.SetMapIndex(key, value.Elem())
		value.Elem().SetZero()
	}
	return true
}
