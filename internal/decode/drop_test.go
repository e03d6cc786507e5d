// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"
)

func TestDropOf(t *testing.T) {
	const applied = "kubectl.kubernetes.io/last-applied-configuration"
	for _, tc := range []struct {
		paths, refused []string
		drop           *Drop
	}{
		{},
		{paths: []string{"metadata.managedFields"}, drop: &Drop{managedFields: true}},
		{paths: []string{"metadata.annotations[" + applied + "]", "metadata.annotations[A]"}, drop: &Drop{annotations: []string{applied, "A"}}},
		{paths: []string{"metadata.managedFields", "spec", "metadata.annotations[a]", "metadata.labels[a]"},
			drop: &Drop{managedFields: true, annotations: []string{"a"}}, refused: []string{"spec", "metadata.labels[a]"}},
	} {
		drop, refused := DropOf(tc.paths)
		assert.Equal(t, tc.drop, drop)
		assert.Equal(t, tc.refused, refused)
	}
	for _, path := range []string{
		"", "metadata", "metadata.managedfields", " metadata.managedFields", "metadata.managedFields[0]", "metadata.annotations", "metadata.annotations[]",
		"metadata.annotations.a", "metadata.annotations[a", "metadata.annotations['a']", "metadata.annotations[a]]", "metadata.annotations[a/b/c]",
		"metadata.annotations[k8s.io/initial-events-end]", "spec.template.metadata.annotations[a]", "metadata.annotations[a].b",
	} {
		drop, refused := DropOf([]string{path})
		assert.Nil(t, drop, path)
		assert.Equal(t, []string{path}, refused)
	}
}

// trimmed is Trim for what the decoders return.
func (w *Drop) trimmed(decoded any) {
	if content, ok := decoded.(map[string]any); ok {
		decoded = &unstructured.Unstructured{Object: content}
	}
	w.Trim(decoded)
}

// dropFor chooses some of what an object has.
func dropFor(decoded any, n int) *Drop {
	keys := []string{"key-3", "key-7"}
	if content, ok := decoded.(map[string]any); ok {
		decoded = &unstructured.Unstructured{Object: content}
	}
	if object, err := meta.Accessor(decoded); err == nil {
		for key := range object.GetAnnotations() {
			if (len(key)+n)%3 > 0 {
				keys = append(keys, key)
			}
		}
	}
	return NewDrop(n%4 > 0, keys...)
}

// sameDropped fails the test unless decode makes of data, with something dropped, what it makes of
// it without, trimmed: with parts that are shared and not. Nothing of that gets into other objects.
func sameDropped(t testing.TB, data []byte, o Options, wanted any, decode func([]byte, Options) (any, error)) {
	t.Helper()
	whole, wholeErr := decode(bytes.Clone(data), Options{Intern: o.Intern})
	dropping := o
	dropping.Drop = dropFor(whole, len(data))
	dropping.Drop.trimmed(whole)
	for i := range 4 {
		if dropping.Share = nil; i > 0 {
			dropping.Share = o.Share
		}
		copied := bytes.Clone(data)
		got, err := decode(copied, dropping)
		overwrite(copied)
		if wholeErr == nil { // else what is wrong may be in what is dropped
			isWanted(t, data, whole, got, err)
		}
	}
	if wanted != nil {
		got, err := decode(bytes.Clone(data), o)
		isWanted(t, data, wanted, got, err)
	}
}

// eachDecoder runs a test on an object, given as JSON, by all decoders that take its type T, which
// has a kind Deployment for the untyped one, with parts that are shared and not.
func eachDecoder[T any](t *testing.T, data string, drop *Drop, test func(t *testing.T, name string, got any)) {
	t.Helper()
	for _, share := range []*Sharing{nil, NewSharing(NewParts(0))} {
		o := Options{Intern: NewIntern(0), Share: share, Drop: drop}
		for range 4 {
			typed := new(T)
			require.NoError(t, planOf(t, reflect.TypeFor[T]()).JSON([]byte(data), typed, o), data)
			test(t, "json", typed)
			content, err := Unstructured([]byte(strings.Replace(data, `{`, `{"kind":"Deployment","apiVersion":"apps/v1",`, 1)), o)
			require.NoError(t, err, data)
			test(t, "unstructured", content)
			written := new(T)
			require.NoError(t, json.Unmarshal([]byte(data), written))
			m, ok := any(written).(message)
			if !ok {
				continue
			}
			wire, err := m.Marshal()
			require.NoError(t, err)
			typed = new(T)
			require.NoError(t, planOf(t, reflect.TypeFor[T]()).Protobuf(wire, typed, o), data)
			test(t, "protobuf", typed)
		}
	}
}

