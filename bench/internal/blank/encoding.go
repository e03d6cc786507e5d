// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"encoding/binary"
	"encoding/json"
	"math/bits"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/bench/internal/world"
)

// brackets are what is around the inner bytes of an object.
//
//	JSON      {"kind":"Pod","apiVersion":"v1", inner
//	protobuf  "k8s\0", a runtime.Unknown: its type, inner with its length, and end
type brackets struct {
	protobuf   bool
	begin, end []byte
}

// bracketsOf are those of a kind.
func bracketsOf(gvk schema.GroupVersionKind, protobuf bool) (brackets, error) {
	version, kind := gvk.ToAPIVersionAndKind()
	if !protobuf {
		return brackets{begin: []byte(`{"kind":"` + kind + `","apiVersion":"` + version + `",`)}, nil
	}
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: version, Kind: kind}}
	encoded, err := unknown.Marshal()
	const end = 4 // two empty texts
	at := len(encoded) - end
	return brackets{true, append([]byte("k8s\x00"), encoded[:at]...), encoded[at:]}, err
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

// whole encodes an object.
func (b *brackets) whole(object any) ([]byte, error) {
	inner, err := innerOf(object, b.protobuf)
	return append(append(b.open(nil, len(inner)), inner...), b.end...), err
}

// innerOf encodes what is within the brackets of an object whose kind is not set.
func innerOf(object any, protobuf bool) ([]byte, error) {
	if protobuf {
		return object.(interface{ Marshal() ([]byte, error) }).Marshal()
	}
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return text[1:], nil // the brace is of the brackets
}

func uvarintLen(n int) int { return (bits.Len64(uint64(n)|1) + 6) / 7 }

// appendLength appends the tag of a field of protobuf with a length.
func appendLength(to []byte, number byte, n int) []byte {
	return binary.AppendUvarint(append(to, number<<3|2), uint64(n))
}

var changeNames = [...]string{world.Added: "ADDED", world.Modified: "MODIFIED", world.Deleted: "DELETED"}

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

// listBefore is what comes before the items of a list, within its brackets.
func listBefore(version string, protobuf bool) ([]byte, error) {
	if !protobuf {
		return []byte(`"metadata":{"resourceVersion":"` + version + `"},"items":[`), nil
	}
	encoded, err := (&metav1.ListMeta{ResourceVersion: version}).Marshal()
	return append(appendLength(nil, 1, len(encoded)), encoded...), err
}
