// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"errors"
	"io"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
)

const (
	// maxFrame is the most that is read as one frame of a watch. Objects of etcd have 1.5 MiB;
	// client-go takes 16 MiB of JSON, and has its own way to refuse more.
	maxFrame = 8 << 20
	// maxItem bounds an item of a list, and what is besides the items.
	maxItem = maxFrame
)

// ownDecoders returns what makes the decoders of this library, for an informer. Lists look for
// objects that known, which may be nil, has rows of.
func ownDecoders(by Options, known *rows) Maker {
	return func(t reflect.Type, e Encoding) Decoder {
		if t.Kind() != reflect.Pointer {
			return nil
		}
		d := own{of: t, coding: e, known: known, by: &by}
		switch {
		case t == reflect.TypeFor[*unstructured.Unstructured]() && e == JSON:
		case t.Implements(reflect.TypeFor[runtime.Unstructured]()):
			return nil
		case e == Protobuf && !t.Implements(reflect.TypeFor[interface{ Unmarshal([]byte) error }]()):
			return nil // client-go cannot do it either
		default:
			var err error
			if d.plan, err = decode.PlanOf(t.Elem(), e); err != nil {
				return nil
			}
		}
		d.options.Intern = texts.get(&by.Ledger.texts)
		if by.Share {
			d.options.Share = decode.NewSharing(parts.get(&by.Ledger.parts)).Report(by.Ledger.checkedPart)
			if by.Drop != nil {
				d.options.Trim = func(m *metav1.ObjectMeta) { by.Drop.Trim(m) }
			}
		}
		return d
	}
}

// own decodes objects of one type.
type own struct {
	of      reflect.Type
	coding  Encoding
	plan    *decode.Plan // nil for unstructured objects
	options decode.Options
	known   *rows // nil: none are made
	by      *Options
}

func (d own) Open(frame []byte) (Frame, error) {
	f, err := decode.Open(frame, d.coding)
	return f, reason(err)
}

func (d own) Object(f Frame, check bool) (runtime.Object, error) {
	obj, _, err := d.update(f, decode.Former{}, check)
	return obj, err
}

// update decodes the object of a frame, perhaps from a former version of it, and returns its row.
func (d own) update(f Frame, of decode.Former, check bool) (runtime.Object, decode.Row, error) {
	if f.Type == watch.Modified && d.coding == Protobuf {
		d.options.Intern = nil // an allocation costs less than a look at cold memory for each text
	}
	obj, sums, err := d.object(f.Object, of, nil, check)
	if err == nil && d.coding == Protobuf {
		obj.GetObjectKind().SetGroupVersionKind(f.Kind)
	}
	return obj, sums, err
}

// object decodes an object, perhaps an item of a list that says these of itself, and returns its row.
func (d own) object(data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
	o := d.options
	if o.Checks = check; check {
		of = decode.Former{}
	}
	if d.plan == nil {
		obj, err = untyped(data, list, o)
		return obj, sums, err
	}
	into := reflect.New(d.of.Elem()).Interface()
	switch {
	case d.coding == JSON:
		err = d.plan.JSON(data, into, o)
	case d.known == nil || len(data) < leastRow:
		err = d.plan.Protobuf(data, into, o)
	default:
		sums, err = d.plan.Update(data, into, of, o)
	}
	if err != nil {
		return nil, nil, reason(err)
	}
	return into.(runtime.Object), sums, nil
}

func untyped(data []byte, list *metav1.TypeMeta, o decode.Options) (runtime.Object, error) {
	var content map[string]any
	var err error
	if list == nil {
		content, err = decode.Unstructured(data, o)
	} else {
		content, err = decode.UnstructuredItem(data, strings.TrimSuffix(list.Kind, "List"), list.APIVersion, o)
	}
	if err != nil {
		return nil, reason(err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}

func (d own) List(body io.Reader, check bool) List {
	return &ownList{decode.NewList(body, d.coding, maxItem), d, check}
}

// ownList is a list whose items are decoded by own.
type ownList struct {
	decode.List
	decoder own
	check   bool
}

func (l *ownList) Next() (Item, error) {
	data, err := l.List.Next()
	for err == nil && l.decoder.by.isOther(data, l.decoder.coding) {
		data, err = l.List.Next()
	}
	if err != nil {
		return Item{}, reason(err)
	}
	f := form{of: l.decoder.of, in: inItem, list: l.Head()}
	if l.decoder.coding == Protobuf {
		f.in = inMessage
	}
	known := l.decoder.known.find(f, data)
	if known.same && !l.check {
		return Item{Wire: data, Object: known.Object.(runtime.Object), Known: true}, nil
	}
	obj, sums, err := l.decode(data, known.Former, l.check)
	if err == nil {
		l.decoder.known.add(known, obj, sums)
	}
	return Item{Wire: data, Object: obj, Why: err}, nil
}

func (l *ownList) decode(data []byte, of decode.Former, check bool) (runtime.Object, decode.Row, error) {
	head := l.Head()
	return l.decoder.object(data, of, &head, check)
}

// again decodes an item anew, and checks each part that it shares.
func (l *ownList) again(data []byte) (runtime.Object, error) {
	obj, _, err := l.decode(data, decode.Former{}, true)
	return obj, err
}

// reason shortens an error of a decoder, which names a place, to one of few. Others are as they
// were.
func reason(err error) error {
	var unsure interface{ Reason() string }
	if errors.As(err, &unsure) {
		return errors.New(unsure.Reason())
	}
	return err
}