// TestDroppedAtItsDepth: nothing of a template is left out, although it is written as what is left
// out of the object.
func TestDroppedAtItsDepth(t *testing.T) {
	const metadata = `{"name":"a","annotations":{"dropped":"some text of an annotation","kept":"some more text"},"managedFields":[{"manager":"some manager"},{"manager":"another manager"}]}`
	const data = `{"metadata":` + metadata + `,"spec":{"template":{"metadata":` + metadata + `}}}`
	var whole metav1.ObjectMeta
	require.NoError(t, json.Unmarshal([]byte(metadata), &whole))
	less := *whole.DeepCopy()
	delete(less.Annotations, "dropped")
	less.ManagedFields = nil
	drop := NewDrop(true, "dropped")
	eachDecoder[appsv1.Deployment](t, data, drop, func(t *testing.T, name string, got any) {
		var d appsv1.Deployment
		if content, ok := got.(map[string]any); ok {
			require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(content, &d))
		} else {
			d = *got.(*appsv1.Deployment)
		}
		assert.Equal(t, less, d.ObjectMeta, name)
		assert.Equal(t, whole, d.Spec.Template.ObjectMeta, name)
	})
}

// tree is a type of objects that contain each other.
type tree struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`

	Children []tree `json:"children"`
	Next     *tree  `json:"next"`
	Metadata struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	} `json:"other"`
}

// TestDroppedOfTheTopmost: only the topmost of objects that contain each other is a whole one.
func TestDroppedOfTheTopmost(t *testing.T) {
	const metadata = `"metadata":{"annotations":{"dropped":"some text of an annotation"},"managedFields":[{"manager":"some manager"}]}`
	const data = `{` + metadata + `,"children":[{` + metadata + `}],"next":{` + metadata + `},"other":{` + metadata + `}}`
	eachDecoder[tree](t, data, NewDrop(true, "dropped"), func(t *testing.T, name string, got any) {
		text, err := json.Marshal(got)
		require.NoError(t, err)
		assert.Equal(t, 3, strings.Count(string(text), `"dropped":"some text of an annotation"`), "%s: %s", name, text)
		assert.Equal(t, 3, strings.Count(string(text), `some manager`), "%s: %s", name, text)
	})
}

// TestDroppedForms: what is left of metadata in odd forms is what is left by Trim.
func TestDroppedForms(t *testing.T) {
	for data, kept := range map[string]string{
		`{"metadata":{"annotations":{}}}`:                                        `{}`,
		`{"metadata":{"annotations":null}}`:                                      `none`,
		`{"metadata":{"annotations":{"a":"1"}}}`:                                 `none`,
		`{"metadata":{"annotations":{ "a" : "1" , "b" : "2" }}}`:                 `none`,
		`{"metadata":{"annotations":{"c":"3"}}}`:                                 `{"c":"3"}`,
		`{"metadata":{"annotations":{"a":"1","c":"3"}}}`:                         `{"c":"3"}`,
		`{"metadata":{"annotations":{"c":"3","a":"1"}}}`:                         `{"c":"3"}`,
		`{"metadata":{"annotations":{"c":"3","\u0061":"1","a":"2"}}}`:            `{"c":"3"}`,
		`{"metadata":{"annotations":{"c":"3","A":"1","a ":"2","":"4"}}}`:         `{"":"4","A":"1","a ":"2","c":"3"}`,
		`{"metadata":{"annotations":{"a":null,"c":"3"}}}`:                        `{"c":"3"}`,
		`{"metadata":{"managedFields":null,"annotations":{"c":"3"}}}`:            `{"c":"3"}`,
		`{"metadata":{"managedFields":[],"annotations":{"c":"3"}}}`:              `{"c":"3"}`,
		`{"metadata":{"m\u0061nagedFields":[{}],"\u0061nnotations":{"a":"1"}}}`:  `none`,
		`{"metadata":{"annotations":{"a":"\ud83d\ude00 \"{[\" ","c":"3"}}}`:      `{"c":"3"}`,
		`{"annotations":{"a":"1"},"metadata":{"labels":{"a":"1"}}}`:              `none`,
		`{"metadata":{"annotations":{"c":"3"},"other":{"annotations":{"a":1}}}}`: `{"c":"3"}`,
		`{"metadata":null}`: `none`,
		`{"spec":{}}`:       `none`,
	} {
		drop := NewDrop(true, "a", "b", "a")
		for _, decoded := range []any{new(corev1.Pod), map[string]any{}} {
			whole, got := decodedAs(t, decoded, data, nil), decodedAs(t, decoded, data, drop)
			drop.trimmed(whole)
			assert.Equal(t, whole, got, data)
		}
		eachDecoder[corev1.Pod](t, data, drop, func(t *testing.T, name string, got any) {
			if pod, ok := got.(*corev1.Pod); ok {
				assert.Nil(t, pod.ManagedFields)
				if name == "protobuf" && kept == "{}" {
					assert.Nil(t, pod.Annotations, "of an empty map nothing is written")
					return
				}
				assert.Equal(t, kept, textOf(pod.Annotations, pod.Annotations != nil), "%s: %s", name, data)
				return
			}
			metadata, _ := got.(map[string]any)["metadata"].(map[string]any)
			annotations, has := metadata["annotations"]
			assert.NotContains(t, metadata, "managedFields")
			assert.Equal(t, kept, textOf(annotations, has && annotations != nil), "%s: %s", name, data)
		})
	}
}

func textOf(v any, is bool) string {
	if !is {
		return "none"
	}
	text, _ := json.Marshal(v)
	return string(text)
}

// decodedAs decodes JSON as like is.
func decodedAs(t *testing.T, like any, data string, drop *Drop) any {
	t.Helper()
	if _, untyped := like.(map[string]any); untyped {
		content, err := UnstructuredItem([]byte(data), "Pod", "v1", Options{Drop: drop})
		require.NoError(t, err, data)
		return content
	}
	made := reflect.New(reflect.TypeOf(like).Elem()).Interface()
	require.NoError(t, planOf(t, reflect.TypeOf(like).Elem()).JSON([]byte(data), made, Options{Drop: drop}), data)
	return made
}

// TestDroppedTwice: of annotations that stand there twice the last ones count, which may be none.
func TestDroppedTwice(t *testing.T) {
	for data, annotations := range map[string]any{
		`{"annotations":{"c":"3"},"annotations":{"a":"1"}}`: nil,
		`{"annotations":{"a":"1"},"annotations":{"c":"3"}}`: map[string]any{"c": "3"},
		`{"annotations":{"a":"1"},"annotations":7}`:         int64(7),
		`{"annotations":{"c":3,"a":{"b":[null]}}}`:          map[string]any{"c": int64(3)},
		`{"annotations":["a"]}`:                             []any{"a"},
		`{"managedFields":"no","annotations":null}`:         nil,
	} {
		object := decodedAs(t, map[string]any{}, `{"metadata":`+data+`}`, NewDrop(true, "a")).(map[string]any)
		assert.Equal(t, annotations, object["metadata"].(map[string]any)["annotations"], data)
	}
	for _, odd := range []string{`"text"`, `[{"annotations":{"a":1},"managedFields":1}]`, `null`, `1.5`} {
		object := decodedAs(t, map[string]any{}, `{"metadata":`+odd+`}`, NewDrop(true, "a")).(map[string]any)
		assert.Equal(t, odd, textOf(object["metadata"], true))
	}
}

// TestDroppedIsChecked as what no field takes.
func TestDroppedIsChecked(t *testing.T) {
	drop := NewDrop(true, "a")
	deep := strings.Repeat("[", deepest) + strings.Repeat("]", deepest)
	for _, bad := range []string{`[`, `{"x":}`, `tru`, `"`, "\"\x01\"", `01`, `{"x" 1}`, `[1,]`, ``, `"\x"`, deep} {
		for _, form := range []string{`{"metadata":{"managedFields":%s}}`, `{"metadata":{"annotations":{"a":%s}}}`, `{"metadata":{"annotations":{"a":%s,"c":"3"}}}`} {
			data := fmt.Appendf(nil, form, bad)
			assert.ErrorIs(t, planOf(t, reflect.TypeFor[corev1.Pod]()).JSON(data, new(corev1.Pod), Options{Drop: drop}), ErrGiveUp, "%s", data)
			_, err := UnstructuredItem(data, "Pod", "v1", Options{Drop: drop})
			assert.ErrorIs(t, err, ErrGiveUp, "%s", data)
		}
	}
	twice := []byte(`{"metadata":{"managedFields":[],"managedFields":[]}}`)
	assert.ErrorIs(t, planOf(t, reflect.TypeFor[corev1.Pod]()).JSON(twice, new(corev1.Pod), Options{Drop: drop}), ErrGiveUp)
	for _, bad := range [][]byte{
		{0x0a, 0x04, 0x8a, 0x01, 0x05, 0x00},                         // managed fields beyond the end
		{0x0a, 0x05, 0x8a, 0x01, 0x00, 0x8a, 0x01},                   // and without a length
		{0x0a, 0x0a, 0x8a, 0x01, 0x00, 0x10, 0x01, 0x8a, 0x01, 0x00}, // in two pieces
		{0x0a, 0x05, 0x62, 0x03, 0x0a, 0x01, 'a'},                    // an annotation without a value
		{0x0a, 0x07, 0x62, 0x05, 0x0a, 0x01, 'a', 0x12, 0x01},        // and with one beyond the end
	} {
		assert.ErrorIs(t, planOf(t, reflect.TypeFor[corev1.Pod]()).Protobuf(bad, new(corev1.Pod), Options{Drop: drop}), ErrGiveUp, "%x", bad)
	}
}

