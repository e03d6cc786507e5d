// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/keep"
)

var jsonMethod = reflect.TypeFor[json.Unmarshaler]()

// methodNode returns the node of a type that decodes itself, or nil. It does not support types
// without a name, whose methods encoding/json calls only behind a pointer.
func methodNode(t reflect.Type) node {
	switch {
	case !keep.DecodesItself(t):
		return nil
	case t.Name() == "":
		return unsupportedNode{"a type without a name that has methods"}
	}
	return ownNode{t}
}

// ownNode decodes types with UnmarshalJSON or UnmarshalText.
type ownNode struct{ t reflect.Type }

func (o ownNode) json(d *decoder, p mem.Place) bool {
	value := mem.Pointer(o.t, p).Interface()
	if own, is := value.(json.Unmarshaler); is {
		raw, ok := d.Raw()
		return ok && (d.calls(own.UnmarshalJSON, raw) || d.GiveUp("an error of UnmarshalJSON"))
	}
	text, ok := d.Text()
	return ok && (d.calls(value.(encoding.TextUnmarshaler).UnmarshalText, text) || d.GiveUp("an error of UnmarshalText"))
}

// calls calls a method with a copy of data, and reports whether it succeeds. Nothing is known about the
// value that the method makes.
func (d *decoder) calls(method func([]byte) error, data []byte) bool {
	d.Unsharable++
	return method(append([]byte{}, data...)) == nil
}
