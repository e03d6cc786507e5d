// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package share

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
)

// Exactly returns a copy of b without room for more, so that append to a list of a part copies it.
func Exactly(b []byte) []byte {
	c := make([]byte, len(b))
	copy(c, b)
	return c
}

// SetFields sets f to a copy of raw, without room for more.
func SetFields(f *metav1.FieldsV1, raw []byte) {
	f.SetRawBytes(raw)
	if inBytes {
		list := mem.Get[[]byte](mem.Place(f))
		*list = (*list)[:len(raw):len(raw)]
	}
}

// inBytes reports whether a FieldsV1 is a slice of bytes, and no string, as it is by a build tag.
var inBytes = func() bool {
	t := reflect.TypeFor[metav1.FieldsV1]()
	return t.NumField() == 1 && t.Field(0).Type == reflect.TypeFor[[]byte]()
}()
