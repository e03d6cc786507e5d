// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
)

// restless reports whether a variable of a type, be it zero, may write to itself when it is read
// from: a Quantity does, and what has methods to read itself may for all that is known. What a
// variable refers to is others.
func restless(t reflect.Type) bool {
	switch {
	case t == reflect.TypeFor[resource.Quantity]():
		return true
	case knownNode(t) != nil || t == reflect.TypeFor[json.RawMessage]():
		return false
	case t.Kind() == reflect.Array:
		return restless(t.Elem())
	case methodNode(t) != nil:
		return true
	case t.Kind() != reflect.Struct:
		return false
	}
	for field := range t.Fields() {
		if restless(field.Type) {
			return true
		}
	}
	return false
}
