// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List reads a list item by item. It holds one item at a time, and the list without its items.
type List interface {
	// Next returns the next item, which is valid until the next call, and io.EOF behind the last
	// one, when the reader was read to its end. In JSON an item begins and ends as an object, and is
	// not checked otherwise; in protobuf it is a whole message. A list that ends too early is given
	// up or io.ErrUnexpectedEOF; one that is not certain to be a list is given up; other errors are
	// the reader's.
	Next() ([]byte, error)
	// Head returns what a list in JSON says of itself before its items, as far as it does, once
	// there was an item.
	Head() metav1.TypeMeta
	// With returns the list with these items in the place of its own, once Next has returned io.EOF.
	// What is not an item was not checked.
	With(items [][]byte) []byte
}

// NewList reads a list whose items, and all the rest, are of at most that many bytes each.
func NewList(r io.Reader, e Encoding, limit int) List {
	if e == Protobuf {
		return &protobufList{w: window{r: r, limit: limit}, limit: limit}
	}
	return &jsonList{w: window{r: r, limit: limit}, limit: limit, names: map[string]bool{}}
}
