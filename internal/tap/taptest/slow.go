// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package taptest provides correct decoders and server responses for tests of package tap.
package taptest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/tap"
)

// slow is a correct but slow decoder, based on those of client-go. If damage is set, it breaks the
// results. The decoder gives up if refuse returns true.
type slow struct {
	typ      reflect.Type
	encoding tap.Encoding
	refuse   func(runtime.Object) bool
	damage   func(runtime.Object)
}

var errRefused = errors.New("refused")

// SlowDecoders returns a Maker of correct but slow decoders, based on those of client-go. They give
// up if refuse returns true. damage, which may be nil, breaks their results.
func SlowDecoders(refuse func(runtime.Object) bool, damage func(runtime.Object)) tap.Maker {
	return func(t reflect.Type, e tap.Encoding) tap.Decoder {
		return slow{t, e, refuse, damage}
	}
}

func (d slow) finish(obj runtime.Object) (runtime.Object, error) {
	if d.refuse != nil && d.refuse(obj) {
		return nil, errRefused
	}
	if d.damage != nil {
		d.damage(obj)
	}
	return obj, nil
}

func (d slow) Open(frame []byte) (f tap.Frame, err error) {
	var event metav1.WatchEvent
	if d.encoding == tap.JSON {
		err = json.Unmarshal(frame, &event)
	} else {
		err = event.Unmarshal(frame)
	}
	return tap.Frame{Type: watch.EventType(event.Type), Object: event.Object.Raw}, err
}

func (d slow) Object(f tap.Frame, _ bool) (runtime.Object, error) {
	obj, err := d.object(f.Object)
	if err == nil {
		obj, err = d.finish(obj)
	}
	return obj, err
}

func (d slow) object(data []byte) (runtime.Object, error) {
	obj := reflect.New(d.typ.Elem()).Interface().(runtime.Object)
	if d.encoding == tap.Protobuf {
		magic := []byte("k8s\x00")
		if !bytes.HasPrefix(data, magic) {
			return nil, errors.New("no magic")
		}
		var envelope runtime.Unknown
		if err := envelope.Unmarshal(data[len(magic):]); err != nil {
			return nil, err
		}
		message, ok := obj.(interface{ Unmarshal([]byte) error })
		if !ok {
			return nil, errors.New("not a message")
		}
		err := message.Unmarshal(envelope.Raw)
		obj.GetObjectKind().SetGroupVersionKind(envelope.GroupVersionKind())
		return obj, err
	}
	return obj, d.fromJSON(data, obj)
}

func (d slow) fromJSON(data []byte, into runtime.Object) error {
	if u, ok := into.(*unstructured.Unstructured); ok {
		return kjson.Unmarshal(data, &u.Object)
	}
	return kjson.Unmarshal(data, into)
}

func (d slow) List(body io.Reader, _ bool) tap.List {
	data, err := io.ReadAll(body)
	l := &slowList{decoder: d, data: data, err: err}
	if err == nil && d.encoding == tap.JSON {
		l.err = l.splitJSON()
	} else if err == nil {
		l.err = l.splitProtobuf()
	}
	return l
}

// slowList is a list that was read completely.
type slowList struct {
	decoder slow
	data    []byte
	err     error

	apiVersion, kind string
	before, after    []byte // of JSON: the bytes before and after the items
	items            [][]byte
	next             int

	envelope runtime.Unknown
	rest     []byte // of protobuf: the other fields
}

// splitJSON finds the items with the decoder of the standard library.
func (l *slowList) splitJSON() error {
	var head struct{ APIVersion, Kind string }
	if err := json.Unmarshal(l.data, &head); err != nil {
		return err
	}
	l.apiVersion, l.kind = head.APIVersion, strings.TrimSuffix(head.Kind, "List")
	d := json.NewDecoder(bytes.NewReader(l.data))
	_, _ = d.Token()
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if name == "items" && value[0] == '[' {
			end := int(d.InputOffset())
			l.before, l.after = l.data[:end-len(value)], l.data[end:]
			var raws []json.RawMessage
			if err := json.Unmarshal(value, &raws); err != nil {
				return err
			}
			for _, raw := range raws {
				l.items = append(l.items, raw)
			}
			return nil
		}
	}
	l.before = l.data
	return nil
}

// splitProtobuf separates the metadata, field 1, from the items, field 2.
func (l *slowList) splitProtobuf() error {
	if len(l.data) < 4 {
		return errors.New("no magic")
	}
	if err := l.envelope.Unmarshal(l.data[4:]); err != nil {
		return err
	}
	for raw := l.envelope.Raw; len(raw) > 0; {
		length, n := binary.Uvarint(raw[1:])
		if n <= 0 || len(raw) < 1+n+int(length) {
			return io.ErrUnexpectedEOF
		}
		field := raw[:1+n+int(length)]
		switch raw[0] {
		case 0x0a:
			l.rest = append(l.rest, field...)
		case 0x12:
			l.items = append(l.items, field[1+n:])
		default:
			return errors.New("another field")
		}
		raw = raw[len(field):]
	}
	return nil
}

func (l *slowList) Next() (tap.Item, error) {
	if l.err != nil {
		return tap.Item{}, l.err
	}
	if l.next == len(l.items) {
		return tap.Item{}, io.EOF
	}
	wire := l.items[l.next]
	l.next++
	obj, err := l.item(wire)
	if err == nil {
		obj, err = l.decoder.finish(obj)
	}
	if err != nil {
		return tap.Item{Wire: wire, Why: err}, nil
	}
	return tap.Item{Wire: wire, Object: obj}, nil
}

func (l *slowList) item(wire []byte) (runtime.Object, error) {
	obj := reflect.New(l.decoder.typ.Elem()).Interface().(runtime.Object)
	if l.decoder.encoding == tap.Protobuf {
		return obj, obj.(interface{ Unmarshal([]byte) error }).Unmarshal(wire)
	}
	err := l.decoder.fromJSON(wire, obj)
	if u, ok := obj.(*unstructured.Unstructured); ok && err == nil && u.GetKind() == "" && u.GetAPIVersion() == "" {
		u.SetKind(l.kind)
		u.SetAPIVersion(l.apiVersion)
	}
	return obj, err
}

func (l *slowList) With(items [][]byte) []byte {
	if l.decoder.encoding == tap.JSON {
		if l.after == nil {
			return l.data
		}
		return bytes.Join([][]byte{l.before, []byte("["), bytes.Join(items, []byte(",")), []byte("]"), l.after}, nil)
	}
	raw := bytes.Clone(l.rest)
	for _, item := range items {
		raw = append(binary.AppendUvarint(append(raw, 0x12), uint64(len(item))), item...)
	}
	l.envelope.Raw = raw
	data, err := l.envelope.Marshal()
	if err != nil {
		panic(err)
	}
	return append([]byte("k8s\x00"), data...)
}

// SlowToBegin returns SlowDecoders whose lists are not read before begin is closed.
func SlowToBegin(begin <-chan struct{}) tap.Maker {
	return func(t reflect.Type, e tap.Encoding) tap.Decoder {
		return waiting{slow{typ: t, encoding: e}, begin}
	}
}

type waiting struct {
	slow
	begin <-chan struct{}
}

func (d waiting) List(body io.Reader, check bool) tap.List {
	<-d.begin
	return d.slow.List(body, check)
}