// TestDroppedFirst: what follows managed fields in a message is read.
func TestDroppedFirst(t *testing.T) {
	pod, data := new(corev1.Pod), []byte{0x0a, 0x09, 0x8a, 0x01, 0x00, 0x8a, 0x01, 0x00, 0x0a, 0x01, 'a'}
	require.NoError(t, planOf(t, reflect.TypeFor[corev1.Pod]()).Protobuf(data, pod, Options{Drop: NewDrop(true)}))
	assert.Equal(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, pod)
}

// TestDroppedAndShared: annotations of which some are left out are one part, which is another one
// for each Drop, and for no Drop.
func TestDroppedAndShared(t *testing.T) {
	const data = `{"metadata":{"annotations":{"dropped":"some text of an annotation","kept":"some more text"}}}`
	plan, whole := planOf(t, reflect.TypeFor[corev1.Pod]()), new(corev1.Pod)
	require.NoError(t, json.Unmarshal([]byte(data), whole))
	wire, err := whole.Marshal()
	require.NoError(t, err)
	for _, decode := range []func(*corev1.Pod, Options) error{
		func(pod *corev1.Pod, o Options) error { return plan.JSON([]byte(data), pod, o) },
		func(pod *corev1.Pod, o Options) error { return plan.Protobuf(wire, pod, o) },
	} {
		droppedAndShared(t, decode)
	}
}

