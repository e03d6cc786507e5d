// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package semantic compares two objects by apimachinery's semantic equality, also those that it panics for.
package semantic

import (
	"bytes"
	"encoding/json"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kinformer/cache/internal/identical"
)

// Equal reports whether a and b are identical or equal by apimachinery's semantic DeepEqual,
// which panics for types with unexported fields, such as time.Time: for these reflect.DeepEqual
// decides. Objects with messages of protobuf's second API, which have caches, are also equal if their
// JSON is.
func Equal(a, b any) bool {
	return identical.Objects(a, b) || deepEqual(a, b) || hasMessages(reflect.TypeOf(a)) && sameJSON(a, b)
}

func deepEqual(a, b any) (same bool) {
	defer func() {
		if recover() != nil {
			same = reflect.DeepEqual(a, b)
		}
	}()
	return equality.Semantic.DeepEqual(a, b)
}

func sameJSON(a, b any) bool {
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && reflect.TypeOf(a) == reflect.TypeOf(b) && bytes.Equal(x, y)
}

// messages has the results of hasMessages by type.
var messages sync.Map

// hasMessages reports whether values of type t may contain messages of protobuf's second API, apart
// from the values of interfaces.
func hasMessages(t reflect.Type) bool {
	if t == nil {
		return false
	}
	known, exists := messages.Load(t)
	if !exists {
		known, _ = messages.LoadOrStore(t, findMessage(t, map[reflect.Type]bool{}))
	}
	return known.(bool)
}

// findMessage is hasMessages without the types already seen.
func findMessage(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Struct:
		if _, isMessage := reflect.PointerTo(t).MethodByName("ProtoReflect"); isMessage {
			return true
		}
		for i := range t.NumField() {
			if findMessage(t.Field(i).Type, seen) {
				return true
			}
		}
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		return findMessage(t.Elem(), seen)
	}
	return false
}
