// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode/scan"
)

// Frame is a parsed frame of a watch. Its bytes are a subslice of the frame.
type Frame struct {
	Type   watch.EventType
	Object []byte                  // a JSON value, or a protobuf message without its envelope
	Kind   schema.GroupVersionKind // from the envelope; empty in JSON, where it is in the object
}

// heads are the beginnings of frames, as the API server writes them.
var heads = []struct {
	event watch.EventType
	text  string
}{
	{watch.Modified, `{"type":"MODIFIED","object":`},
	{watch.Added, `{"type":"ADDED","object":`},
	{watch.Deleted, `{"type":"DELETED","object":`},
	{watch.Bookmark, `{"type":"BOOKMARK","object":`},
}

var errFrame = &scan.GiveUpError{Why: "an unknown form of a frame"}

// Open parses a frame. A frame in protobuf is passed without its length prefix. The result is that
// of client-go's decoder, provided that the object can be decoded. Open gives up on errors and on
// frames of any other form.
func Open(frame []byte, e Encoding) (Frame, error) {
	if e == Protobuf {
		return openProtobuf(frame)
	}
	return openJSON(frame)
}

func openJSON(frame []byte) (Frame, error) {
	frame = bytes.TrimRight(frame, " \t\r\n")
	for _, head := range heads {
		begin, end := len(head.text), len(frame)-1
		if end >= begin && string(frame[:begin]) == head.text && frame[end] == '}' {
			return Frame{Type: head.event, Object: frame[begin:end:end]}, nil
		}
	}
	return Frame{}, errFrame
}

func openProtobuf(frame []byte) (Frame, error) {
	d := scan.Scanner{Data: frame}
	name, ok := d.Expect(1, len(frame))
	event, known := eventOf(name)
	object, whole := []byte(nil), false
	if ok && known {
		object, whole = d.Expect(2, len(frame))
	}
	if !whole || d.Pos != len(frame) {
		return Frame{}, errFrame
	}
	d = scan.Scanner{Data: object}
	if object, whole = d.Expect(1, len(object)); !whole || d.Pos != len(d.Data) {
		return Frame{}, errFrame
	}
	f, err := OpenEnvelope(object)
	f.Type = event
	return f, err
}

func eventOf(name []byte) (watch.EventType, bool) {
	for _, head := range heads {
		if string(name) == string(head.event) {
			return head.event, true
		}
	}
	return "", false
}

// envelopeMark is the beginning of all data in Kubernetes' protobuf.
const envelopeMark = "k8s\x00"

// OpenEnvelope parses the envelope of an object in protobuf. It gives up if the envelope names
// another encoding of its content.
func OpenEnvelope(data []byte) (Frame, error) {
	var d scan.Scanner
	if d.Begin(data); !d.At(envelopeMark) || len(data) == len(envelopeMark) {
		return Frame{}, &scan.GiveUpError{Why: "no protobuf of Kubernetes"}
	}
	d.Pos = len(envelopeMark)
	f, opened := openEnvelope(&d)
	return f, d.Finish(opened)
}

func openEnvelope(d *scan.Scanner) (f Frame, ok bool) {
	end := len(d.Data)
	about, ok := d.Expect(1, end)
	if !ok {
		return f, false
	}
	if f.Object, ok = d.Expect(2, end); !ok {
		return f, false
	}
	for number := uint64(3); d.Pos < end; number++ {
		if rest, ok := d.Expect(number, end); !ok || len(rest) > 0 || number > 4 {
			return f, d.GiveUp("an envelope with an unknown content")
		}
	}
	version, kind, ok := openTypeMeta(about)
	if !ok {
		return f, d.GiveUp("an object without a version or a kind")
	}
	f.Kind = schema.FromAPIVersionAndKind(string(version), string(kind))
	return f, true
}

// openTypeMeta returns the fields of a TypeMeta, and reports whether both are present.
func openTypeMeta(message []byte) (version, kind []byte, ok bool) {
	d := scan.Scanner{Data: message}
	if version, ok = d.Expect(1, len(message)); ok {
		kind, ok = d.Expect(2, len(message))
	}
	return version, kind, ok && d.Pos == len(message)
}
