// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// somePod has fields of every kind before and behind those of its identity.
func somePod(name, namespace, uid, version string) *v1.Pod {
	seconds := int64(30)
	now := metav1.Now()
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, GenerateName: "generated-", Namespace: namespace, UID: types.UID(uid), ResourceVersion: version,
			Generation: 1 << 40, CreationTimestamp: now, DeletionTimestamp: &now, DeletionGracePeriodSeconds: &seconds,
			Labels: map[string]string{"a": "b"}, Finalizers: []string{"f"},
		},
		Spec: v1.PodSpec{NodeName: "node", Priority: new(int32)},
	}
}

// TestBeginsOfIdentities: a message that is cut is read only where client-go reads it too, and a
// document nowhere.
func TestBeginsOfIdentities(t *testing.T) {
	pod := somePod("name", "namespace", "uid", "1")
	message, err := pod.Marshal()
	require.NoError(t, err)
	read := 0
	for end := range len(message) {
		var got identity
		want := new(v1.Pod)
		ok := want.Unmarshal(message[:end]) == nil
		require.Equal(t, ok, got.read(message[:end]), "up to %d", end)
		if ok {
			read++
			made, err := got.object(reflect.TypeOf(pod))
			require.NoError(t, err)
			require.Equal(t, bare(want), made)
		}
	}
	assert.NotZero(t, read)
	document, err := json.Marshal(pod)
	require.NoError(t, err)
	decoder := identityDecoders(ownDecoders(Options{Ledger: &Ledger{}}, nil))(reflect.TypeOf(pod), JSON).(jsonDecoder)
	for end := range document {
		_, err := decoder.object(document[:end])
		require.Error(t, err)
	}
}

// kindless is an object with metadata of its own making.
type kindless struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"about"`
}

func (k *kindless) DeepCopyObject() runtime.Object { return k }

// podWithin has a pod's metadata, further in.
type podWithin struct {
	v1.Pod `json:"pod"`
}

// podByPointer has metadata that may be nil.
type podByPointer struct {
	metav1.TypeMeta    `json:",inline"`
	*metav1.ObjectMeta `json:"metadata"`
}

func (p *podByPointer) DeepCopyObject() runtime.Object { return p }

// podByValue is an object that is no pointer.
type podByValue struct{ *v1.Pod }

// ownJSONPod reads itself.
type ownJSONPod struct{ v1.Pod }

func (p *ownJSONPod) UnmarshalJSON([]byte) error { return nil }

// TestIdentityDecoders: types that keep their metadata in ways of their own have the decoders that
// they would have anyway.
func TestIdentityDecoders(t *testing.T) {
	usual := jsonDecoder{jsonObjects: untyped{}}
	maker := identityDecoders(func(reflect.Type, Encoding) Decoder { return usual })
	for _, c := range []struct {
		obj      runtime.Object
		encoding Encoding
		own      bool
	}{
		{&v1.Pod{}, JSON, true},
		{&v1.Pod{}, Protobuf, true},
		{&metav1.PartialObjectMetadata{}, JSON, true},
		{&metav1.PartialObjectMetadata{}, Protobuf, true},
		{&unstructured.Unstructured{}, JSON, true},
		{&unstructured.Unstructured{}, Protobuf, false},
		{&kindless{}, JSON, false},
		{&kindless{}, Protobuf, false},
		{&ownJSONPod{}, JSON, false},
		{&ownJSONPod{}, Protobuf, false},
		{&podWithin{}, JSON, false},
		{&podByPointer{}, JSON, false},
		{&podByValue{}, JSON, false},
		{podByValue{}, JSON, false},
		{&metav1.Status{}, JSON, false},
	} {
		got := maker(reflect.TypeOf(c.obj), c.encoding)
		assert.Equal(t, c.own, got != Decoder(usual), "%T in %s", c.obj, c.encoding)
	}
	none := identityDecoders(func(reflect.Type, Encoding) Decoder { return nil })
	assert.Nil(t, none(reflect.TypeFor[*v1.Pod](), JSON))
	assert.Nil(t, none(reflect.TypeFor[v1.Pod](), JSON))
}

// TestIdentityInJSON: an unstructured item has the kind of its list, if it names none, and is given
// up if it has none then; what is no identity is given up.
func TestIdentityInJSON(t *testing.T) {
	maker := identityDecoders(ownDecoders(Options{Ledger: &Ledger{}}, nil))
	list := listHead{APIVersion: "v1", Kind: "PodList"}
	for _, c := range []struct {
		data string
		list listHead
		want string // "": it is given up
	}{
		{`{"metadata":{"name":"a","labels":{"b":"c"}}}`, list, "v1 Pod a"},
		{`{"kind":"Node","apiVersion":"v2","metadata":{"name":"a"},"spec":[{}]}`, list, "v2 Node a"},
		{`{"kind":"Node","metadata":{"name":"a"}}`, list, ""},
		{`{"metadata":{"name":"a"}}`, listHead{}, ""},
		{`{"metadata":{"name":"a"},"kind":"K","apiVersion":"a/b/v1"}`, list, ""},
		{`{"Metadata":{"name":"b"},"metadata":{"name":"a","Name":"b"}}`, list, "v1 Pod a"},
		{`{"m\u0065tadata":{"n\u0061me":"\u0061"}}`, list, "v1 Pod a"},
		{`{"m\u0065tadata":{"name":"a"},"metadata":{}}`, list, ""},
		{`{"metadata":["name"]}`, list, ""},
		{`{"metadata":null}`, list, "v1 Pod "},
		{"{\"metadata\":{\"name\":\"\xff\"}}", list, ""},
		{`{"metadata":{"name":5}}`, list, ""},
		{`{"metadata":{"name":"a"}`, list, ""},
		{`{"metadata":{"name":"a"},"metadata":{}}`, list, ""},
		{`{"metadata":{"name":null},"spec":tru}`, list, ""},
	} {
		d := maker(reflect.TypeFor[*unstructured.Unstructured](), JSON).(jsonDecoder)
		obj, err := d.item([]byte(c.data), c.list)
		if c.want == "" {
			assert.Error(t, err, c.data)
			continue
		}
		require.NoError(t, err, c.data)
		got := obj.(*unstructured.Unstructured)
		assert.Equal(t, c.want, fmt.Sprint(got.GetAPIVersion(), " ", got.GetKind(), " ", got.GetName()))
		assert.Empty(t, got.GetLabels())
	}
}

// TestBare: what has no identity stays as it is.
func TestBare(t *testing.T) {
	pod := somePod("a", "b", "c", "d")
	want := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b", UID: "c", ResourceVersion: "d"}}
	assert.Equal(t, want, bare(pod))
	assert.NotEmpty(t, pod.Labels)
	for _, obj := range []runtime.Object{nil, (*v1.Pod)(nil), &metav1.Status{Message: "x"}, podByValue{pod}} {
		assert.Equal(t, obj, bare(obj))
	}
}
