// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
)

// lesson is what a frame that was decoded by both has taught about the others.
type lesson struct {
	decoder sure
	of      reflect.Type
	kind    schema.GroupVersionKind // on the wire
	cleared bool                    // the client clears it
}

var errOtherKind = errors.New("an object of another kind")

// errNoKind is about types whose objects do not have the kind and version that are on the wire, so
// that frames of others could not be told.
var errNoKind = errors.New("objects of the type do not tell their kind")

var errOtherEvent = errors.New("another type of event")

// learn returns what the object that the client has made of a frame teaches.
func learn(by sure, frame Frame, theirs runtime.Object) (*lesson, error) {
	ours, err := by.Object(frame, false)
	if err != nil {
		return nil, err
	}
	l := &lesson{decoder: by, of: reflect.TypeOf(theirs), kind: kindOf(ours), cleared: kindOf(theirs).Empty()}
	ours.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if l.kind.Kind == "" || l.kind.Version == "" || !kindOf(ours).Empty() {
		return nil, errNoKind
	}
	return l, nil
}

// form returns what the object of a frame depends on besides its bytes.
func (l *lesson) form(e Encoding) form {
	f := form{of: l.of, kind: l.kind}
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

// event decodes the object of a frame as the client does, perhaps from a former version, and returns
// its row.
func (l *lesson) event(frame Frame, of decode.Former, check bool) (watch.Event, decode.Row, error) {
	obj, sums, err := l.decoder.update(frame, of, check)
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
