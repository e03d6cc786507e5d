// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"encoding/binary"
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinformer/cache/internal/event"
)

// identity identifies an object in one state. It also has the object's kind if the object names
// one.
type identity struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name            string `json:"name"`
		Namespace       string `json:"namespace"`
		UID             string `json:"uid"`
		ResourceVersion string `json:"resourceVersion"`
	} `json:"metadata"`
}

// object returns an object of type t, which must be a pointer, with only this identity.
func (i *identity) object(t reflect.Type) (runtime.Object, error) {
	if t.Kind() != reflect.Pointer {
		return nil, errNoIdentity
	}
	obj, ok := reflect.New(t.Elem()).Interface().(runtime.Object)
	if !ok {
		return nil, errNoIdentity
	}
	of, err := meta.Accessor(obj)
	if err != nil {
		return nil, errNoIdentity
	}
	of.SetName(i.Metadata.Name)
	of.SetNamespace(i.Metadata.Namespace)
	of.SetUID(types.UID(i.Metadata.UID))
	of.SetResourceVersion(i.Metadata.ResourceVersion)
	obj.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(i.APIVersion, i.Kind))
	return obj, nil
}

// bare returns an object with only the identity of obj, without the kind, which items of lists need
// not name. If obj has no metadata it returns obj.
func bare(obj runtime.Object) runtime.Object {
	if event.IsNil(obj) {
		return obj
	}
	of, err := meta.Accessor(obj)
	if err != nil {
		return obj
	}
	var i identity
	i.Metadata.Name, i.Metadata.Namespace = of.GetName(), of.GetNamespace()
	i.Metadata.UID, i.Metadata.ResourceVersion = string(of.GetUID()), of.GetResourceVersion()
	identified, err := i.object(reflect.TypeOf(obj))
	if err != nil {
		return obj
	}
	return identified
}

var errNoIdentity = errors.New("an object without metadata")

// read reads an object in protobuf. It reports whether the metadata has the expected form and no
// field twice.
func (i *identity) read(object []byte) bool {
	seen := false
	return eachField(object, func(number, wire uint64, value []byte) bool {
		if number != 1 {
			return true
		}
		again := seen
		seen = true
		return !again && wire == wireBytes && eachField(value, i.readMetadata)
	})
}

// readMetadata reads a field of the metadata.
func (i *identity) readMetadata(number, wire uint64, value []byte) bool {
	var to *string
	switch m := &i.Metadata; number {
	case 1:
		to = &m.Name
	case 3:
		to = &m.Namespace
	case 5:
		to = &m.UID
	case 6:
		to = &m.ResourceVersion
	default:
		return true
	}
	if wire != wireBytes || *to != "" {
		return false
	}
	*to = string(value)
	return true
}

// eachField calls take with the number, the wire type and the bytes of each field of a message;
// bytes are empty for numbers. It reports whether the message is valid and take has always returned
// true.
func eachField(message []byte, take func(number, wire uint64, value []byte) bool) bool {
	for len(message) > 0 {
		tag, n := binary.Uvarint(message)
		if n <= 0 || tag < 8 || tag>>3 > mostField {
			return false
		}
		message = message[n:]
		head, size, ok := extentOf(tag&7, message)
		if !ok || !take(tag>>3, tag&7, message[head:head+size]) {
			return false
		}
		message = message[head+size:]
	}
	return true
}

const (
	// wireBytes is the wire type of values with a length prefix.
	wireBytes = 2
	// mostField is the largest number of a field. client-go reduces larger numbers to 32 bits.
	mostField = 1<<29 - 1
)

// extentOf returns the size of the field value at the start of data, and the size of the head
// before it. For numbers all bytes belong to the head. ok reports whether data has all of the
// value.
func extentOf(wire uint64, data []byte) (head, size int, ok bool) {
	switch wire {
	case 0:
		_, head = binary.Uvarint(data)
	case 1:
		head = 8
	case 5:
		head = 4
	case wireBytes:
		var n uint64
		n, head = binary.Uvarint(data)
		if head <= 0 || n > uint64(len(data)-head) {
			return 0, 0, false
		}
		size = int(n)
	}
	return head, size, 0 < head && head+size <= len(data)
}
