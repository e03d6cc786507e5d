// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"math"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
)

// basicField returns the node of fields that are no messages, lists or maps, and their wire type.
func basicField(t reflect.Type) (wireNode, uint64) {
	switch t.Kind() {
	case reflect.String:
		return textField{}, wireBytes
	case reflect.Bool:
		return boolField{}, wireVarint
	case reflect.Int64, reflect.Uint64:
		return int64Field{}, wireVarint
	case reflect.Int32, reflect.Uint32:
		return int32Field{}, wireVarint
	case reflect.Float64:
		return float64Field{}, wireFixed64
	case reflect.Float32:
		return float32Field{}, wireFixed32
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return bytesField{}, wireBytes
		}
	}
	return unsureMessage{"a kind of field that is not known"}, wireBytes
}

type textField struct{}

func (textField) wire(d *reader, p place, end int) bool {
	text, ok := d.chunk(end)
	if ok {
		set(p, d.kept(text))
	}
	return ok
}

type boolField struct{}

func (boolField) wire(d *reader, p place, end int) bool {
	n, ok := d.varint(end)
	if ok && n > 1 {
		return d.giveUp("a bool that is a number")
	}
	set(p, n == 1)
	return ok
}

type int64Field struct{}

func (int64Field) wire(d *reader, p place, end int) bool {
	n, ok := d.varint(end)
	set(p, n)
	return ok
}

type int32Field struct{}

func (int32Field) wire(d *reader, p place, end int) bool {
	n, ok := d.varint(end)
	set(p, uint32(n))
	return ok
}

type float64Field struct{}

func (float64Field) wire(d *reader, p place, end int) bool {
	n, ok := d.little(8, end)
	set(p, math.Float64frombits(n))
	return ok
}

type float32Field struct{}

func (float32Field) wire(d *reader, p place, end int) bool {
	n, ok := d.little(4, end)
	set(p, math.Float32frombits(uint32(n)))
	return ok
}

type bytesField struct{}

func (bytesField) wire(d *reader, p place, end int) bool {
	b, ok := d.chunk(end)
	set(p, exactly(b))
	d.makes(len(b))
	return ok
}

// textsField reads a list of strings.
type textsField struct{ tag uint64 }

func (f textsField) wire(d *reader, p place, end int) bool {
	n, ok := d.run(f.tag, end)
	if !ok {
		return false
	}
	texts := make([]string, n)
	d.makes(textBytes * n)
	for i := range texts {
		if !d.again(i, end) || !(textField{}).wire(d, placeIn(&texts[i]), end) {
			return false
		}
	}
	set(p, texts)
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

func (f *scalarsField) wire(d *reader, p place, end int) bool {
	n, ok := d.run(f.tag, end)
	if !ok {
		return false
	}
	first := makeList(f.t, p, n)
	d.makes(n * int(f.size))
	for i := range n {
		if !d.again(i, end) || !f.wireNode.wire(d, offset(first, uintptr(i)*f.size), end) {
			return false
		}
	}
	return true
}

// Entries of maps are messages with a key and a value, which come in this order.

// entry reads the begin of an entry up to its value, and returns where it ends.
func (d *reader) entry(end int) (key []byte, entryEnd int, ok bool) {
	if entryEnd, ok = d.length(end); !ok {
		return nil, 0, false
	}
	key, ok = d.member(1, entryEnd)
	return key, entryEnd, ok
}

// value reads the tag of an entry's value.
func (d *reader) value(wire uint64, entryEnd int) bool {
	tag, ok := d.varint(entryEnd)
	return ok && tag == 2<<3|wire || d.giveUp("an entry without a value")
}

// closed reports whether an entry has nothing behind its value.
func (d *reader) closed(entryEnd int) bool {
	return d.pos == entryEnd || d.giveUp("an entry with more than a key and a value")
}

// textMapField reads maps of strings.
type textMapField struct{ tag uint64 }

func (f textMapField) wire(d *reader, p place, end int) bool {
	n, ok := d.run(f.tag, end)
	if !ok {
		return false
	}
	made := make(map[string]string, n)
	d.made += mapBytes(n, 2*textBytes)
	for i := range n {
		if !d.again(i, end) {
			return false
		}
		key, entryEnd, ok := d.entry(end)
		if !ok {
			return false
		}
		value, ok := d.member(2, entryEnd)
		if !ok || !d.closed(entryEnd) {
			return false
		}
		made[d.kept(key)] = d.kept(value)
	}
	set(p, made)
	return true
}

// bytesMapField reads maps of bytes. Those that were nil are written without a value, and read as
// empty ones.
type bytesMapField struct{ tag uint64 }

func (f bytesMapField) wire(d *reader, p place, end int) bool {
	n, ok := d.run(f.tag, end)
	if !ok {
		return false
	}
	made := make(map[string][]byte, n)
	d.made += mapBytes(n, textBytes+boxBytes)
	for i := range n {
		if !d.again(i, end) {
			return false
		}
		key, entryEnd, ok := d.entry(end)
		value := []byte{}
		if ok && d.pos < entryEnd {
			value, ok = d.member(2, entryEnd)
		}
		if !ok || !d.closed(entryEnd) {
			return false
		}
		made[d.kept(key)] = exactly(value)
		d.makes(len(value))
	}
	set(p, made)
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

func (f *mapField) wire(d *reader, p place, end int) bool {
	n, ok := d.run(f.tag, end)
	if !ok {
		return false
	}
	made := reflect.MakeMapWithSize(f.t, n)
	d.made += mapBytes(n, mapSlot(f.t))
	pointerAt(f.t, p).Elem().Set(made)
	key, value := reflect.New(f.t.Key()).Elem(), reflect.New(f.t.Elem())
	for i := range n {
		if !d.again(i, end) {
			return false
		}
		before := d.unsharable
		name, entryEnd, ok := d.entry(end)
		ok = ok && d.value(f.valueWire, entryEnd) && f.value.wire(d, placeOf(value), entryEnd)
		if !ok || !d.closed(entryEnd) {
			return false
		}
		if f.quantities && d.parts != nil && isShort(*get[resource.Quantity](placeOf(value))) {
			d.unsharable = before
		}
		key.SetString(d.kept(name))
		made.SetMapIndex(key, value.Elem())
		value.Elem().SetZero()
	}
	return true
}
