// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
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
	return func(of reflect.Type, e Encoding) Decode {
		d := newDecoder(&Options{Options: tap.Options{Ledger: ledger}}, nil, &uses{}, of, e, false)
		if d == nil {
			return nil
		}
		return func(data []byte, list *metav1.TypeMeta) (runtime.Object, error) {
			obj, _, err := d.object(data, decode.Former{}, list, false)
			return obj, err
		}
	}
}

// decoder decodes objects of one Go type. The objects are deeply equal to those of the decoder of a
// client of client-go's. It gives up, by an error without any of the data, in any doubt, and if the
// code below panics. Its results do not refer to the input. It is safe for concurrent use.
type decoder struct {
	informer *Options
	rows     *rows // may be nil
	objects  reflect.Type
	coding   Encoding
	drops    bool         // remove managed fields, as the client does
	made     Decode       // by Options.Make, in the place of the fields below; nil: none
	untyped  bool         // unstructured objects, which have no plan
	plan     *decode.Plan // of the fields that are kept
	all      *decode.Plan // of all fields; nil: not supported
	options  decode.Options
}

// newDecoder returns a decoder for objects of a type, for one informer, or nil if there is none. Lists
// look up former objects in known, which may be nil. The informer uses the tables in uses. drops means
// that the client removes managed fields.
func newDecoder(o *Options, known *rows, uses *uses, of reflect.Type, e Encoding, drops bool) *decoder {
	d := &decoder{informer: o, rows: known, objects: of, coding: e, drops: drops}
	switch {
	case o.Make != nil:
		if d.made = o.Make(of, e); d.made == nil {
			return nil
		}
		return d
	case !d.hasPlan():
		return nil
	}
	if d.options.Keep = o.kept.Of(); d.options.Keep != nil && o.kept.Whole == nil {
		d.options.Read = &uses.read
	}
	d.options.Intern = texts.get(&uses.texts)
	if o.Share {
		d.options.Share = decode.NewSharing(parts.get(&uses.parts)).Report(checkedPart(o.Ledger))
		d.options.Trim = trimOf(o.Drop, drops)
	}
	return d
}

// trimOf returns the function that removes what drop names, and if managed is set the managed fields, which the
// client removes; nil: nothing.
func trimOf(drop *tap.Drop, managed bool) func(*metav1.ObjectMeta) {
	if drop == nil && !managed {
		return nil
	}
	return func(m *metav1.ObjectMeta) {
		if drop.Trim(m); managed {
			managedFields.Trim(m)
		}
	}
}

// hasPlan sets the plan, and reports whether there is one, or none is necessary.
func (d *decoder) hasPlan() bool {
	t := d.objects
	switch {
	case t.Kind() != reflect.Pointer:
		return false
	case t == reflect.TypeFor[*unstructured.Unstructured]() && d.coding == JSON:
		d.untyped = true
		return true
	case t.Implements(reflect.TypeFor[runtime.Unstructured]()):
		return false
	case d.coding == Protobuf && !t.Implements(reflect.TypeFor[interface{ Unmarshal([]byte) error }]()):
		return false // client-go cannot decode it either
	}
	var err error
	d.plan, err = decode.PlanOfKept(t.Elem(), d.coding, d.informer.kept.Of())
	d.all, _ = decode.PlanOf(t.Elem(), d.coding)
	return err == nil
}

// open parses a frame of a watch.
func (d *decoder) open(frame []byte) (f decode.Frame, err error) {
	defer giveUpOnPanic(&err)
	f, err = decode.Open(frame, d.coding)
	return f, reason(err)
}

// decoded estimates how many bytes of an object are decoded. The others are of fields that are not kept. In
// JSON, shared parts count with theirs, and if some objects are kept whole, all objects do.
func (d *decoder) decoded(wire []byte) int { return d.options.Read.Decoded(len(wire)) }

// ofFrame decodes the object of a frame, with the apiVersion and kind on the wire, possibly from its
// former version, and returns its row, which may be nil. If check is set, each shared part is checked.
func (d decoder) ofFrame(f decode.Frame, of decode.Former, check bool) (obj runtime.Object, sums decode.Row, err error) {
	defer giveUpOnPanic(&err)
	if f.Type == watch.Modified && d.coding == Protobuf {
		d.options.Intern = nil // a new string costs less than a lookup in cold memory
	}
	if f.Type == watch.Bookmark {
		d = d.keepingAll() // an annotation says what the bookmark means
	}
	obj, sums, err = d.object(f.Object, of, nil, check)
	if err == nil && d.coding == Protobuf {
		obj.GetObjectKind().SetGroupVersionKind(f.Kind)
	}
	return obj, sums, err
}

