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
	truth := d.Is('t')
	if truth {
		mem.Set(p, true)
		return d.Literal("true")
	}
	return d.Literal("false")
}

type int64Node struct{}

func (int64Node) json(d *reader, p mem.Place) bool {
	n, ok := d.Integer(64)
	mem.Set(p, n)
	return ok
}

type int32Node struct{}

func (int32Node) json(d *reader, p mem.Place) bool {
	n, ok := d.Integer(32)
	mem.Set(p, int32(n))
	return ok
}

type intNode struct{ bits int }

func (i intNode) json(d *reader, p mem.Place) bool {
	n, ok := d.Integer(i.bits)
	switch i.bits {
	case 8:
		mem.Set(p, int8(n))
	case 16:
		mem.Set(p, int16(n))
	case 32:
		mem.Set(p, int32(n))
	default:
		mem.Set(p, n)
	}
	return ok
}

type uintNode struct{ bits int }

func (u uintNode) json(d *reader, p mem.Place) bool {
	n, ok := d.Unsigned(u.bits)
	switch u.bits {
	case 8:
		mem.Set(p, uint8(n))
	case 16:
		mem.Set(p, uint16(n))
	case 32:
		mem.Set(p, uint32(n))
	default:
		mem.Set(p, n)
	}
	return ok
}

type floatNode struct{ bits int }

func (f floatNode) json(d *reader, p mem.Place) bool {
	n, ok := d.Float(f.bits)
	if f.bits == 32 {
		mem.Set(p, float32(n))
	} else {
		mem.Set(p, n)
	}
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
