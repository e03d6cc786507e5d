// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
)

func basicNode(t reflect.Type) node {
	switch t.Kind() {
	case reflect.String:
		if t == reflect.TypeFor[json.Number]() {
			return unsureNode{"a json.Number"}
		}
		return textNode{}
	case reflect.Bool:
		return boolNode{}
	case reflect.Int64:
		return int64Node{}
	case reflect.Int32:
		return int32Node{}
	case reflect.Int, reflect.Int8, reflect.Int16:
		return intNode{bits: t.Bits()}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return uintNode{bits: t.Bits()}
	case reflect.Float32, reflect.Float64:
		return floatNode{bits: t.Bits()}
	}
	return unsureNode{"a kind of value that is not known"}
}

type textNode struct{}

func (textNode) json(d *reader, p place) bool {
	text, ok := d.text()
	if ok {
		set(p, d.kept(text))
	}
	return ok
}

type boolNode struct{}

func (boolNode) json(d *reader, p place) bool {
	truth := d.is('t')
	if truth {
		set(p, true)
		return d.literal("true")
	}
	return d.literal("false")
}

type int64Node struct{}

func (int64Node) json(d *reader, p place) bool {
	n, ok := d.integer(64)
	set(p, n)
	return ok
}

type int32Node struct{}

func (int32Node) json(d *reader, p place) bool {
	n, ok := d.integer(32)
	set(p, int32(n))
	return ok
}

type intNode struct{ bits int }

func (i intNode) json(d *reader, p place) bool {
	n, ok := d.integer(i.bits)
	switch i.bits {
	case 8:
		set(p, int8(n))
	case 16:
		set(p, int16(n))
	case 32:
		set(p, int32(n))
	default:
		set(p, n)
	}
	return ok
}

type uintNode struct{ bits int }

func (u uintNode) json(d *reader, p place) bool {
	n, ok := d.unsigned(u.bits)
	switch u.bits {
	case 8:
		set(p, uint8(n))
	case 16:
		set(p, uint16(n))
	case 32:
		set(p, uint32(n))
	default:
		set(p, n)
	}
	return ok
}

type floatNode struct{ bits int }

func (f floatNode) json(d *reader, p place) bool {
	n, ok := d.float(f.bits)
	if f.bits == 32 {
		set(p, float32(n))
	} else {
		set(p, n)
	}
	return ok
}

// bytesNode reads base64.
type bytesNode struct{}

func (bytesNode) json(d *reader, p place) bool {
	text, ok := d.text()
	if !ok {
		return false
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil {
		return d.giveUp("not base64")
	}
	set(p, b[:n:n])
	d.makes(len(b))
	return true
}

type pointerNode struct {
	element
	t    reflect.Type // of what it points to
	size int
}

func (n *pointerNode) json(d *reader, p place) bool {
	to := placeOf(reflect.New(n.t))
	d.makes(n.size)
	set(p, to)
	return n.element.json(d, to)
}
