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
	"pgregory.net/rapid"
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

// TestIdentityInProtobuf: what is read of a message is what its Unmarshal reads, and nothing is
// read of one that ends too early.
func TestIdentityInProtobuf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 20, 300)
		pod := somePod(text.Draw(t, "name"), rapid.String().Draw(t, "namespace"), rapid.String().Draw(t, "uid"), rapid.String().Draw(t, "version"))
		data, err := pod.Marshal()
		require.NoError(t, err)
		var got identity
		require.True(t, got.read(data))
		assert.Equal(t, [4]string{pod.Name, pod.Namespace, string(pod.UID), pod.ResourceVersion},
			[4]string{got.Metadata.Name, got.Metadata.Namespace, got.Metadata.UID, got.Metadata.ResourceVersion})

		metadata, err := pod.ObjectMeta.Marshal()
		require.NoError(t, err)
		cut := rapid.IntRange(1, len(metadata)).Draw(t, "cut")
		assert.False(t, new(identity).read(data[:cut]), "within the metadata")
	})
}

// TestOddIdentityInProtobuf: what is not as it is known is given up.
func TestOddIdentityInProtobuf(t *testing.T) {
	name := []byte{1<<3 | 2, 1, 'a'}
	metadata := func(fields ...byte) []byte { return append([]byte{1<<3 | 2, byte(len(fields))}, fields...) }
	for what, c := range map[string]struct {
		data []byte
		ok   bool
	}{
		"empty":                {nil, true},
		"no metadata":          {[]byte{2<<3 | 2, 1, 'x'}, true},
		"a name":               {metadata(name...), true},
		"a fixed32":            {append(metadata(name...), 3<<3|5, 1, 2, 3, 4), true},
		"a fixed64":            {append(metadata(name...), 3<<3|1, 1, 2, 3, 4, 5, 6, 7, 8), true},
		"a number":             {append(metadata(name...), 3<<3, 0x80, 1), true},
		"a short fixed32":      {append(metadata(name...), 3<<3|5, 1, 2, 3), false},
		"a short fixed64":      {append(metadata(name...), 3<<3|1, 1), false},
		"a short number":       {append(metadata(name...), 3<<3, 0x80), false},
		"a long number":        {append(metadata(name...), 3<<3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1), false},
		"a group":              {append(metadata(name...), 3<<3|3), false},
		"field 0":              {append(metadata(name...), 2, 0), false},
		"two names":            {metadata(append(name, name...)...), false},
		"metadata twice":       {append(metadata(name...), metadata(5<<3|2, 1, 'u')...), false},
		"a length beyond":      {[]byte{1<<3 | 2, 9, 1<<3 | 2, 1, 'a'}, false},
		"a huge length":        {[]byte{1<<3 | 2, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, false},
		"a length beyond, in":  {metadata(1<<3|2, 9, 'a'), false},
		"metadata as a number": {[]byte{1 << 3, 5}, false},
		"metadata as a group":  {[]byte{1<<3 | 3, 1<<3 | 4}, false},
		"a name as a number":   {metadata(1<<3, 5), false},
		"a UID as a fixed32":   {metadata(5<<3|5, 1, 2, 3, 4), false},
		"a large number":       {[]byte{0xFA, 0xFF, 0xFF, 0xFF, 0x0F, 0}, true},
		"one too large":        {[]byte{0x82, 0x80, 0x80, 0x80, 0x10, 0}, false},
		"metadata by 33 bits":  {[]byte{0x8A, 0x80, 0x80, 0x80, 0x80, 1, 3, 1<<3 | 2, 1, 'a'}, false},
		"a name by 33 bits":    {metadata(0x8A, 0x80, 0x80, 0x80, 0x80, 1, 1, 'a'), false},
		"a name behind none":   {metadata(append([]byte{1<<3 | 2, 0}, name...)...), true},
		"a name before none":   {metadata(append(name, 1<<3|2, 0)...), false},
		"overlong numbers":     {[]byte{0x8A, 0x80, 0, 0x85, 0x80, 0, 0x8A, 0, 0x81, 0, 'a'}, true},
	} {
		require.Equal(t, c.ok, new(identity).read(c.data), what)
	}
	rapid.Check(t, func(t *rapid.T) {
		new(identity).read(rapid.SliceOf(rapid.Byte()).Draw(t, "anything"))
	})
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
