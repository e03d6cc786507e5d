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

// open returns what is remembered of a frame: nothing, if it is not about an object that is now in
// the state, or has a form that event may refuse.
func (l *lesson) open(e Encoding, data []byte) (event watch.EventType, bytes []byte, f form) {
	var err error
	switch f = (form{of: l.of, kind: l.kind}); e {
	case Protobuf:
		event, bytes, f, err = l.openProtobuf(data, f)
	default:
		if event, bytes, err = decode.WatchFrame(data); l.cleared {
			f.in = inCleared
		}
	}
	if err != nil || event != watch.Added && event != watch.Modified {
		return event, nil, f
	}
	return event, bytes, f
}

func (l *lesson) openProtobuf(data []byte, f form) (watch.EventType, []byte, form, error) {
	event, data, err := decode.WatchFrameProtobuf(data)
	if err != nil {
		return event, nil, f, err
	}
	envelope, err := decode.OpenEnvelope(data)
	if err == nil && l.kind != schema.FromAPIVersionAndKind(string(envelope.APIVersion), string(envelope.Kind)) {
		err = errOtherKind
	}
	if f.in = inMessage; l.cleared {
		f.kind = schema.GroupVersionKind{}
	}
	return event, envelope.Object, f, err
}

// event decodes a frame as the client does, by its decoder or one that checks as well.
func (l *lesson) event(by sure, data []byte) (watch.Event, error) {
	got, err := by.Event(data)
	switch {
	case err != nil:
		return watch.Event{}, err
	case !isChange(got):
		return watch.Event{}, errOtherEvent
	case kindOf(got.Object) != l.kind:
		return watch.Event{}, errOtherKind
	case l.cleared:
		got.Object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return got, nil
}

func kindOf(obj runtime.Object) schema.GroupVersionKind {
	return obj.GetObjectKind().GroupVersionKind()
}
