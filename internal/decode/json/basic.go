// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"encoding/base64"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
)

type textNode struct{}

func (textNode) json(d *reader, p mem.Place) bool {
	text, ok := d.Text()
	if ok {
		mem.Set(p, d.Kept(text))
	}
	return ok
}

type boolNode struct{}

func (boolNode) json(d *reader, p mem.Place) bool {
	if d.Is('t') {
		mem.Set(p, true)
		return d.Literal("true")
	}
	return d.Literal("false")
}

// intNode reads integers of a type, which has so many bits.
type intNode[T int | int8 | int16 | int32 | int64] struct{ bits int }

func (i intNode[T]) json(d *reader, p mem.Place) bool {
	n, ok := d.Integer(i.bits)
	mem.Set(p, T(n))
	return ok
}

// uintNode reads integers without a sign of a type, which has so many bits.
type uintNode[T uint | uint8 | uint16 | uint32 | uint64 | uintptr] struct{ bits int }

func (u uintNode[T]) json(d *reader, p mem.Place) bool {
	n, ok := d.Unsigned(u.bits)
	mem.Set(p, T(n))
	return ok
}

// floatNode reads numbers of a type, which has so many bits.
type floatNode[T float32 | float64] struct{ bits int }

func (f floatNode[T]) json(d *reader, p mem.Place) bool {
	n, ok := d.Float(f.bits)
	mem.Set(p, T(n))
	return ok
}

// bytesNode reads base64.
type bytesNode struct{}

func (bytesNode) json(d *reader, p mem.Place) bool {
	text, ok := d.Text()
	if !ok {
		return false
	}
	b := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(b, text)
	if err != nil {
		return d.GiveUp("not base64")
	}
	mem.Set(p, b[:n:n])
	return true
}

// pointerNode reads pointers.
type pointerNode struct {
	element
	t reflect.Type // of what it points to
}

func (n *pointerNode) json(d *reader, p mem.Place) bool {
	to := mem.Of(reflect.New(n.t))
	mem.Set(p, to)
	return n.element.json(d, to)
}

// versionNode reads the apiVersion of an object.
type versionNode struct{}

func (versionNode) json(d *reader, p mem.Place) bool {
	return textNode{}.json(d, p) && (scan.IsVersion(*mem.Get[string](p)) || d.GiveUp("an odd apiVersion"))
}

// documentNode reads any value as interfaces have it.
type documentNode struct{}

func (documentNode) json(d *reader, p mem.Place) bool {
	v, ok := d.Value()
	mem.Set(p, v)
	return ok
}
