// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// List reads a list item by item. It holds one item at a time, and the list without its items:
//
//	{"kind":"PodList","metadata":{…},"items":[ {…},{…},{…} ]}
//	stub: {"kind":"PodList","metadata":{…},"items":[]}   items: one at a time
type List interface {
	// Next returns the next item, valid until the next call. After the last item, it reads the
	// reader to its end and returns io.EOF. An item in JSON begins and ends as an object, but is
	// not checked otherwise. An item in protobuf is a whole message. Next gives up, or returns
	// io.ErrUnexpectedEOF, if the list ends too early, and gives up if the body is not certain to
	// be a list. The error is a *NoListError if it is certainly none. Other errors are those of the
	// reader.
	Next() ([]byte, error)
	// Head returns the kind and apiVersion of a list in JSON, if they precede its items. It is set
	// after the first item.
	Head() metav1.TypeMeta
	// About returns what the list says of itself. It is set after Next has returned io.EOF.
	About() About
	// With returns the list with the given items instead of its own. It is valid after Next has
	// returned io.EOF. The rest of the list has not been checked.
	With(items [][]byte) []byte
}

// NewList returns a reader of a list, which has at most limit bytes besides its items. An item has at most
// longestItem bytes.
func NewList(r io.Reader, e Encoding, limit int) List {
	if e == Protobuf {
		return &protobufList{w: window{r: r, limit: longestItem}, limit: limit}
	}
	return &jsonList{w: window{r: r, limit: limit}, limit: limit, names: map[string]bool{}}
}
