// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
)

const (
	// maxFrame is what is read as one frame of a watch. Objects of etcd have 1.5 MiB; client-go
	// takes 16 MiB of JSON, and has its own way to refuse more.
	maxFrame = 8 << 20
	// maxItem bounds an item of a list, and what is besides the items.
	maxItem = maxFrame
)

// newFrames cuts the body of a watch.
func newFrames(body io.Reader, e Encoding) *decode.Frames {
	if e == Protobuf {
		return decode.NewFramesProtobuf(body, maxFrame)
	}
	return decode.NewFrames(body, maxFrame)
}

// ownDecoders returns what makes the decoders of this library, for an informer. Lists look for
// objects that known, which may be nil, remembers.
func ownDecoders(by Options, known *remembered) Maker {
	options := func() decode.Options {
		o := decode.Options{Intern: texts.get(&by.Ledger.texts)}
		if by.Share {
			o.Share = decode.NewSharing(parts.get(&by.Ledger.parts)).Report(by.Ledger.checkedPart)
		}
		return o
	}
	return func(t reflect.Type, e Encoding) Decoder {
		if t.Kind() != reflect.Pointer {
			return nil
		}
		if t == reflect.TypeFor[*unstructured.Unstructured]() && e == JSON {
			return jsonDecoder{untyped{options()}, t, known}
		}
		if t.Implements(reflect.TypeFor[runtime.Unstructured]()) {
			return nil
		}
		plan, err := decode.PlanOf(t.Elem())
		if err != nil {
			return nil
		}
		switch {
		case e == JSON:
			return jsonDecoder{typed{t.Elem(), plan, options()}, t, known}
		case t.Implements(reflect.TypeFor[interface{ Unmarshal([]byte) error }]()):
			return protobufDecoder{typed{t.Elem(), plan, options()}, known}
		default:
			return nil // client-go cannot do it either
		}
	}
}

// jsonObjects makes objects of one type of JSON.
type jsonObjects interface {
	object(data []byte) (runtime.Object, error)
	// item is object for an item of a list that says these of itself.
	item(data []byte, list listHead) (runtime.Object, error)
	// checked makes objects whose parts are all checked, and checks reports whether it is that.
	checked() jsonObjects
	checks() bool
}

// listHead is what a list says of itself before its items, as far as it does.
type listHead struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// jsonDecoder decodes JSON.
type jsonDecoder struct {
	jsonObjects
	of    reflect.Type
	known *remembered // of lists
}

func (d jsonDecoder) Event(frame []byte) (watch.Event, error) {
	kind, data, err := decode.WatchFrame(frame)
	if err != nil {
		return watch.Event{}, reason(err)
	}
	obj, err := d.object(data)
	if err != nil {
		return watch.Event{}, reason(err)
	}
	return watch.Event{Type: kind, Object: obj}, nil
}

func (d jsonDecoder) checking() Decoder { return jsonDecoder{d.checked(), d.of, d.known} }

func (d jsonDecoder) List(body io.Reader) List {
	return &jsonList{decoder: d, reader: decode.NewListReader(body, maxItem)}
}

// typed makes objects of structs.
type typed struct {
	t       reflect.Type
	plan    *decode.Plan
	options decode.Options
}

func (d typed) checked() jsonObjects {
	d.options.Checks = true
	return d
}

func (d typed) checks() bool { return d.options.Checks }

func (d typed) object(data []byte) (runtime.Object, error) {
	obj := reflect.New(d.t).Interface()
	if err := d.plan.JSON(data, obj, d.options); err != nil {
		return nil, err
	}
	return obj.(runtime.Object), nil
}

func (d typed) item(data []byte, _ listHead) (runtime.Object, error) { return d.object(data) }

// untyped makes unstructured objects.
type untyped struct{ options decode.Options }

func (d untyped) checked() jsonObjects {
	d.options.Checks = true
	return d
}

func (d untyped) checks() bool { return d.options.Checks }

func (d untyped) object(data []byte) (runtime.Object, error) {
	content, err := decode.Unstructured(data, d.options)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

func (d untyped) item(data []byte, list listHead) (runtime.Object, error) {
	content, err := decode.UnstructuredItem(data, strings.TrimSuffix(list.Kind, "List"), list.APIVersion, d.options)
	if err != nil {
		return nil, err
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// jsonList is a list in JSON.
type jsonList struct {
	decoder jsonDecoder
	reader  *decode.ListReader
	head    listHead
}

func (l *jsonList) Next() (Item, error) {
	data, err := l.reader.Next()
	if err != nil {
		return Item{}, reason(err)
	}
	if l.reader.Items() == 1 {
		l.head = headOf(l.reader)
	}
	d := l.decoder
	return d.known.item(form{of: d.of, in: inItem, list: l.head}, data, d.checks(), func() (runtime.Object, error) {
		return d.item(data, l.head)
	}), nil
}

// headOf reads what comes before the items. If it is not there, as where names are in alphabetical
// order, items that do not say what they are are given up.
func headOf(r *decode.ListReader) (head listHead) {
	before := append(bytes.Clone(r.Before()), "]}"...)
	_ = kjson.Unmarshal(before, &head)
	return head
}

func (l *jsonList) again(data []byte) (runtime.Object, error) {
	return l.decoder.checked().item(data, l.head)
}

func (l *jsonList) With(items [][]byte) []byte { return l.reader.With(items) }

// protobufDecoder decodes protobuf.
type protobufDecoder struct {
	typed
	known *remembered // of lists
}

func (d protobufDecoder) Event(frame []byte) (watch.Event, error) {
	kind, data, err := decode.WatchFrameProtobuf(frame)
	if err != nil {
		return watch.Event{}, reason(err)
	}
	envelope, err := decode.OpenEnvelope(data)
	if err != nil {
		return watch.Event{}, reason(err)
	}
	obj, err := d.message(envelope.Object)
	if err != nil {
		return watch.Event{}, reason(err)
	}
	gvk := schema.FromAPIVersionAndKind(string(envelope.APIVersion), string(envelope.Kind))
	obj.GetObjectKind().SetGroupVersionKind(gvk)
	return watch.Event{Type: kind, Object: obj}, nil
}

func (d typed) message(data []byte) (runtime.Object, error) {
	obj := reflect.New(d.t).Interface()
	if err := d.plan.Protobuf(data, obj, d.options); err != nil {
		return nil, err
	}
	return obj.(runtime.Object), nil
}

func (d protobufDecoder) checking() Decoder {
	d.options.Checks = true
	return d
}

func (d protobufDecoder) List(body io.Reader) List {
	return &protobufList{d, decode.NewListReaderProtobuf(body, maxItem)}
}

// protobufList is a list in protobuf.
type protobufList struct {
	decoder protobufDecoder
	reader  *decode.ListReaderProtobuf
}

func (l *protobufList) Next() (Item, error) {
	data, err := l.reader.Next()
	if err != nil {
		return Item{}, reason(err)
	}
	d := l.decoder
	return d.known.item(form{of: reflect.PointerTo(d.t), in: inMessage}, data, d.checks(), func() (runtime.Object, error) {
		return d.message(data)
	}), nil
}

func (l *protobufList) again(data []byte) (runtime.Object, error) {
	d := l.decoder
	d.options.Checks = true
	return d.message(data)
}

func (l *protobufList) With(items [][]byte) []byte { return l.reader.With(items) }

// reason shortens an error of a decoder, which names a place, to one of few. Others are as they
// were.
func reason(err error) error {
	var unsure interface{ Reason() string }
	if errors.As(err, &unsure) {
		return errors.New(unsure.Reason())
	}
	return err
}
