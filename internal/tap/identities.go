// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"encoding/json"
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

var (
	errOddMetadata  = errors.New("metadata in an unknown form")
	errUnidentified = errors.New("no kind or apiVersion")
	errOnlyLists    = errors.New("a decoder of lists only")
)

// identityDecoders returns a maker of decoders of lists that read nothing but identities; for types
// that keep these in ways of their own, those of another maker.
func identityDecoders(otherwise Maker) Maker {
	return func(t reflect.Type, e Encoding) Decoder {
		usual := otherwise(t, e)
		plan, err := decode.PlanOf(reflect.TypeFor[identity]())
		if usual == nil || err != nil {
			return usual
		}
		d := identities{t: t, plan: plan}
		switch {
		case e == JSON && (d.isUnstructured() || hasUsualMetadata(t, "json", "metadata") && !t.Implements(reflect.TypeFor[json.Unmarshaler]())):
			return jsonDecoder{jsonObjects: d}
		case e == Protobuf && hasUsualMetadata(t, "protobuf", "bytes,1") && isOfKubernetes(t):
			return protobufIdentities{d}
		}
		return usual
	}
}

// hasUsualMetadata reports whether a pointer is one to a struct that embeds its metadata, itself,
// with a tag that begins so.
func hasUsualMetadata(t reflect.Type, tag, begin string) bool {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return false
	}
	field, has := t.Elem().FieldByName("ObjectMeta")
	first, ok := strings.CutPrefix(field.Tag.Get(tag), begin)
	return has && len(field.Index) == 1 && field.Type == reflect.TypeFor[metav1.ObjectMeta]() && ok && (first == "" || first[0] == ',')
}

// isOfKubernetes reports whether the tags of a type are those that its Unmarshal was generated
// from.
func isOfKubernetes(t reflect.Type) bool {
	path := t.Elem().PkgPath()
	return strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, "k8s.io/apimachinery/")
}

// identities makes objects of a type, which is a pointer, of JSON.
type identities struct {
	t    reflect.Type
	plan *decode.Plan
}

func (d identities) isUnstructured() bool {
	return d.t == reflect.TypeFor[*unstructured.Unstructured]()
}

func (d identities) checked() jsonObjects { return d }

func (d identities) checks() bool { return false }

func (d identities) object(data []byte) (runtime.Object, error) { return d.item(data, listHead{}) }

func (d identities) item(data []byte, list listHead) (runtime.Object, error) {
	var i identity
	if err := d.plan.JSON(data, &i, decode.Options{}); err != nil {
		return nil, err
	}
	if d.isUnstructured() {
		if i.Kind == "" && i.APIVersion == "" {
			i.Kind, i.APIVersion = strings.TrimSuffix(list.Kind, "List"), list.APIVersion
		}
		if i.Kind == "" || i.APIVersion == "" || strings.Count(i.APIVersion, "/") > 1 {
			return nil, errUnidentified
		}
	}
	return i.object(d.t)
}

// protobufIdentities makes objects of protobuf.
type protobufIdentities struct{ identities }

func (d protobufIdentities) Event([]byte) (watch.Event, error) { return watch.Event{}, errOnlyLists }

func (d protobufIdentities) List(body io.Reader) List {
	return &identityList{decode.NewListReaderProtobuf(body, maxItem), d.t}
}

// identityList is a list in protobuf.
type identityList struct {
	*decode.ListReaderProtobuf
	t reflect.Type
}

func (l *identityList) Next() (Item, error) {
	data, err := l.ListReaderProtobuf.Next()
	if err != nil {
		return Item{}, reason(err)
	}
	var i identity
	if !i.read(data) {
		return Item{Wire: data, Why: errOddMetadata}, nil
	}
	obj, err := i.object(l.t)
	return Item{Wire: data, Object: obj, Why: err}, nil
}
