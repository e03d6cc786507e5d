// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// isShort reports whether arithmetic on a copy of a quantity leaves the quantity alone, so that
// maps of such quantities may be shared. All that is in short form does. Others, such as 1.5Gi,
// refer to a number that their copies refer to as well, and that Add, Sub, Mul and Neg write to.
func isShort(q resource.Quantity) bool {
	if _, is := q.AsInt64(); is {
		return true
	}
	other := q
	return q.AsDec() != other.AsDec() // one that is short makes a number anew
}

// restless reports whether a variable of a type, be it zero, may write to itself when it is read
// from: a Quantity does, and what has methods to read itself may for all that is known, as may a
// struct with unexported fields, which may keep what its methods have computed. What a variable
// refers to is others.
func restless(t reflect.Type) bool {
	switch {
	case t == quantityType:
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
		embedded := field.Anonymous && field.Type.Kind() == reflect.Struct // whose own fields count
		if restless(field.Type) || !field.IsExported() && !embedded {
			return true
		}
	}
	return false
}