// giveUpOnPanic recovers from a panic. The error does not contain the value, which may contain
// data.
func giveUpOnPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the decoder panicked with a value of type %T", p)
	}
}

// object decodes an object, possibly from its former version, and returns its row. For an item of a
// list, list is the TypeMeta of the list.
func (d decoder) object(data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
	switch kept := d.informer.kept; {
	case d.made != nil:
		obj, err = d.made(data, list)
	case len(data) > maxObject:
		err = errTooLong
	case kept != nil && kept.Whole != nil:
		obj, sums, err = d.either(data, of, list, check)
	default:
		obj, sums, err = d.read(data, of, list, check)
	}
	if err == nil && d.drops {
		managedFields.Trim(obj)
	}
	return obj, sums, err
}

// keepingAll returns d for objects of which all fields are kept.
func (d decoder) keepingAll() decoder {
	d.plan, d.options.Keep, d.options.Read = d.all, nil, nil
	return d
}

// The last word of a row says the form of its object, if objects have two.
const (
	isPartial uint64 = iota
	isWhole
)

// either decodes the fields that are kept, and if the labels say so all fields. The former version is used if it has the
// same form.
func (d decoder) either(data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
	if obj, sums, err = d.readForm(isPartial, data, of, list, check); err == nil && d.informer.kept.IsWhole(obj) {
		obj, sums, err = d.keepingAll().readForm(isWhole, data, of, list, check)
	}
	return obj, sums, err
}

func (d decoder) readForm(form uint64, data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
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
func (d decoder) read(data []byte, of decode.Former, list *metav1.TypeMeta, check bool) (obj runtime.Object, sums decode.Row, err error) {
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

// listReader reads a list item by item. One goroutine uses it.
type listReader struct {
	decode.List
	decoder *decoder
	check   bool            // each shared part is checked
	head    metav1.TypeMeta // of the list, as far as it was read
}

// Item is an item of a list.
type Item struct {
	Wire   []byte         // valid until the next call of next
	Object runtime.Object // nil if the decoder gave up; complete when the list was read to its end
	Why    error          // the reason why the decoder gave up
	Reused bool           // Object is a former object
}

// list begins to read a list at its first byte.
func (d *decoder) list(body io.Reader, check bool) *listReader {
	return &listReader{List: decode.NewList(body, d.coding, maxObject), decoder: d, check: check}
}

// next returns the next item. After the last one, when the list was read to its end and nothing
// follows it, the error is io.EOF. Other errors are those of the body, or report that the body
// is not a list or cannot be split.
func (l *listReader) next() (item Item, err error) {
	defer giveUpOnPanic(&err)
	d := l.decoder
	data, err := l.Next()
	for err == nil && d.informer.isOther(data, d.coding) {
		data, err = l.Next()
	}
	if err == nil && l.isOfWholeObjects() {
		err = errWhole
	}
	if err != nil {
		return Item{}, reason(err)
	}
	l.head = l.Head()
	f := form{objects: d.objects, in: inItem, list: l.head}
	if d.coding == Protobuf {
		f.in = inMessage
	}
	known := d.rows.find(f, data)
	if known.same && !l.check {
		return Item{Wire: data, Object: known.Object.(runtime.Object), Reused: true}, nil
	}
	obj, sums, err := d.object(data, known.Former, &l.head, l.check)
	if err == nil {
		d.rows.add(known, obj, sums)
	}
	return Item{Wire: data, Object: obj, Why: err}, nil
}

// again decodes an item without its former version, and checks each shared part. It returns the
// object of the item if that fails.
func (l *listReader) again(item Item) (obj runtime.Object) {
	if item.Object == nil {
		return nil
	}
	var err error
	defer func() {
		if err != nil {
			obj = item.Object
		}
	}()
	defer giveUpOnPanic(&err)
	l.head = l.Head()
	obj, _, err = l.decoder.object(item.Wire, decode.Former{}, &l.head, true)
	return obj
}

// errTooLong leaves an object to the client.
var errTooLong = errors.New("too long")

// errUnsupported leaves an object to the client of which the fields that are kept could be decoded, but not the others.
var errUnsupported = errors.New("a type that is not supported")

// errWhole leaves a list to the client. Its decoder of metadata in complete objects ignores the case of names.
var errWhole = errors.New("complete objects in a list of metadata")

// isOfWholeObjects reports whether an older server, which knows no lists of metadata, has sent the complete
// objects.
func (l *listReader) isOfWholeObjects() bool {
	if l.decoder.made != nil || l.decoder.objects != reflect.TypeFor[*metav1.PartialObjectMetadata]() {
		return false
	}
	kind := l.Head().Kind
	return kind != "" && kind != "PartialObjectMetadataList"
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
