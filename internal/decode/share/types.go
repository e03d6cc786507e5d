// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"encoding"
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// known are types that read themselves, by methods that are known. But for a Quantity, reading a
// variable of them does not write to it.
var known = map[reflect.Type]bool{
	quantityType:                            true,
	reflect.TypeFor[metav1.Time]():          true,
	reflect.TypeFor[metav1.MicroTime]():     true,
	reflect.TypeFor[metav1.Duration]():      true,
	reflect.TypeFor[intstr.IntOrString]():   true,
	reflect.TypeFor[metav1.FieldsV1]():      true,
	reflect.TypeFor[runtime.RawExtension](): true,
}

var (
	jsonMethod = reflect.TypeFor[json.Unmarshaler]()
	textMethod = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// ReadsItself reports whether a variable of type t is read by a method of its own.
func ReadsItself(t reflect.Type) bool {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return false
	}
	p := reflect.PointerTo(t)
	return p.Implements(jsonMethod) || p.Implements(textMethod)
}

// Restless reports whether reading a variable of type t, be it zero, may write to it, as
// Quantity.String does. Types that read themselves may, and structs with unexported fields, in which
// methods may keep what they have computed. Pointers are not followed.
func Restless(t reflect.Type) bool {
	switch {
	case t == quantityType:
		return true
	case known[t] || t == reflect.TypeFor[json.RawMessage]():
		return false
	case t.Kind() == reflect.Array:
		return Restless(t.Elem())
	case ReadsItself(t):
		return true
	case t.Kind() != reflect.Struct:
		return false
	}
	for field := range t.Fields() {
		embedded := field.Anonymous && field.Type.Kind() == reflect.Struct // whose own fields count
		if Restless(field.Type) || !field.IsExported() && !embedded {
			return true
		}
	}
	return false
}

// IsShort reports whether arithmetic on a copy of a quantity leaves the quantity alone, so that
// maps of such quantities may be shared. Quantities in short form do. Others, such as 1.5Gi, refer
// to a number that their copies refer to as well, and that Add, Sub, Mul and Neg write to.
func IsShort(q resource.Quantity) bool {
	if _, is := q.AsInt64(); is {
		return true
	}
	other := q
	return q.AsDec() != other.AsDec() // one that is short makes a number anew
}

// Unshared reports whether the values of a member of a struct must not enter a table: the data of
// secrets, for which the data of any object is taken, and texts that differ between objects.
func Unshared(t reflect.Type, name string, top bool) bool {
	switch name {
	case "data", "stringData":
		return top
	case "name", "uid", "resourceVersion":
		return t == reflect.TypeFor[metav1.ObjectMeta]()
	}
	return false
}
