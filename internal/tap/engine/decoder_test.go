// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/tap"
)

// TestNoDecoder: of types that are not supported there is no decoder.
func TestNoDecoder(t *testing.T) {
	for _, of := range []reflect.Type{reflect.TypeFor[*unstructured.UnstructuredList](), reflect.TypeFor[metav1.Status]()} {
		assert.Nil(t, (&trust{}).decoder(of, Protobuf, false))
		assert.Nil(t, OwnDecoders(&tap.Ledger{})(of, Protobuf))
	}
}

// trap is a type whose decoder panics.
type trap struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              fuse `json:"spec"`
}

func (o *trap) DeepCopyObject() runtime.Object { return o }

type fuse struct{ text string }

var armed bool

func (f *fuse) UnmarshalJSON(text []byte) error {
	if f.text = string(text); armed || f.text == "1" {
		panic("secret")
	}
	return nil
}

// TestTraps: a panic of a type's own decoder is an error without data, wherever objects are decoded.
func TestTraps(t *testing.T) {
	const why = "the decoder panicked with a value of type string"
	d := (&trust{options: Options{Options: tap.Options{Ledger: &tap.Ledger{}}}}).decoder(reflect.TypeFor[*trap](), JSON, true)
	require.NotNil(t, d)
	frame, err := d.open([]byte(`{"type":"ADDED","object":{"kind":"Trap","apiVersion":"a/v1","metadata":{"name":"a"},"spec":1}}`))
	require.NoError(t, err)
	_, _, err = d.ofFrame(frame, decode.Former{}, false)
	assert.EqualError(t, err, why)
	_, err = learn(d, frame, &trap{})
	assert.EqualError(t, err, why)
	list := d.list(strings.NewReader(`{"kind":"TrapList","items":[{"metadata":{"name":"a"},"spec":2},{"spec":1}]}`), false)
	item, err := list.next()
	require.NoError(t, err)
	armed = true
	assert.Same(t, item.Object, list.again(item), "the object that was decoded before")
	armed = false
	assert.Equal(t, "2", list.again(item).(*trap).Spec.text)
	_, err = list.next()
	assert.EqualError(t, err, why)
}
