// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/internal/shard"
	"github.com/kinformer/cache/internal/tap"
)

// Encoding is the encoding of objects on the wire.
type Encoding = decode.Encoding

// The encodings.
const (
	JSON     = decode.JSON
	Protobuf = decode.Protobuf
)

// Options are those of an informer, and what only users of this package set.
type Options struct {
	tap.Options
	// Compared returns the part of an object to compare if both decode it; nil: the whole object.
	Compared func(runtime.Object) runtime.Object
	// Make makes decoders; nil: the decoders of this package.
	Make Maker

	kept *keep.Rule // Keep; nil: all
}

// isOther reports whether an encoded object is known to be in another shard.
func (o *Options) isOther(object []byte, e Encoding) bool {
	if o.Part == nil {
		return false
	}
	return o.Part.Excludes(func(f shard.Field) []byte {
		if f == shard.Namespace {
			return decode.Namespace(object, e)
		}
		return decode.UID(object, e)
	})
}

// Decode decodes an object into a new value, which does not refer to data. It may give up, by an error
// without any of the data. For an item of a list, list is the TypeMeta of the list. It is safe for
// concurrent use.
type Decode = func(data []byte, list *metav1.TypeMeta) (runtime.Object, error)

// Maker returns a Decode for objects of a type, which is a pointer type, in an encoding. It returns
// nil if there is none.
type Maker func(reflect.Type, Encoding) Decode