func droppedAndShared(t *testing.T, decode func(*corev1.Pod, Options) error) {
	share, drops := NewSharing(NewParts(0)), []*Drop{nil, NewDrop(true, "dropped"), NewDrop(false, "kept"), NewDrop(true)}
	for range 4 {
		var last, before any
		for _, drop := range drops {
			for range 3 {
				pod := new(corev1.Pod)
				require.NoError(t, decode(pod, Options{Share: share, Drop: drop}))
				for key := range map[string]bool{"dropped": true, "kept": true} {
					assert.Equal(t, drop == nil || !slices.Contains(drop.annotations, key), pod.Annotations[key] != "", key)
				}
				before, last = last, pod.Annotations
			}
			assert.Equal(t, reflect.ValueOf(before).UnsafePointer(), reflect.ValueOf(last).UnsafePointer(), "%+v", drop)
		}
	}
}

// linked has its metadata behind a pointer.
type linked struct {
	metav1.TypeMeta    `json:",inline"`
	*metav1.ObjectMeta `json:"metadata"`
}

// TestTrimLeavesParts: what is below the top of an object is not written to.
func TestTrimLeavesParts(t *testing.T) {
	const data = `{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"a","annotations":{"dropped":"some text of an annotation","kept":"some more text"},"managedFields":[{"manager":"some manager"}]}}`
	o := Options{Share: NewSharing(NewParts(0))}
	var typed, behind, untyped []any
	for range 5 {
		pod, link := new(corev1.Pod), new(linked)
		require.NoError(t, planOf(t, reflect.TypeFor[corev1.Pod]()).JSON([]byte(data), pod, o))
		require.NoError(t, planOf(t, reflect.TypeFor[linked]()).JSON([]byte(data), link, o))
		content, err := Unstructured([]byte(data), o)
		require.NoError(t, err)
		typed, behind, untyped = append(typed, pod), append(behind, link), append(untyped, content)
	}
	for _, list := range [][]any{typed, behind, untyped} {
		text, err := json.Marshal(list[3])
		require.NoError(t, err)
		NewDrop(true, "dropped").trimmed(list[4])
		after, err := json.Marshal(list[3])
		require.NoError(t, err)
		assert.Equal(t, string(text), string(after))
		left, err := json.Marshal(list[4])
		require.NoError(t, err)
		assert.NotContains(t, string(left), "some text")
		assert.NotContains(t, string(left), "some manager")
		assert.Contains(t, string(left), "some more text")
	}
}

