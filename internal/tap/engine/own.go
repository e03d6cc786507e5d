// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/tap"
)

const (
	// maxFrame is the most bytes of a frame of a watch. client-go accepts as many, and rejects more in
	// its own way.
	maxFrame = 16 << 20
	// maxObject is the most bytes of an object that is decoded directly, and of a list besides its
	// items. Objects in etcd have up to 1.5 MiB.
	maxObject = 8 << 20
)

// OwnDecoders returns a Maker of the decoders of this package, which find no former objects.
func OwnDecoders(ledger *tap.Ledger) Maker {
	return ownDecoders(Options{Options: tap.Options{Ledger: ledger}}, nil, &uses{})
}

// ownDecoders returns a Maker of the decoders of this package, for one informer. Lists look up former
// objects in known, which may be nil. The informer uses the tables in uses.
func ownDecoders(by Options, known *rows, uses *uses) Maker {
	return func(t reflect.Type, e Encoding) Decoder {
		if t.Kind() != reflect.Pointer {
			return nil
		}
		d := own{objects: t, coding: e, rows: known, informer: &by}
		switch {
		case t == reflect.TypeFor[*unstructured.Unstructured]() && e == JSON:
			d.untyped = true
		case t.Implements(reflect.TypeFor[runtime.Unstructured]()):
			return nil
		case e == Protobuf && !t.Implements(reflect.TypeFor[interface{ Unmarshal([]byte) error }]()):
			return nil // client-go cannot decode it either
		default:
			var err error
			if d.plan, err = decode.PlanOfKept(t.Elem(), e, by.kept.Of()); err != nil {
				return nil
			}
			d.all, _ = decode.PlanOf(t.Elem(), e)
		}
		d.options.Keep = by.kept.Of()
		d.twoForms = by.kept != nil && by.kept.Whole != nil
		d.options.Intern = texts.get(&uses.texts)
		if by.Share {
			d.options.Share = decode.NewSharing(parts.get(&uses.parts)).Report(checkedPart(by.Ledger))
			if by.Drop != nil {
				d.options.Trim = func(m *metav1.ObjectMeta) { by.Drop.Trim(m) }
			}
		}
		return d
	}
}

// own decodes objects of one type.
type own struct {
	objects  reflect.Type
	coding   Encoding
	untyped  bool         // unstructured objects, which have no plan
	plan     *decode.Plan // of the fields that are kept
	all      *decode.Plan // of all fields; nil: not supported
	options  decode.Options
	rows     *rows // may be nil
	twoForms bool  // whether some objects are whole, and others are not
	drops    bool  // remove managed fields, as the client does
	informer *Options
}

func (d own) Open(frame []byte) (Frame, error) {
	f, err := decode.Open(frame, d.coding)
	return f, reason(err)
}

func (d own) Object(f Frame, of decode.Former, check bool) (runtime.Object, decode.Row, error) {
	if f.Type == watch.Modified && d.coding == Protobuf {
		d.options.Intern = nil // a new string costs less than a lookup in cold memory
	}
	if f.Type == watch.Bookmark {
		d = d.keepingAll() // an annotation says what the bookmark means
	}
	obj, sums, err := d.object(f.Object, of, nil, check)
	if err == nil && d.coding == Protobuf {
		obj.GetObjectKind().SetGroupVersionKind(f.Kind)
	}
	return obj, sums, err
}

// dropping returns d for a client that removes managed fields.
func (d own) dropping() Decoder {
	d.drops = true
	return d
}

// object decodes an object, possibly from its former version, and returns its row. For an item of a
// list, list is the TypeMeta of the list.
func (d own) object(data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
	if len(data) > maxObject {
		return nil, nil, errTooLong
	}
	if d.twoForms {
		obj, sums, err = d.either(data, of, list, check)
	} else {
		obj, sums, err = d.read(data, of, list, check)
	}
	if err == nil && d.drops {
		managedFields.Trim(obj)
	}
	return obj, sums, err
}

