// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/bench/cluster/internal/world"
	"github.com/kinformer/cache/bench/internal/wire"
)

// form is an encoded object with places to fill in: what is within the brackets of the kind.
type form struct {
	inner  []byte
	places []place
}

// append appends the bytes of an object.
func (f *form) append(to []byte, r world.Resource, o *world.Object, protobuf bool) []byte {
	begin := len(to)
	to = append(to, f.inner...)
	for _, p := range f.places {
		p.fill(to[begin+int(p.at):], r, o, protobuf)
	}
	return to
}

// brackets are what is around the inner bytes of an object.
//
//	JSON      {"kind":"Pod","apiVersion":"v1", inner
//	protobuf  "k8s\0", a runtime.Unknown: its type, inner with its length, and end
type brackets struct {
	protobuf   bool
	begin, end []byte
}

var errNoBrackets = errors.New("blank: the encoding is not of the known form")

// cut cuts an encoded object into brackets and what is within.
func cut(encoded []byte, protobuf bool) (brackets, []byte, error) {
	if !protobuf {
		i := bytes.Index(encoded, []byte(`"metadata"`))
		if i < 0 {
			return brackets{}, nil, errNoBrackets
		}
		return brackets{begin: encoded[:i]}, bytes.TrimSuffix(encoded[i:], []byte("\n")), nil
	}
	var unknown runtime.Unknown
	magic := []byte("k8s\x00")
	if !bytes.HasPrefix(encoded, magic) || unknown.Unmarshal(encoded[len(magic):]) != nil {
		return brackets{}, nil, errNoBrackets
	}
	i := bytes.Index(encoded, unknown.Raw)
	length := 1 + uvarintLen(len(unknown.Raw)) // and the tag
	return brackets{true, encoded[:i-length], encoded[i+len(unknown.Raw):]}, unknown.Raw, nil
}

// size is how many bytes an object takes, with n within.
func (b *brackets) size(n int) int {
	if b.protobuf {
		n += 1 + uvarintLen(n)
	}
	return len(b.begin) + n + len(b.end)
}

// open appends what comes before n bytes within.
func (b *brackets) open(to []byte, n int) []byte {
	to = append(to, b.begin...)
	if b.protobuf {
		to = appendLength(to, 2, n)
	}
	return to
}

func uvarintLen(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// appendLength appends the tag of a field of protobuf with a length.
func appendLength(to []byte, number byte, n int) []byte {
	return binary.AppendUvarint(append(to, number<<3|2), uint64(n))
}

var kindNames = [...]string{world.Added: "ADDED", world.Modified: "MODIFIED", world.Deleted: "DELETED"}

// appendFrame appends a frame of a watch, up to an object of so many bytes.
func appendFrame(to []byte, protobuf bool, kind string, size int) []byte {
	if !protobuf {
		return append(append(append(to, `{"type":"`...), kind...), `","object":`...)
	}
	extension := 1 + uvarintLen(size) + size
	to = binary.BigEndian.AppendUint32(to, uint32(2+len(kind)+1+uvarintLen(extension)+extension))
	to = append(appendLength(to, 1, len(kind)), kind...)
	return appendLength(appendLength(to, 2, extension), 1, size)
}

func closeFrame(to []byte, protobuf bool) []byte {
	if protobuf {
		return to
	}
	return append(to, "}\n"...)
}

// encoder encodes objects of a resource.
type encoder struct {
	runtime.Encoder
	protobuf bool
}

func newEncoder(of Resource, mediaType string) (encoder, error) {
	info, known := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	if !known {
		return encoder{}, fmt.Errorf("blank: nothing encodes %q", mediaType)
	}
	return encoder{codecs.EncoderForVersion(info.Serializer, of.GroupVersion), mediaType == wire.Protobuf}, nil
}

// form makes a form of an object with marks.
func (e encoder) form(of runtime.Object, parts int) (form, brackets, error) {
	encoded, err := runtime.Encode(e, of)
	if err != nil {
		return form{}, brackets{}, fmt.Errorf("blank: %w", err)
	}
	b, inner, err := cut(encoded, e.protobuf)
	if err != nil {
		return form{}, b, err
	}
	f := form{inner: bytes.Clone(inner), places: places(inner, e.protobuf, parts)}
	return f, b, nil
}

// list encodes an empty list and cuts it where the items go.
func (e encoder) list(list runtime.Object, version, next string, remaining int64) (before, after []byte, b brackets, err error) {
	accessor, err := meta.ListAccessor(list)
	if err == nil {
		accessor.SetResourceVersion(version)
		accessor.SetContinue(next)
		if next != "" {
			accessor.SetRemainingItemCount(&remaining)
		}
		err = meta.SetList(list, []runtime.Object{})
	}
	if err != nil {
		return nil, nil, b, fmt.Errorf("blank: %w", err)
	}
	encoded, err := runtime.Encode(e, list)
	if err != nil {
		return nil, nil, b, fmt.Errorf("blank: %w", err)
	}
	b, inner, err := cut(encoded, e.protobuf)
	if err != nil || e.protobuf {
		return inner, nil, b, err
	}
	i := bytes.LastIndexByte(inner, ']')
	return inner[:i], append(inner[i:], '\n'), b, nil
}

// bookmark encodes the object of a bookmark.
func (e encoder) bookmark(object runtime.Object, version string, endOfInitial bool) ([]byte, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("blank: %w", err)
	}
	accessor.SetResourceVersion(version)
	if endOfInitial {
		accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return runtime.Encode(e, object)
}