// TestTrimOfOthers: what is no object, or has none of it, stays as it is.
func TestTrimOfOthers(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{"a": "1"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}}}
	for _, obj := range []any{
		nil, 7, "text", (*corev1.Pod)(nil), (*unstructured.Unstructured)(nil), &unstructured.Unstructured{}, &corev1.PodList{Items: []corev1.Pod{*pod}},
		clientgo.DeletedFinalStateUnknown{Key: "a", Obj: pod}, &metav1.Status{}, *pod, &unstructured.Unstructured{Object: map[string]any{"metadata": "no"}},
		&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"annotations": 7, "name": "a"}}},
		&unstructured.UnstructuredList{Items: []unstructured.Unstructured{{Object: map[string]any{"metadata": map[string]any{"managedFields": 1}}}}},
	} {
		before := fmt.Sprintf("%+v", obj)
		NewDrop(true, "a").Trim(obj)
		assert.Equal(t, before, fmt.Sprintf("%+v", obj))
	}
	(*Drop)(nil).Trim(pod)
	assert.Len(t, pod.Annotations, 1)
	annotations := pod.Annotations
	NewDrop(false, "b").Trim(pod)
	assert.Equal(t, reflect.ValueOf(annotations).UnsafePointer(), reflect.ValueOf(pod.Annotations).UnsafePointer())
	assert.Len(t, pod.ManagedFields, 1)
	NewDrop(true, "a", "b").Trim(pod)
	assert.Equal(t, &corev1.Pod{}, pod)
	assert.Equal(t, map[string]string{"a": "1"}, annotations)
}

// TestDroppedUntyped: the metadata of an unstructured object of which something is dropped is not
// that of one of which nothing is, in either order.
func TestDroppedUntyped(t *testing.T) {
	const data = `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a","managedFields":[{"manager":"some manager"}]}}`
	share := NewSharing(NewParts(0))
	for range 4 {
		for _, drop := range []*Drop{nil, NewDrop(true)} {
			for range 3 {
				content, err := Unstructured([]byte(data), Options{Share: share, Drop: drop})
				require.NoError(t, err)
				assert.Len(t, content["metadata"], map[bool]int{true: 2, false: 1}[drop == nil])
			}
		}
	}
}
