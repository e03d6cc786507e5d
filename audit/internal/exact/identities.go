// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/tap/engine"
)

var errOddMetadata = errors.New("metadata in an unknown form")

// identityDecoders returns a function that reads only the identities of objects, or nil for types with
// unusual metadata.
func identityDecoders(t reflect.Type, e engine.Encoding) engine.Decode {
	plan, err := decode.PlanOf(reflect.TypeFor[identity](), e)
	if err != nil {
		return nil
	}
	d := identities{t, e, plan}
	switch {
	case e == engine.JSON && (t == reflect.TypeFor[*unstructured.Unstructured]() ||
		hasUsualMetadata(t, "json", "metadata") && !t.Implements(reflect.TypeFor[json.Unmarshaler]())):
		return d.object
	case e == engine.Protobuf && hasUsualMetadata(t, "protobuf", "bytes,1") && isOfKubernetes(t):
		return d.object
	}
	return nil
}

// hasUsualMetadata reports whether t is a pointer to a struct that directly embeds ObjectMeta with
// a tag that begins with begin.
func hasUsualMetadata(t reflect.Type, tag, begin string) bool {
	if t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct {
		return false
	}
	field, has := t.Elem().FieldByName("ObjectMeta")
	first, ok := strings.CutPrefix(field.Tag.Get(tag), begin)
	return has && len(field.Index) == 1 && field.Type == reflect.TypeFor[metav1.ObjectMeta]() && ok && (first == "" || first[0] == ',')
}

// isOfKubernetes reports whether the protobuf tags of a type agree with its generated Unmarshal.
func isOfKubernetes(t reflect.Type) bool {
	path := t.Elem().PkgPath()
	return strings.HasPrefix(path, "k8s.io/api/") || strings.HasPrefix(path, "k8s.io/apimachinery/")
}

// identities decodes objects of type t, which is a pointer.
type identities struct {
	t      reflect.Type
	coding engine.Encoding
	plan   *decode.Plan // for JSON
}

// object is an engine.Decode.
func (d identities) object(data []byte, _ *metav1.TypeMeta) (runtime.Object, error) {
	var i identity
	if d.coding == engine.Protobuf {
		if !i.read(data) {
			return nil, errOddMetadata
		}
	} else if err := d.plan.JSON(data, &i, decode.Options{}); err != nil {
		return nil, err
	}
	return i.object(d.t)
}
