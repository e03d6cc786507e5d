// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"errors"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	serializer "k8s.io/apimachinery/pkg/runtime/serializer/json"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

// planOf is PlanOf for types that have a plan.
func planOf(t testing.TB, of reflect.Type) *Plan {
	t.Helper()
	plan, err := PlanOf(of)
	require.NoError(t, err)
	return plan
}

// read reads a document with our decoder, and writes all over the data afterwards.
func read(t testing.TB, of reflect.Type, data []byte, o Options) (any, error) {
	t.Helper()
	data = bytes.Clone(data)
	into := reflect.New(of).Interface()
	err := planOf(t, of).JSON(data, into, o)
	overwrite(data)
	return into, err
}

func overwrite(data []byte) {
	for i := range data {
		data[i] = '#'
	}
}

// codec is client-go's for objects of any kind, and what it finds in their bytes is how it decodes
// frames of a watch. Of what it is not given an object for, it makes an unstructured one.
var codec = serializer.NewSerializerWithOptions(serializer.DefaultMetaFactory, anyKind{}, anyKind{}, serializer.SerializerOptions{})

// anyKind knows no type, and so takes any.
type anyKind struct{ runtime.ObjectTyper }

func (anyKind) New(schema.GroupVersionKind) (runtime.Object, error) {
	return &unstructured.Unstructured{}, nil
}

func (anyKind) ObjectKinds(obj runtime.Object) ([]schema.GroupVersionKind, bool, error) {
	return nil, false, runtime.NewNotRegisteredErrForType("any", reflect.TypeOf(obj))
}

// anyTyped is an object of a type that has no methods of one.
type anyTyped struct{ into any }

func (o *anyTyped) UnmarshalJSON(data []byte) error { return utiljson.Unmarshal(data, o.into) }

func (o *anyTyped) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

func (o *anyTyped) DeepCopyObject() runtime.Object { return o }

// isTakenFor fails the test unless client-go decodes data, into wanted, and takes it for an object
// of the kind that wanted has then, if its type has one.
func isTakenFor(t testing.TB, data []byte, wanted any) {
	t.Helper()
	object, is := wanted.(runtime.Object)
	if !is {
		object = &anyTyped{wanted}
	}
	_, kind, err := codec.Decode(data, nil, object)
	require.NoError(t, err, "client-go refuses %q", data)
	if has, ok := wanted.(schema.ObjectKind); ok {
		require.Equal(t, has.GroupVersionKind(), *kind, "client-go takes %q for that", data)
	}
}

// partsOfTests is what all that is compared with the reference is decoded with as well.
var partsOfTests = NewParts(4 << 20)

// sameShared fails the test unless decode, with parts that are shared, makes of data what it made
// without: wanted, or nil if it gave up. It is asked three times, since parts enter the table when
// they are asked for again.
func sameShared(t testing.TB, data []byte, o Options, wanted any, decode func([]byte, Options) (any, error)) {
	t.Helper()
	o.Share = NewSharing(partsOfTests).Report(func(w *Written) {
		require.Nil(t, w, "nobody has written to a part of %q", data)
	})
	for range 3 {
		copied := bytes.Clone(data)
		got, err := decode(copied, o)
		overwrite(copied)
		if wanted == nil {
			require.ErrorIs(t, err, ErrGiveUp, "%q", data)
			break
		}
		isWanted(t, data, wanted, got, err)
	}
}

// isWanted fails the test unless data was decoded, to that.
func isWanted(t testing.TB, data []byte, wanted, got any, err error) {
	t.Helper()
	require.NoError(t, err, "%q", data)
	if !reflect.DeepEqual(wanted, got) {
		require.Equal(t, wanted, got, "of %q", data)
		require.Fail(t, "not deeply equal", "%q", data)
	}
}

