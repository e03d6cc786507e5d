// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kinformer/cache/bench/internal/world"
)

var changeNames = [...]string{world.Added: "ADDED", world.Modified: "MODIFIED", world.Deleted: "DELETED"}

// encode encodes an object as API servers do.
func (s *Set) encode(object runtime.Object, version schema.GroupVersion) ([]byte, error) {
	return runtime.Encode(Codecs.EncoderForVersion(s.serializer.Serializer, version), object)
}

// frame is one of a watch.
func (s *Set) frame(kind string, object []byte) ([]byte, error) {
	var b bytes.Buffer
	event := &metav1.WatchEvent{Type: kind, Object: runtime.RawExtension{Raw: object}}
	err := s.serializer.StreamSerializer.Encode(event, s.serializer.StreamSerializer.NewFrameWriter(&b))
	return b.Bytes(), err
}

// newForm makes the form of an object.
func (s *Set) newForm(r world.Resource, object runtime.Object) (f form, err error) {
	if s.protobuf {
		f.inner, err = object.(interface{ Marshal() ([]byte, error) }).Marshal()
	} else if f.inner, err = json.Marshal(object); err == nil {
		f.inner = f.inner[1:] // the brace stands before the kind
	}
	if err != nil {
		return f, err
	}
	f.places = places(f.inner, s.protobuf, partsOf(r))
	encoded, err := s.encode(object, Of(r).GroupVersion())
	for kind, name := range changeNames {
		if err != nil {
			return f, err
		}
		var frame []byte
		frame, err = s.frame(name, encoded)
		before, after, found := bytes.Cut(frame, f.inner)
		if f.around[kind] = [2][]byte{before, after}; !found {
			return f, fmt.Errorf("blank: the frame of %s does not have the object", r)
		}
	}
	return f, err
}

// List returns a list.
func (s *Set) List(r world.Resource, items []world.Object, version uint64) ([]byte, error) {
	kind := Of(r).GroupVersionKind
	kind.Kind += "List"
	list, err := Scheme.New(kind)
	if err != nil {
		return nil, err
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	accessor.SetResourceVersion(world.FormatVersion(version))
	empty, err := s.encode(list, kind.GroupVersion())
	if err != nil || s.protobuf {
		return s.listProtobuf(empty, r, items, err)
	}
	before, after, _ := bytes.Cut(empty, []byte("null"))
	to := append(before, '[')
	for i := range items {
		if i > 0 {
			to = append(to, ',')
		}
		to = s.form(r, &items[i]).append(append(to, '{'), r, &items[i], false)
	}
	return append(append(to, ']'), after...), nil
}

// listProtobuf adds items, which are fields of number 2, to a list in an envelope.
func (s *Set) listProtobuf(empty []byte, r world.Resource, items []world.Object, err error) ([]byte, error) {
	const magic = "k8s\x00"
	var envelope runtime.Unknown
	if err == nil {
		err = envelope.Unmarshal(empty[len(magic):])
	}
	if err != nil {
		return nil, err
	}
	for i := range items {
		f := s.form(r, &items[i])
		envelope.Raw = f.append(binary.AppendUvarint(append(envelope.Raw, 2<<3|2), uint64(len(f.inner))), r, &items[i], true)
	}
	encoded, err := envelope.Marshal()
	return append([]byte(magic), encoded...), err
}
