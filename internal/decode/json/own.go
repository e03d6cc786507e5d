// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"encoding"
	"encoding/json"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/share"
)

var jsonMethod = reflect.TypeFor[json.Unmarshaler]()

// methodNode returns the node of a type that decodes itself, or nil. It does not support types
// without a name, whose methods encoding/json calls only behind a pointer.
func methodNode(t reflect.Type) node {
	switch {
	case !share.ReadsItself(t):
		return nil
	case t.Name() == "":
		return unsupportedNode{"a type without a name that has methods"}
	case reflect.PointerTo(t).Implements(jsonMethod):
		return ownJSON{t}
	}
	return ownText{t}
}

// ownJSON decodes types with UnmarshalJSON.
type ownJSON struct{ t reflect.Type }

func (o ownJSON) json(d *decoder, p mem.Place) bool {
	raw, ok := d.Raw()
	if !ok {
		return false
	}
	d.Unsharable++ // nothing is known about the type
	method := mem.Pointer(o.t, p).Interface().(json.Unmarshaler)
	if method.UnmarshalJSON(append([]byte(nil), raw...)) != nil {
		return d.GiveUp("an error of UnmarshalJSON")
	}
	return true
}

// ownText decodes types with UnmarshalText.
type ownText struct{ t reflect.Type }

func (o ownText) json(d *decoder, p mem.Place) bool {
	text, ok := d.Text()
	if !ok {
		return false
	}
	d.Unsharable++ // nothing is known about the type
	method := mem.Pointer(o.t, p).Interface().(encoding.TextUnmarshaler)
	if method.UnmarshalText(append([]byte{}, text...)) != nil {
		return d.GiveUp("an error of UnmarshalText")
	}
	return true
}