// sameJSON fails the test unless our decoder gives up, or makes of a document what client-go's
// makes of it. It reports whether it did.
func sameJSON(t testing.TB, of reflect.Type, data []byte, o Options) (decoded bool) {
	t.Helper()
	ours, err := read(t, of, data, o)
	shared := func(data []byte, o Options) (any, error) {
		into := reflect.New(of).Interface()
		return into, planOf(t, of).JSON(data, into, o)
	}
	if err != nil {
		require.ErrorIs(t, err, ErrGiveUp, "%s", data)
		sameShared(t, data, o, nil, shared)
		return false
	}
	sameShared(t, data, o, ours, shared)
	wanted := reflect.New(of).Interface()
	isTakenFor(t, data, wanted)
	if !reflect.DeepEqual(wanted, ours) {
		require.Equal(t, wanted, ours, "of %q", data)
		require.Fail(t, "not deeply equal", "%q", data)
	}
	return true
}

// sameDocument is sameJSON for unstructured objects.
func sameDocument(t testing.TB, data []byte, o Options) (decoded bool) {
	t.Helper()
	copied := bytes.Clone(data)
	ours, err := Unstructured(copied, o)
	overwrite(copied)
	shared := func(data []byte, o Options) (any, error) { return Unstructured(data, o) }
	if err != nil {
		require.ErrorIs(t, err, ErrGiveUp)
		sameShared(t, data, o, nil, shared)
		return false
	}
	sameShared(t, data, o, ours, shared)
	wanted, kind, err := codec.Decode(data, nil, nil)
	require.NoError(t, err, "client-go refuses %q", data)
	object := wanted.(*unstructured.Unstructured)
	require.Equal(t, object.GroupVersionKind(), *kind, "client-go takes %q for that", data)
	if !reflect.DeepEqual(object.Object, ours) {
		require.Equal(t, object.Object, ours, "of %q", data)
		require.Fail(t, "not deeply equal", "%q", data)
	}
	return true
}

// TestItems: items of lists get the kind of the list if they have none, and what client-go makes
// of them otherwise.
func TestItems(t *testing.T) {
	for item, decoded := range map[string]bool{
		`{"metadata":{"name":"a"}}`:                      true,
		`{"kind":"A","apiVersion":"v1","items":[1.0,2]}`: true,
		`{"kind":"A"}`:                    false,
		`{"apiVersion":"v1"}`:             false,
		`{"kind":"","apiVersion":""}`:     false,
		`{"kind":null,"apiVersion":null}`: false,
		`null`:                            false,
		`{}x`:                             false,
	} {
		ours, err := UnstructuredItem([]byte(item), "Widget", "example.com/v1", Options{})
		require.Equal(t, decoded, err == nil, item)
		if !decoded {
			continue
		}
		list := []byte(`{"kind":"WidgetList","apiVersion":"example.com/v1","items":[` + item + `]}`)
		wanted, _, err := unstructured.UnstructuredJSONScheme.Decode(list, nil, nil)
		require.NoError(t, err)
		require.Equal(t, wanted.(*unstructured.UnstructuredList).Items[0].Object, ours)
	}
}

// TestErrors: the one error says why and where, and nothing of the data.
func TestErrors(t *testing.T) {
	type object struct{ Name string }
	for data, wanted := range map[string]string{
		`{"Name":12}`:              "decode: given up at byte 8: not a string",
		`null`:                     "decode: given up at byte 0: not an object",
		`[]`:                       "decode: given up at byte 0: not an object",
		`{"Name":"a"} x`:           "decode: given up at byte 13: something behind the value",
		`{"Name":"a","Name":"b"}`:  "decode: given up at byte 19: a member twice",
		`{"Name":"a",}`:            "decode: given up at byte 12: no name of a member",
		`{"Other":{"a":[1,2,+3]}}`: "decode: given up at byte 19: not a value",
	} {
		_, err := read(t, reflect.TypeFor[object](), []byte(data), Options{})
		require.EqualError(t, err, wanted, data)
		require.True(t, errors.Is(err, ErrGiveUp))
	}
	plan := planOf(t, reflect.TypeFor[object]())
	for _, into := range []any{nil, object{}, (*object)(nil), new(string), new(*object)} {
		require.ErrorIs(t, plan.JSON([]byte("{}"), into, Options{}), ErrGiveUp)
	}
}
