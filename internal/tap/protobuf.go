// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"errors"
	"io"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// magic begins all that Kubernetes sends in protobuf.
const magic = "k8s\x00"

var (
	errNoMagic   = errors.New("no protobuf of Kubernetes")
	errOtherWay  = errors.New("an object that is encoded in another way")
	errMalformed = errors.New("malformed protobuf")
)

// message is what a type has that knows protobuf.
type message interface {
	runtime.Object
	Reset()
	Unmarshal([]byte) error
}

// protobufDecoder decodes protobuf by the types' own methods.
type protobufDecoder struct{ t reflect.Type }

func ownProtobuf(t reflect.Type) Decoder {
	if !t.Implements(reflect.TypeFor[message]()) {
		return nil
	}
	return protobufDecoder{t.Elem()}
}

func (d protobufDecoder) Event(frame []byte) (watch.Event, error) {
	var event metav1.WatchEvent
	if err := event.Unmarshal(frame); err != nil {
		return watch.Event{}, errMalformed
	}
	data, ok := bytes.CutPrefix(event.Object.Raw, []byte(magic))
	if !ok || len(data) == 0 {
		return watch.Event{}, errNoMagic
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(data); err != nil {
		return watch.Event{}, errMalformed
	}
	if envelope.ContentEncoding != "" || envelope.ContentType != "" {
		return watch.Event{}, errOtherWay
	}
	obj, err := d.object(envelope.Raw)
	if err != nil {
		return watch.Event{}, err
	}
	obj.GetObjectKind().SetGroupVersionKind(envelope.GroupVersionKind())
	return watch.Event{Type: watch.EventType(event.Type), Object: obj}, nil
}

func (d protobufDecoder) object(data []byte) (runtime.Object, error) {
	obj := reflect.New(d.t).Interface().(message)
	if err := obj.Unmarshal(data); err != nil {
		return nil, errMalformed
	}
	return obj, nil
}

func (d protobufDecoder) List(body io.Reader) List {
	return &protobufList{decoder: d, wire: wireReader{r: body}}
}
