// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"hash/maphash"
	"reflect"
	"strings"

	"github.com/kinformer/cache/internal/decode/mem"
)

// Row contains a keyed hash of each part of an object. With the row of the former version of an
// object, decoding the next version costs only its changes: a part with the same hash is copied
// from the former object. A Row is immutable.
//
// Parts are the fields of the object and of its metadata, spec and status, and the elements of the
// lists in these. A pod has about fifty. Each part is a word, in the order of the bytes:
//
//	metadata*  5   name  namespace  uid  labels  ownerReferences   spec*  9   containers*  2  first  second   nodeName ...
//
// A word consists of 57 bits of the hash, the number of the field and a bit, shown as a star, which
// means that the field has parts. A field with parts is followed by the number of the words of its
// parts, and by these words.
//
// Because of the key, the authors of objects cannot choose two parts with the same hash. A changed
// part has the hash of its former bytes with probability 1/2^57. At 1,700 events a second, of six
// changed parts each, one part is wrong in 450,000 years.
type Row []uint64

const (
	numberMask = mostFields - 1
	hasParts   = mostFields // set in a word that is followed by the number of the words of its parts, and by these words
	sumBits    = ^uint64(2*mostFields - 1)
)

var sumKey = maphash.MakeSeed()

// wordOf returns the word of a field, or of an element, whose number is 0.
func wordOf(raw []byte, number uint64) uint64 { return maphash.Bytes(sumKey, raw)&sumBits | number }

// layout describes how messages of a type are divided into parts. Messages with a nil layout are
// not divided.
type layout struct {
	fields
	parts []partOf // by field number
}

// partOf describes how a field is copied from a former message.
type partOf struct {
	t      reflect.Type
	in     string         // the struct and the field
	within *layout        // not nil: the field is a message with parts
	list   *messagesField // not nil: the elements of the field are parts
}

// layoutOf returns the layout of a message, with layouts of nested messages down to depth deep.
func layoutOf(t reflect.Type, node messageNode, deep int) *layout {
	known, ok := node.(*fields)
	if !ok {
		return nil
	}
	l := &layout{fields: *known, parts: make([]partOf, len(*known))}
	for field := range t.Fields() {
		number, ok := numberOf(field.Tag.Get("protobuf"))
		if !ok || number >= len(l.parts) || l.fields[number].tag == 0 || l.fields[number].offset != field.Offset {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		part := partOf{t: field.Type, in: t.Name() + "." + name}
		switch node := l.fields[number].wireNode.(type) {
		case messageField:
			if deep > 0 {
				part.within = layoutOf(field.Type, node.messageNode, deep-1)
			}
		case *sharedField:
			part.list, _ = node.wireNode.(*messagesField)
		}
		l.parts[number] = part
	}
	return l
}

// deepestParts is the depth to which messages are divided: the object, its metadata, spec and
// status.
const deepestParts = 1

// take copies the value at from, in a former object, to p.
func (f *partOf) take(p, from mem.Place) {
	switch f.t.Kind() {
	case reflect.String:
		mem.Set(p, *mem.Get[string](from))
	case reflect.Slice:
		mem.Set(p, *mem.Get[mem.Slice](from))
	case reflect.Pointer:
		mem.Set(p, *mem.Get[mem.Place](from))
	default:
		mem.Copy(f.t, p, from)
	}
}
