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

func (textNode) json(d *decoder, p mem.Place) bool {
	text, ok := d.Text()
	if ok {
		mem.Set(p, d.Intern(text))
	}
	return ok
}

type boolNode struct{}

func (boolNode) json(d *decoder, p mem.Place) bool {
	if d.Is('t') {
		mem.Set(p, true)
		return d.Literal("true")
	}
	return d.Literal("false")
}

// intNode decodes integers of the given size in bits.
type intNode[T int | int8 | int16 | int32 | int64] struct{ bits int }

func (i intNode[T]) json(d *decoder, p mem.Place) bool {
	n, ok := d.Integer(i.bits)
	mem.Set(p, T(n))
	return ok
}

// uintNode decodes unsigned integers of the given size in bits.
type uintNode[T uint | uint8 | uint16 | uint32 | uint64 | uintptr] struct{ bits int }

func (u uintNode[T]) json(d *decoder, p mem.Place) bool {
	n, ok := d.Unsigned(u.bits)
	mem.Set(p, T(n))
	return ok
}

// floatNode decodes floats of the given size in bits.
type floatNode[T float32 | float64] struct{ bits int }

func (f floatNode[T]) json(d *decoder, p mem.Place) bool {
	n, ok := d.Float(f.bits)
	mem.Set(p, T(n))
	return ok
}

// bytesNode decodes base64 into a []byte.
type bytesNode struct{}

func (bytesNode) json(d *decoder, p mem.Place) bool {
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

// pointerNode decodes into a new variable.
type pointerNode struct {
	element
	t reflect.Type // of the variable
}

func (n *pointerNode) json(d *decoder, p mem.Place) bool {
	to := mem.Of(reflect.New(n.t))
	mem.Set(p, to)
	return n.element.json(d, to)
}

// versionNode decodes the apiVersion of an object.
type versionNode struct{}

func (versionNode) json(d *decoder, p mem.Place) bool {
	return textNode{}.json(d, p) && (scan.IsVersion(*mem.Get[string](p)) || d.GiveUp("an unusual apiVersion"))
}

// documentNode decodes any value into an interface.
type documentNode struct{}

func (documentNode) json(d *decoder, p mem.Place) bool {
	v, ok := d.Value()
	mem.Set(p, v)
	return ok
}