// keepingAll returns d for objects of which all fields are kept.
func (d own) keepingAll() own {
	d.plan, d.options.Keep = d.all, nil
	return d
}

// The last word of a row says the form of its object, if objects have two.
const (
	isPartial uint64 = iota
	isWhole
)

// either decodes the fields that are kept, and if the labels say so all fields. The former version is used if it has the
// same form.
func (d own) either(data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
	if obj, sums, err = d.readForm(isPartial, data, of, list, check); err == nil && d.informer.kept.IsWhole(obj) {
		obj, sums, err = d.keepingAll().readForm(isWhole, data, of, list, check)
	}
	return obj, sums, err
}

func (d own) readForm(form uint64, data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
	if last := len(of.Row) - 1; last >= 0 && of.Row[last] == form {
		of.Row = of.Row[:last]
	} else {
		of = decode.Former{}
	}
	if obj, sums, err = d.read(data, of, list, check); sums != nil {
		sums = slices.Concat(sums, decode.Row{form})
	}
	return obj, sums, err
}

// read decodes the fields that are kept.
func (d own) read(data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
	o := d.options
	if o.Checks = check; check {
		of = decode.Former{}
	}
	switch {
	case d.untyped:
		obj, err = untyped(data, list, o)
		return obj, sums, err
	case d.plan == nil:
		return nil, nil, errUnsupported
	}
	into := reflect.New(d.objects.Elem()).Interface()
	switch {
	case d.coding == JSON:
		err = d.plan.JSON(data, into, o)
	case d.rows == nil || len(data) < leastRow:
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
	return &ownList{decode.NewList(body, d.coding, maxObject), d, check}
}

// ownList is a list whose items own decodes.
type ownList struct {
	decode.List
	decoder own
	check   bool
}

func (l *ownList) Next() (Item, error) {
	data, err := l.List.Next()
	for err == nil && l.decoder.informer.isOther(data, l.decoder.coding) {
		data, err = l.List.Next()
	}
	if err == nil && l.isOfWholeObjects() {
		err = errWhole
	}
	if err != nil {
		return Item{}, reason(err)
	}
	f := form{objects: l.decoder.objects, in: inItem, list: l.Head()}
	if l.decoder.coding == Protobuf {
		f.in = inMessage
	}
	known := l.decoder.rows.find(f, data)
	if known.same && !l.check {
		return Item{Wire: data, Object: known.Object.(runtime.Object), Reused: true}, nil
	}
	obj, sums, err := l.decode(data, known.Former, l.check)
	if err == nil {
		l.decoder.rows.add(known, obj, sums)
	}
	return Item{Wire: data, Object: obj, Why: err}, nil
}

// errTooLong leaves an object to the client.
var errTooLong = errors.New("too long")

// errUnsupported leaves an object to the client of which the fields that are kept could be decoded, but not the others.
var errUnsupported = errors.New("a type that is not supported")

// errWhole leaves a list to the client. Its decoder of metadata in complete objects ignores the case of names.
var errWhole = errors.New("complete objects in a list of metadata")

// isOfWholeObjects reports whether an older server, which knows no lists of metadata, has sent the complete
// objects.
func (l *ownList) isOfWholeObjects() bool {
	if l.decoder.objects != reflect.TypeFor[*metav1.PartialObjectMetadata]() {
		return false
	}
	kind := l.Head().Kind
	return kind != "" && kind != "PartialObjectMetadataList"
}

func (l *ownList) decode(data []byte, of decode.Former, check bool) (runtime.Object, decode.Row, error) {
	head := l.Head()
	return l.decoder.object(data, of, &head, check)
}

func (l *ownList) Again(data []byte) (runtime.Object, error) {
	obj, _, err := l.decode(data, decode.Former{}, true)
	return obj, err
}

// reason replaces an error of a decoder by its reason, without the position in the data. It returns
// other errors unchanged.
func reason(err error) error {
	var unsure interface{ Reason() string }
	if errors.As(err, &unsure) {
		return errors.New(unsure.Reason())
	}
	return err
}
