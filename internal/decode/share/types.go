// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"encoding/json"
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinformer/cache/internal/keep"
)

var quantityType = reflect.TypeFor[resource.Quantity]()

// builtin are the types with methods of their own which this package decodes without calling these
// methods. Only reading a Quantity may modify the value.
var builtin = map[reflect.Type]bool{
	quantityType:                            true,
	reflect.TypeFor[metav1.Time]():          true,
	reflect.TypeFor[metav1.MicroTime]():     true,
	reflect.TypeFor[metav1.Duration]():      true,
	reflect.TypeFor[intstr.IntOrString]():   true,
	reflect.TypeFor[metav1.FieldsV1]():      true,
	reflect.TypeFor[runtime.RawExtension](): true,
}

// MutatesOnRead reports whether reading a value of type t, even a zero one, may modify it, as
// Quantity.String does. This is assumed of types that decode themselves, and of structs with
// unexported fields, in which methods may cache results. Pointers are not followed.
func MutatesOnRead(t reflect.Type) bool {
	switch {
	case t == quantityType:
		return true
	case builtin[t] || t == reflect.TypeFor[json.RawMessage]():
		return false
	case t.Kind() == reflect.Array:
		return MutatesOnRead(t.Elem())
	case keep.DecodesItself(t):
		return true
	case t.Kind() != reflect.Struct:
		return false
	}
	for field := range t.Fields() {
		embedded := field.Anonymous && field.Type.Kind() == reflect.Struct // its own fields are visited
		if MutatesOnRead(field.Type) || !field.IsExported() && !embedded {
			return true
		}
	}
	return false
}

// IsShort reports whether arithmetic on a copy of q leaves q unchanged, so that maps of such
// quantities may be shared. This holds for quantities that fit an int64. Others, such as 1.5Gi,
// point to a big number, which before v0.38 of apimachinery a copy shares and Add, Sub, Mul and Neg
// modify. Since then they replace it, and AsDec returns a copy of it: all quantities are short.
func IsShort(q resource.Quantity) bool {
	if _, is := q.AsInt64(); is {
		return true
	}
	other := q
	return q.AsDec() != other.AsDec() // else both are the number that they share
}

// Unshared reports whether the values of a field of t must not enter a table. These are the data of
// secrets, for which the data of any top-level object is taken, and strings that differ between
// objects.
func Unshared(t reflect.Type, name string, top bool) bool {
	switch name {
	case "data", "stringData":
		return top
	case "name", "uid", "resourceVersion":
		return t == reflect.TypeFor[metav1.ObjectMeta]()
	}
	return false
}

// Kept is a type, of whose values only some fields are decoded; nil: all.
type Kept struct {
	Type reflect.Type
	Of   *keep.Fields
}

// KeptOf returns the Kept of a type and of the fields to keep.
func KeptOf(t reflect.Type, of *keep.Fields) Kept {
	if of != nil && of.All() {
		of = nil
	}
	return Kept{t, of}
}
