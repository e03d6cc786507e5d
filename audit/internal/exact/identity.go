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

// identity is what tells an object in a state from all others, and of what kind it is, as far as it
// says that.
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

// object makes an object of a type, which has to be a pointer, that has nothing else.
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

// bare returns an object that has nothing but the identity of obj, kind left out, which items of
// lists need not name; or obj if it has none.
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
	made, err := i.object(reflect.TypeOf(obj))
	if err != nil {
		return obj
	}
	return made
}

var errNoIdentity = errors.New("an object without metadata")

// read reads the message of an object. It reports false if that is not as it is known, or has
// anything twice.
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

// readMetadata takes a field of the metadata.
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

// eachField calls take with each field of a message: its number, its wire type, and the bytes that
// have a length of their own. It reports whether the message is one, and take has always reported
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
	// wireBytes is the wire type of what has a length of its own.
	wireBytes = 2
	// mostField is the largest number of a field. Of larger ones client-go takes the lower 32 bits.
	mostField = 1<<29 - 1
)

// extentOf returns how many bytes the value of a field has that data begins with, and how many are
// before it, if it is all there. Of numbers all bytes are before it.
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
