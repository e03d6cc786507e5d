// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
)

// streamType is the type and kind of the objects of a watch. It is learned from the first frame,
// which the client and this package both decode.
type streamType struct {
	decoder *decoder
	objects reflect.Type
	kind    schema.GroupVersionKind // on the wire
	cleared bool                    // the client clears it in objects
}

var errOtherKind = errors.New("an object of another kind")

// errNoKind is the error about types whose objects do not retain the kind and version on the wire.
// Frames of another kind could not be recognized.
var errNoKind = errors.New("objects of this type carry no kind")

var errOtherEvent = errors.New("another type of event")

// learn returns the stream type of a watch, from a frame and the object that the client made of it.
func learn(by *decoder, frame decode.Frame, theirs runtime.Object) (*streamType, error) {
	ours, _, err := by.ofFrame(frame, decode.Former{}, false)
	if err != nil {
		return nil, err
	}
	l := &streamType{decoder: by, objects: reflect.TypeOf(theirs), kind: kindOf(ours), cleared: kindOf(theirs).Empty()}
	ours.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if l.kind.Kind == "" || l.kind.Version == "" || !kindOf(ours).Empty() {
		return nil, errNoKind
	}
	return l, nil
}

// form returns the properties, besides its bytes, that determine the object of a frame.
func (l *streamType) form(e Encoding) form {
	f := form{objects: l.objects, kind: l.kind}
	switch {
	case e == Protobuf && l.cleared:
		f.in, f.kind = inMessage, schema.GroupVersionKind{}
	case e == Protobuf:
		f.in = inMessage
	case l.cleared:
		f.in = inCleared
	}
	return f
}

// event decodes the object of a frame as the client does, possibly from the former version, and
// returns its row.
func (l *streamType) event(frame decode.Frame, of decode.Former, check bool) (watch.Event, decode.Row, error) {
	obj, sums, err := l.decoder.ofFrame(frame, of, check)
	switch {
	case err != nil:
		return watch.Event{}, nil, err
	case kindOf(obj) != l.kind:
		return watch.Event{}, nil, errOtherKind
	case l.cleared:
		obj.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return watch.Event{Type: frame.Type, Object: obj}, sums, nil
}

func kindOf(obj runtime.Object) schema.GroupVersionKind {
	return obj.GetObjectKind().GroupVersionKind()
}
