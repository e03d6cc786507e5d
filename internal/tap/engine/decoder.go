// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode"
)

// Encoding is the encoding of objects on the wire.
type Encoding = decode.Encoding

// The encodings.
const (
	JSON     = decode.JSON
	Protobuf = decode.Protobuf
)

// Frame is a parsed frame of a watch.
type Frame = decode.Frame

// Decoder decodes objects of one Go type. The objects are deeply equal to those of the decoder of a
// client of client-go's. A Decoder may give up, by an error without any of the data, but must not
// guess. Its results do not refer to the input. It is safe for concurrent use.
type Decoder interface {
	// Open parses a frame of a watch.
	Open(frame []byte) (Frame, error)
	// Object decodes the object of a frame, with the apiVersion and kind on the wire, possibly from its
	// former version, and returns its row, which may be nil. If check is set, each shared part is
	// checked.
	Object(f Frame, former decode.Former, check bool) (runtime.Object, decode.Row, error)
	// List begins to read a list at its first byte.
	List(body io.Reader, check bool) List
}

// List is a list that is read item by item, by one goroutine.
type List interface {
	// Next returns the next item. After the last one, when the list was read to its end and nothing
	// follows it, the error is io.EOF. Other errors are those of the body, or report that the body
	// is not a list or cannot be split.
	Next() (Item, error)
	// Again decodes the bytes of the last item without its former version, and checks each shared part.
	Again(wire []byte) (runtime.Object, error)
	// About returns the kind and version of the list, as far as it was read.
	About() decode.About
	// With returns the list with the given items instead of its own. It may be called once, after
	// Next has returned io.EOF.
	With(items [][]byte) []byte
}

// Item is an item of a list.
type Item struct {
	Wire   []byte         // valid until the next call of Next
	Object runtime.Object // nil if the decoder gave up; complete when the list was read to its end
	Why    error          // the reason why the decoder gave up
	Reused bool           // Object is a former object
}

// Maker returns a decoder for objects of a type, which is a pointer type, in an encoding. It
// returns nil if there is none.
type Maker func(reflect.Type, Encoding) Decoder

// safeDecoder is a Decoder that gives up if the underlying one panics.
type safeDecoder struct{ Decoder }

func (d safeDecoder) Open(frame []byte) (f Frame, err error) {
	defer giveUpOnPanic(&err)
	return d.Decoder.Open(frame)
}

func (d safeDecoder) Object(f Frame, former decode.Former, check bool) (obj runtime.Object, row decode.Row, err error) {
	defer giveUpOnPanic(&err)
	return d.Decoder.Object(f, former, check)
}

func (d safeDecoder) list(body io.Reader, check bool) safeList {
	return safeList{d.Decoder.List(body, check)}
}

type safeList struct{ List }

func (l safeList) Next() (item Item, err error) {
	defer giveUpOnPanic(&err)
	return l.List.Next()
}

// again decodes an item without its former version, unless that fails.
func (l safeList) again(item Item) (obj runtime.Object) {
	if item.Object == nil {
		return nil
	}
	var err error
	defer func() {
		if err != nil {
			obj = item.Object
		}
	}()
	defer giveUpOnPanic(&err)
	obj, err = l.List.Again(item.Wire)
	return obj
}

// giveUpOnPanic recovers from a panic. The error does not contain the value, which may contain
// data.
func giveUpOnPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the decoder panicked with a value of type %T", p)
	}
}
