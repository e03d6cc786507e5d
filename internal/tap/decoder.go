// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"fmt"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode"
)

// Encoding is how objects are written on the wire.
type Encoding = decode.Encoding

// The encodings.
const (
	JSON     = decode.JSON
	Protobuf = decode.Protobuf
)

// Frame is what a frame of a watch consists of.
type Frame = decode.Frame

// Decoder makes objects of one Go type of their bytes, deeply equal to those that the decoder of a
// client of client-go's makes. It may give up, by an error that tells nothing of the data; it may
// not guess. What it returns does not refer to what it was given. Any number of goroutines may use
// it.
type Decoder interface {
	// Open takes a frame of a watch apart.
	Open(frame []byte) (Frame, error)
	// Object decodes the object of a frame. It has the apiVersion and kind that are on the wire.
	// With check each part that objects share is checked.
	Object(f Frame, check bool) (runtime.Object, error)
	// List begins to read a list from its first byte.
	List(body io.Reader, check bool) List
}

// List is a list that is read item by item, by one goroutine.
type List interface {
	// Next returns the next item. The error is io.EOF behind the last one, when the list was read
	// to its end and nothing follows it; what body failed with; or one that says that this is no
	// list, or none that can be taken apart.
	Next() (Item, error)
	// With returns the list as it was, but with these items only, in their places. It may be called
	// once, after Next has returned io.EOF.
	With(items [][]byte) []byte
}

// Item is an item of a list.
type Item struct {
	Wire   []byte         // valid until the next call of Next
	Object runtime.Object // nil if the decoder gave up; complete when the list was read to its end
	Why    error          // it gave up
	Known  bool           // the object was returned before
}

// Maker returns a decoder for objects of a type, which is a pointer, in an encoding; nil if there
// is none.
type Maker func(reflect.Type, Encoding) Decoder

// sure is a decoder that gives up where another one panics.
type sure struct{ Decoder }

func (d sure) Open(frame []byte) (f Frame, err error) {
	defer giveUpOnPanic(&err)
	return d.Decoder.Open(frame)
}

func (d sure) Object(f Frame, check bool) (obj runtime.Object, err error) {
	defer giveUpOnPanic(&err)
	return d.Decoder.Object(f, check)
}

// update is Object, perhaps from a former version of the object, and returns the row of the object. A
// decoder of others makes no rows.
func (d sure) update(f Frame, of decode.Former, check bool) (obj runtime.Object, sums decode.Row, err error) {
	defer giveUpOnPanic(&err)
	if own, ok := d.Decoder.(interface {
		update(f Frame, of decode.Former, check bool) (runtime.Object, decode.Row, error)
	}); ok {
		return own.update(f, of, check)
	}
	obj, err = d.Decoder.Object(f, check)
	return obj, nil, err
}

func (d sure) list(body io.Reader, check bool) sureList { return sureList{d.Decoder.List(body, check)} }

type sureList struct{ List }

func (l sureList) Next() (item Item, err error) {
	defer giveUpOnPanic(&err)
	return l.List.Next()
}

// again decodes an item anew, and looks at each part that it shares.
func (l sureList) again(item Item) (obj runtime.Object) {
	own, ok := l.List.(interface {
		again([]byte) (runtime.Object, error)
	})
	if !ok || item.Object == nil {
		return item.Object
	}
	var err error
	defer func() {
		if err != nil {
			obj = item.Object
		}
	}()
	defer giveUpOnPanic(&err)
	obj, err = own.again(item.Wire)
	return obj
}

// giveUpOnPanic says nothing of what the panic says: that may be of the data.
func giveUpOnPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the decoder panicked with a value of type %T", p)
	}
}
