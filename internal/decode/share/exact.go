// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
)

// Exactly returns a copy of b whose capacity is its length, so that append to a list in a part
// reallocates.
func Exactly(b []byte) []byte {
	c := make([]byte, len(b))
	copy(c, b)
	return c
}

// SetFields sets f to a copy of raw whose capacity is its length.
func SetFields(f *metav1.FieldsV1, raw []byte) {
	f.SetRawBytes(raw)
	if inBytes {
		list := mem.Get[[]byte](mem.Place(f))
		*list = (*list)[:len(raw):len(raw)]
	}
}

// inBytes reports whether FieldsV1 holds a []byte rather than a string. A build tag of apimachinery
// decides.
var inBytes = func() bool {
	t := reflect.TypeFor[metav1.FieldsV1]()
	return t.NumField() == 1 && t.Field(0).Type == reflect.TypeFor[[]byte]()
}()
