// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/testkit"
)

// raws returns the bytes of all parts.
func raws(t *Parts) (list [][]byte) {
	for raw := range t.All() {
		list = append(list, raw)
	}
	return list
}

// twoOf decodes an object n times with one table and returns the last two results.
func twoOf[T any](t *testing.T, table *Parts, data []byte, n int) (a, b *T) {
	t.Helper()
	o := Options{Intern: NewIntern(0), Share: NewSharing(table)}
	for range n {
		a, b = b, new(T)
		require.NoError(t, planOf(t, reflect.TypeFor[T]()).JSON(data, b, o))
	}
	return a, b
}

// twoMessages is twoOf for protobuf.
func twoMessages[T any](t *testing.T, table *Parts, data []byte, n int) (a, b *T) {
	t.Helper()
	o := Options{Intern: NewIntern(0), Share: NewSharing(table)}
	for range n {
		a, b = b, new(T)
		require.NoError(t, planOf(t, reflect.TypeFor[T]()).Protobuf(data, b, o))
	}
	return a, b
}

// podOfParts has a part of each kind.
const podOfParts = `{
	"metadata":{"name":"a","labels":{"app":"some application","tier":"one of several"},"managedFields":[{"manager":"kubelet","fieldsV1":{"f:status":{"f:conditions":{}}}}]},
	"spec":{
		"containers":[{"name":"a","command":["some","command","of","texts"],"resources":{"limits":{"cpu":"100m","memory":"1Gi"}},"securityContext":{"runAsUser":1000,"privileged":false}}],
		"volumes":[{"name":"plain","hostPath":{"path":"/some/path/on/the/host"}}]}}`

// inOneOfFour reports whether is returns true for one of four new tables. The slots of an entry are
// random: about once in a hundred tables of a few entries, three entries have one pair of slots and
// one of them stays out.
func inOneOfFour(is func() bool) bool {
	for range 4 {
		if is() {
			return true
		}
	}
	return false
}

// partsAreOne reports whether two pods share their parts. It asserts that the pods are equal.
func partsAreOne(t *testing.T, a, b *corev1.Pod) bool {
	t.Helper()
	assert.Equal(t, a, b)
	assert.NotSame(t, a, b)
	assert.Equal(t, len(a.Spec.Containers), cap(a.Spec.Containers))
	assert.Equal(t, len(a.Spec.Containers[0].Command), cap(a.Spec.Containers[0].Command))
	same := func(a, b any) bool { return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer() }
	return same(a.Labels, b.Labels) && same(a.ManagedFields, b.ManagedFields) &&
		same(a.Spec.Containers, b.Spec.Containers) && same(a.Spec.Volumes, b.Spec.Volumes)
}

// TestShared checks that equal parts are shared from the third decoding on.
func TestShared(t *testing.T) {
	assert.True(t, inOneOfFour(func() bool {
		a, b := twoOf[corev1.Pod](t, NewParts(0), []byte(podOfParts), 4)
		return partsAreOne(t, a, b)
	}), "JSON")
	var pod corev1.Pod
	require.NoError(t, json.Unmarshal([]byte(podOfParts), &pod))
	data, err := pod.Marshal()
	require.NoError(t, err)
	assert.True(t, inOneOfFour(func() bool {
		a, b := twoMessages[corev1.Pod](t, NewParts(0), data, 4)
		return partsAreOne(t, a, b)
	}), "protobuf")
}

// TestSharedDocuments checks the same for unstructured objects. The metadata and the object, which
// differ, are not shared.
func TestSharedDocuments(t *testing.T) {
	table := NewParts(0)
	var spec []map[string]any
	for i := range 4 {
		data := fmt.Sprintf(`{"apiVersion":"a/v1","kind":"A","metadata":{"name":"a-%d"},"spec":{"some":["list",{"of":"values"}]}}`, i)
		object, err := Unstructured([]byte(data), Options{Share: NewSharing(table)})
		require.NoError(t, err)
		assert.Equal(t, fmt.Sprintf("a-%d", i), object["metadata"].(map[string]any)["name"])
		spec = append(spec, object["spec"].(map[string]any))
	}
	assert.Equal(t, spec[0], spec[3])
	assert.Equal(t, reflect.ValueOf(spec[2]).UnsafePointer(), reflect.ValueOf(spec[3]).UnsafePointer())
	assert.NotEqual(t, reflect.ValueOf(spec[0]).UnsafePointer(), reflect.ValueOf(spec[3]).UnsafePointer())
}

// TestPartsMutatedOnRead checks that values which a read may modify, and values that contain them,
// are not shared. As elements of a map they are.
func TestPartsMutatedOnRead(t *testing.T) {
	const pod = `{"spec":{
		"containers":[{"name":"a","env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}}],"resources":{"limits":{"memory":"1Gi","cpu":"100m"}}}],
		"volumes":[{"name":"v","emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}}]}}`
	check := func(a, b *corev1.Pod) {
		assert.Equal(t, a, b)
		assert.NotSame(t, &a.Spec.Containers[0], &b.Spec.Containers[0])
		assert.NotSame(t, a.Spec.Containers[0].Env[0].ValueFrom.ResourceFieldRef, b.Spec.Containers[0].Env[0].ValueFrom.ResourceFieldRef)
		assert.NotSame(t, &a.Spec.Volumes[0], &b.Spec.Volumes[0])
		assert.NotSame(t, a.Spec.Volumes[0].EmptyDir.SizeLimit, b.Spec.Volumes[0].EmptyDir.SizeLimit)
		limits := func(p *corev1.Pod) any { return p.Spec.Containers[0].Resources.Limits }
		assert.Equal(t, reflect.ValueOf(limits(a)).UnsafePointer(), reflect.ValueOf(limits(b)).UnsafePointer())
	}
	check(twoOf[corev1.Pod](t, NewParts(0), []byte(pod), 5))
	var object corev1.Pod
	require.NoError(t, json.Unmarshal([]byte(pod), &object))
	data, err := object.Marshal()
	require.NoError(t, err)
	check(twoMessages[corev1.Pod](t, NewParts(0), data, 5))
	none := []byte(`{"spec":{"containers":[{"name":"a","env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}]}}`)
	a, b := twoOf[corev1.Pod](t, NewParts(0), none, 5)
	assert.NotSame(t, &a.Spec.Containers[0], &b.Spec.Containers[0], "zero is written to as well")
}

// walk calls f for v and for all values in it.
func walk(v reflect.Value, f func(reflect.Value)) {
	f(v)
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), f)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(v.Index(i), f)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			walk(v.MapIndex(key), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				walk(v.Field(i), f)
			}
		}
	}
}

// tableOfEverything returns a table with parts of objects of all kinds, in all encodings.
func tableOfEverything(t *testing.T) *Parts {
	table := NewParts(64 << 20)
	fill, o := newFiller(1), Options{Checks: true}
	begin := func() {
		o.Share = NewSharing(table).Report(func(w *Written) { require.Nil(t, w, "nobody has written to a part") })
	}
	begin()
	for _, kind := range kinds() {
		object := reflect.New(kind).Interface()
		fill.Fill(object)
		data, err := json.Marshal(object)
		require.NoError(t, err)
		for range 3 {
			begin()
			require.NoError(t, planOf(t, kind).JSON(data, reflect.New(kind).Interface(), o))
			_, _ = Unstructured(asObject(kind, data), o)
			if m, ok := object.(message); ok {
				written, err := m.Marshal()
				require.NoError(t, err)
				require.NoError(t, planOf(t, kind).Protobuf(written, reflect.New(kind).Interface(), o))
			}
		}
	}
	for _, data := range []string{`{"bytes":["YQ==","YWI=","YWJj"],"extension":{"a":[1,2,3]},"fields":{"f:a":{"f:b":{}}}}`} {
		type odd struct {
			Inner *struct {
				Bytes     [][]byte                   `json:"bytes"`
				Extension *struct{ metav1.TypeMeta } `json:"extension"`
				Fields    *metav1.FieldsV1           `json:"fields"`
				Empty     []string                   `json:"empty"`
			}
		}
		for range 3 {
			require.NoError(t, planOf(t, reflect.TypeFor[odd]()).JSON([]byte(`{"Inner":`+data+`}`), new(odd), o))
		}
	}
	data, err := (&corev1.ConfigMap{BinaryData: map[string][]byte{"some bytes": []byte("123456789")}}).Marshal()
	require.NoError(t, err)
	twoMessages[corev1.ConfigMap](t, table, data, 3)
	return table
}

// TestListsOfPartsAreFull checks that no list in a part has spare capacity, so that append copies
// it, and that no part contains an addressable Quantity.
func TestListsOfPartsAreFull(t *testing.T) {
	testkit.AtNight(t)
	table, parts, lists := tableOfEverything(t), 0, 0
	for _, v := range table.All() {
		parts++
		walk(v, func(v reflect.Value) {
			if v.Kind() == reflect.Slice {
				lists++
				require.Equal(t, v.Len(), v.Cap(), "a %v in a part", v.Type())
			}
			require.False(t, v.CanAddr() && v.Type() == reflect.TypeFor[resource.Quantity](), "a Quantity that can be written to")
		})
	}
	assert.Greater(t, parts, 2000)
	assert.Greater(t, lists, 2000)
}

// loose contains types whose zero values a read may modify.
type loose struct {
	Part *struct {
		Text   string                        `json:"text"`
		Absent struct{ Q resource.Quantity } `json:"absent"`
	} `json:"part"`
	List    []resource.Quantity             `json:"list"`
	Structs []struct{ Q resource.Quantity } `json:"structs"`
	Own     []ownLoose                      `json:"own"`
	Inside  *struct {
		Text string   `json:"text"`
		Own  ownLoose `json:"own"`
	} `json:"inside"`
	Plain *struct {
		Text string `json:"text"`
	} `json:"plain"`
}

// ownLoose decodes itself, so a read may modify it.
type ownLoose struct{ Text string }

func (o *ownLoose) UnmarshalText(text []byte) error {
	o.Text = string(text)
	return nil
}

// TestZeroMutatesOnRead checks that values which a read may modify are not shared even if they are
// zero because the document has no value for them.
func TestZeroMutatesOnRead(t *testing.T) {
	data := []byte(`{"part":{"text":"a text of some length"},"list":[null,null,null,null],"structs":[null,null,null,null],
		"own":[null,null,null,null],"inside":{"text":"a text of some length"},"plain":{"text":"a text of some length"}}`)
	a, b := twoOf[loose](t, NewParts(0), data, 4)
	assert.Equal(t, a, b)
	assert.NotSame(t, a.Part, b.Part)
	assert.NotSame(t, &a.List[0], &b.List[0])
	assert.NotSame(t, &a.Structs[0], &b.Structs[0])
	assert.NotSame(t, &a.Own[0], &b.Own[0])
	assert.NotSame(t, a.Inside, b.Inside)
	assert.Same(t, a.Plain, b.Plain)
}

// TestNilAndEmpty checks that shared parts distinguish [], {}, null and absent members.
func TestNilAndEmpty(t *testing.T) {
	for _, part := range []string{`null`, `[]`, `[null]`, `[null,""]`, `["",null]`} {
		data := []byte(`{"metadata":{"finalizers":` + part + `,"ownerReferences":[{"name":"some owner"}],"labels":{}},"spec":{"volumes":[{"name":"some volume","projected":{"sources":null}},{"name":"b","secret":{"items":[]}},{"name":"c","secret":{}},{"name":"d","secret":null}]}}`)
		require.True(t, sameJSON(t, reflect.TypeFor[corev1.Pod](), data, Options{}), part)
	}
	table := NewParts(0)
	empty, null := `{"metadata":{"a":[],"b":{},"c":"some text"}`, `{"metadata":{"a":null,"b":null,"c":"some text"}`
	for range 4 {
		for _, data := range []string{empty, null} {
			got, err := Unstructured([]byte(data+`,"kind":"A","apiVersion":"v1"}`), Options{Share: NewSharing(table)})
			require.NoError(t, err)
			assert.Equal(t, data == null, got["metadata"].(map[string]any)["a"] == nil)
			assert.Equal(t, data == null, got["metadata"].(map[string]any)["b"] == nil)
		}
	}
	assert.NotZero(t, table.Status().Hits)
}

const base64OfHidden = "aHVudGVyMiBodW50ZXIy" // twice hunter2

// secretsEverywhere are objects that contain secrets.
var secretsEverywhere = map[string]string{
	"secret":            `{"apiVersion":"v1","kind":"Secret","type":"` + base64OfHidden + `","metadata":{"labels":{"app":"some application"},"annotations":{"of/someone":"{\"data\":{\"a\":\"` + base64OfHidden + `\"}}"}},"data":{"a":"` + base64OfHidden + `","b":"eA=="},"stringData":{"a":"` + base64OfHidden + `"}}`,
	"list":              `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","data":{"a":"` + base64OfHidden + `"},"kind":"Secret"}]}`,
	"manifests":         `{"apiVersion":"a/v1","kind":"A","spec":{"manifests":[{"apiVersion":"v1","data":{"a":"` + base64OfHidden + `"},"kind":"Secret"}]}}`,
	"template":          `{"apiVersion":"a/v1","kind":"A","spec":{"template":{"stringData":{"a":"` + base64OfHidden + `"},"type":"Opaque"}}}`,
	"last applied":      `{"apiVersion":"a/v1","kind":"A","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"` + base64OfHidden + `\"}}"}}}`,
	"last applied else": `{"apiVersion":"a/v1","kind":"A","metadata":{"annotations":{"banzaicloud.com/last-applied":"{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"data\":{\"a\":\"` + base64OfHidden + `\"}}"}}}`,
}

// secretsWithin is a type that contains secrets.
type secretsWithin struct {
	List    []corev1.Secret          `json:"list"`
	Map     map[string]corev1.Secret `json:"map"`
	Pointer *corev1.Secret           `json:"pointer"`
	Deep    *struct {
		Text string
		List []*corev1.Secret
	} `json:"deep"`
	Document map[string]any `json:"document"`
}

// TestNoSecretsInTables checks that no table contains data of a secret, wherever the secret is: in
// objects, documents, lists, or annotations that contain whole objects.
func TestNoSecretsInTables(t *testing.T) {
	table, texts := NewParts(0), NewIntern(0)
	share := func() Options { return Options{Intern: texts, Share: NewSharing(table)} }
	for name, data := range secretsEverywhere {
		for range 4 {
			_, err := Unstructured([]byte(data), share())
			assert.Equal(t, name != "list", err == nil, name)
			_, err = UnstructuredItem([]byte(data), "Secret", "v1", share())
			require.NoError(t, err)
		}
	}
	noKind := `{"metadata":{"annotations":{"of/someone":"` + base64OfHidden + `"}},"data":{"a":"` + base64OfHidden + `"}}`
	secret := secretsEverywhere["secret"]
	within := fmt.Sprintf(`{"list":[%[1]s],"map":{"a":%[1]s},"pointer":%[1]s,"deep":{"Text":"text","List":[%[1]s]},"document":{"a":[%[1]s]}}`, secret)
	within = strings.ReplaceAll(within, `"document":{"a":[`+secret, `"document":{"a":[`+secretsEverywhere["manifests"])
	for range 4 {
		_, err := UnstructuredItem([]byte(noKind), "Secret", "v1", share())
		require.NoError(t, err)
		require.NoError(t, planOf(t, reflect.TypeFor[secretsWithin]()).JSON([]byte(within), new(secretsWithin), share()))
		require.NoError(t, planOf(t, reflect.TypeFor[corev1.SecretList]()).JSON([]byte(`{"items":[`+secret+`]}`), new(corev1.SecretList), share()))
	}
	applied := []byte(strings.ReplaceAll(secret, "of/someone", "kubectl.kubernetes.io/last-applied-configuration"))
	var object corev1.Secret
	require.NoError(t, json.Unmarshal(applied, &object))
	one, err := object.Marshal()
	require.NoError(t, err)
	list, err := (&corev1.SecretList{Items: []corev1.Secret{object}}).Marshal()
	require.NoError(t, err)
	for range 4 {
		for _, of := range []reflect.Type{reflect.TypeFor[corev1.Secret](), reflect.TypeFor[metav1.PartialObjectMetadata]()} {
			parts := Options{Share: NewSharing(table)}
			require.NoError(t, planOf(t, of).JSON(applied, reflect.New(of).Interface(), parts))
			require.NoError(t, planOf(t, of).Protobuf(one, reflect.New(of).Interface(), parts))
		}
		require.NoError(t, planOf(t, reflect.TypeFor[corev1.SecretList]()).Protobuf(list, new(corev1.SecretList), share()))
	}
	assert.NotEmpty(t, raws(table), "labels are shared")
	for _, raw := range raws(table) {
		assert.NotContains(t, string(raw), base64OfHidden[:8])
		assert.NotContains(t, string(raw), "hunter2")
	}
	assert.NotEmpty(t, slices.Collect(texts.All()))
	for _, text := range slices.Collect(texts.All()) {
		assert.NotContains(t, text, base64OfHidden[:8])
	}
}

// TestDepthOfParts checks that documents with shared parts are subject to the limit of depth.
func TestDepthOfParts(t *testing.T) {
	table := NewParts(0)
	o := Options{Share: NewSharing(table)}
	const step = scan.Deepest - 10
	inner := ""
	for round := range 5 {
		inner = strings.Repeat("[", step) + inner + strings.Repeat("]", step)
		data := []byte(`{"apiVersion":"a/v1","kind":"A","spec":` + inner + `}`)
		for range 3 {
			_, err := Unstructured(data, o)
			assert.Equal(t, round == 0, err == nil, "round %d", round)
		}
	}
	data := []byte(`{"apiVersion":"a/v1","kind":"A","spec":` + strings.Repeat("[", scan.Deepest-1) + strings.Repeat("]", scan.Deepest-1) + `}`)
	for range 3 {
		_, err := Unstructured(data, o)
		assert.NoError(t, err)
	}
}

// allocated returns the number of bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestOpenBrackets checks that a document which is too deep takes no memory for its brackets.
func TestOpenBrackets(t *testing.T) {
	o := Options{Share: NewSharing(NewParts(0))}
	data := append([]byte(`{"a":`), bytes.Repeat([]byte("["), 4<<20)...)
	assert.Less(t, allocated(func() {
		_, err := Unstructured(data, o)
		assert.ErrorIs(t, err, ErrGiveUp)
	}), uint64(256<<10))
}

// TestRefusedPartsAreNotCopied checks that parts which cannot enter the table cost no memory.
func TestRefusedPartsAreNotCopied(t *testing.T) {
	long := strings.Repeat("x", 50_000)
	for _, data := range []string{
		`{"apiVersion":"a/v1","kind":"A","metadata":{"annotations":{"kubectl.kubernetes.io/last-applied-configuration":"` + long + `"}}}`,
		`{"apiVersion":"a/v1","kind":"A","spec":{"large":"` + long + `"}}`, // too large for a table of 64 KiB
		`{"apiVersion":"a/v1","kind":"A","spec":{"data":"` + long + `"}}`,
	} {
		shared, unshared := Options{Share: NewSharing(NewParts(0))}, Options{}
		decode := func(o Options) func() {
			return func() {
				for range 10 {
					_, err := Unstructured([]byte(data), o)
					assert.NoError(t, err)
				}
			}
		}
		decode(shared)()
		assert.Less(t, allocated(decode(shared)), allocated(decode(unshared))+50_000)
	}
}

// TestRunsInTwo checks that a list whose fields are not consecutive is given up, even if its parts
// are in the table. Unmarshal would append to the list.
func TestRunsInTwo(t *testing.T) {
	first := &corev1.PodSpec{Containers: []corev1.Container{{Name: "the first container"}}, Hostname: "h"}
	second := &corev1.PodSpec{Containers: []corev1.Container{{Name: "the second container"}}}
	a, err := first.Marshal()
	require.NoError(t, err)
	b, err := second.Marshal()
	require.NoError(t, err)
	table := NewParts(0)
	twoMessages[corev1.PodSpec](t, table, a, 3)
	twoMessages[corev1.PodSpec](t, table, b, 3)
	var whole corev1.PodSpec
	both := append(bytes.Clone(a), b...)
	require.NoError(t, whole.Unmarshal(both))
	require.Len(t, whole.Containers, 2)
	o := Options{Share: NewSharing(table)}
	require.ErrorIs(t, planOf(t, reflect.TypeFor[corev1.PodSpec]()).Protobuf(both, new(corev1.PodSpec), o), ErrGiveUp)
	assert.False(t, sameProtobuf(t, reflect.TypeFor[corev1.PodSpec](), both, Options{}))
}

// writer modifies a part of a decoded object.
type writer struct {
	name   string
	decode func(Options) any // returns the same object each time
	write  func(any)
	in     string
	of     string // type of the part
}

func writersOf(t *testing.T) []writer {
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	var object corev1.Pod
	require.NoError(t, json.Unmarshal([]byte(podOfParts), &object))
	data, err := object.Marshal()
	require.NoError(t, err)
	fromJSON := func(o Options) any {
		pod := new(corev1.Pod)
		require.NoError(t, plan.JSON([]byte(podOfParts), pod, o))
		return pod
	}
	fromWire := func(o Options) any {
		pod := new(corev1.Pod)
		require.NoError(t, plan.Protobuf(data, pod, o))
		return pod
	}
	document := func(o Options) any {
		v, err := Unstructured([]byte(`{"kind":"A","apiVersion":"a/v1",`+podOfParts[1:]), o)
		require.NoError(t, err)
		return v
	}
	label := func(v any) { v.(*corev1.Pod).Labels["hunter2"] = "hunter2" }
	command := func(v any) { v.(*corev1.Pod).Spec.Containers[0].Command[1] = "hunter2" }
	user := func(v any) { *v.(*corev1.Pod).Spec.Containers[0].SecurityContext.RunAsUser = 1 }
	volume := func(v any) { v.(*corev1.Pod).Spec.Volumes[0].HostPath.Path = "hunter2" }
	return []writer{
		{"label", fromJSON, label, "metadata.labels", "map[string]string"},
		{"label in protobuf", fromWire, label, "ObjectMeta.labels", "map[string]string"},
		{"list", fromJSON, command, "spec.containers", "[]v1.Container"},
		{"list in protobuf", fromWire, command, "PodSpec.containers", "[]v1.Container"},
		{"number", fromJSON, user, "spec.containers", "[]v1.Container"},
		{"pointer in protobuf", fromWire, volume, "PodSpec.volumes", "[]v1.Volume"},
		{"document", document, func(v any) {
			delete(v.(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any), "app")
		}, "metadata", "interface {}"},
		{"list in a document", document, func(v any) {
			v.(map[string]any)["spec"].(map[string]any)["volumes"].([]any)[0] = "hunter2"
		}, "spec", "interface {}"},
	}
}

// TestChecksFindWriters checks that a modified part is found by chance and reported with its path,
// that it leaves the table, and that objects decoded later are correct.
func TestChecksFindWriters(t *testing.T) {
	for _, w := range writersOf(t) {
		t.Run(w.name, func(t *testing.T) {
			checks, found, table := 0, []*Written(nil), roomyParts()
			share := NewSharing(table).Report(func(w *Written) {
				checks++
				if w != nil {
					found = append(found, w)
				}
			})
			o := Options{Intern: NewIntern(0), Share: share}
			right := w.decode(Options{})
			for range 4 {
				require.Equal(t, right, w.decode(o))
			}
			w.write(w.decode(o))
			if got := w.decode(o); len(found) == 0 {
				require.NotEqual(t, right, got, "the part is shared")
			}
			for range 100 * oftenChecked {
				got := w.decode(o)
				if len(found) > 0 {
					require.Equal(t, right, got, "at once")
					break
				}
			}
			for range 4 {
				require.Equal(t, right, w.decode(o), "smaller parts of it have left the table, too")
			}
			require.Len(t, found, 1)
			assert.Greater(t, checks, 0)
			assert.Equal(t, w.in, found[0].In)
			assert.Equal(t, w.of, found[0].Is.Type().String())
			assert.Equal(t, found[0].Is.Type(), found[0].Was.Type())
			assert.NotEqual(t, found[0].Is.Interface(), found[0].Was.Interface())
			require.NoError(t, table.Check())
			o.Checks = true
			for range 10 {
				_ = w.decode(o)
			}
			for range 10 {
				require.Equal(t, right, w.decode(o))
			}
		})
	}
}

// TestFewAreChecked checks that about one part in oftenChecked is checked.
func TestFewAreChecked(t *testing.T) {
	checks := 0
	share := NewSharing(NewParts(0)).Report(func(w *Written) { require.Nil(t, w); checks++ })
	o := Options{Share: share}
	for range 100 * oftenChecked / 2 {
		_, err := Unstructured([]byte(`{"kind":"A","apiVersion":"a/v1","spec":{"some":"longer text"},"status":{"another":"longer text"}}`), o)
		require.NoError(t, err)
	}
	assert.InDelta(t, 100, checks, 60)
}

// oftenChecked is the average number of parts found per check.
const oftenChecked = 1024

// roomyParts returns a table with so many slots that no two parts compete for one.
func roomyParts() *Parts { return NewParts(4 << 20) }

// watched is two sets of options with one table. checking checks each part that is found. written
// counts the modified parts reported.
type watched struct {
	table           *Parts
	plain, checking Options
	written         int
}

func newWatched() *watched {
	w := &watched{table: roomyParts()}
	w.plain.Share = NewSharing(w.table).Report(func(part *Written) {
		if part != nil {
			w.written++
		}
	})
	w.checking = w.plain
	w.checking.Checks = true
	return w
}

// untilUnchecked repeats a test until no part is checked by chance.
func untilUnchecked(t *testing.T, test func(*watched) (unchecked bool)) {
	for !test(newWatched()) {
		require.NoError(t, t.Context().Err())
	}
}

// commandOf decodes a pod of the given name, in JSON or protobuf, and returns the command of its
// container. Pods share the command, but not the list of containers.
func commandOf(t *testing.T, name string, wire bool, o Options) []string {
	data := fmt.Appendf(nil, `{"spec":{"containers":[{"name":"%s","command":["some","command","of","texts"]}]}}`, name)
	plan, pod := planOf(t, reflect.TypeFor[corev1.Pod]()), new(corev1.Pod)
	if !wire {
		require.NoError(t, plan.JSON(data, pod, o))
		return pod.Spec.Containers[0].Command
	}
	require.NoError(t, json.Unmarshal(data, pod))
	message, err := pod.Marshal()
	require.NoError(t, err)
	*pod = corev1.Pod{}
	require.NoError(t, plan.Protobuf(message, pod, o))
	return pod.Spec.Containers[0].Command
}

// TestWrittenStaysAwayFromOthers checks that, after a modified part was found, no new object has the
// modification, also not those in which the part is in a larger part.
func TestWrittenStaysAwayFromOthers(t *testing.T) {
	for _, wire := range []bool{false, true} {
		untilUnchecked(t, func(o *watched) bool {
			right := commandOf(t, "a", wire, Options{})
			for range 4 {
				commandOf(t, "a", wire, o.plain)
				commandOf(t, "b", wire, o.plain)
			}
			written := commandOf(t, "a", wire, o.plain)
			written[1] = "hunter2"
			others := commandOf(t, "b", wire, o.plain)
			if o.written > 0 {
				return false
			}
			require.Same(t, &written[0], &others[0], "all share it")
			require.Equal(t, right, commandOf(t, "c", wire, o.checking), "of which no larger part is known")
			require.Equal(t, 1, o.written)
			for range 4 {
				for _, name := range []string{"a", "b", "c"} {
					require.Equal(t, right, commandOf(t, name, wire, o.plain), "protobuf: %v", wire)
				}
			}
			return true
		})
	}
}

// measured has quantities in all positions where maps may have them.
type measured struct {
	Plain  map[string]resource.Quantity   `json:"plain"`
	Listed []corev1.ResourceRequirements  `json:"listed"`
	Below  *corev1.ResourceRequirements   `json:"below"`
	Maps   map[string]corev1.ResourceList `json:"maps"`
	Named  namedQuantities                `json:"named"`
	Values map[string]struct {
		Limits corev1.ResourceList `json:"limits"`
	} `json:"values"`
	Structs map[string]struct{ Q resource.Quantity } `json:"structs"`
	Points  map[string]*resource.Quantity            `json:"points"`
	Wraps   map[string]wrapped                       `json:"wraps"`
}

type (
	namedQuantities map[corev1.ResourceName]resource.Quantity
	wrapped         struct{ resource.Quantity }
)

// quantitiesOf returns the quantities that are elements of maps, by position.
func (m *measured) quantitiesOf() map[string]resource.Quantity {
	return map[string]resource.Quantity{
		"plain": m.Plain["memory"], "listed": m.Listed[0].Limits["memory"], "below": m.Below.Limits["memory"], "maps": m.Maps["some"]["memory"],
		"named": m.Named["memory"], "values": m.Values["some"].Limits["memory"], "structs": m.Structs["some"].Q,
		"points": *m.Points["memory"], "wraps": m.Wraps["memory"].Quantity,
	}
}

// measuredOf returns an object with the quantity in all positions. The maps are written
// differently, because equal ones would compete for the same slots.
func measuredOf(quantity string) []byte {
	const limits = `{"memory":"1.5Gi","cpu":"0m"}`
	text := fmt.Sprintf(`{"plain":%[1]s,"listed":[{"limits":%[1]s}],"below":{"limits":%[1]s},"maps":{"some":%[1]s},"named":%[1]s,
		"values":{"some":{"limits":%[1]s}},"structs":{"some":{"Q":"1.5Gi"}},"points":%[1]s,"wraps":%[1]s}`, limits)
	for i := range strings.Count(text, `"0m"`) {
		text = strings.Replace(text, `"0m"`, fmt.Sprintf(`"%dm"`, i+1), 1)
	}
	return []byte(strings.ReplaceAll(text, "1.5Gi", quantity))
}

// TestQuantityOfAMap checks that arithmetic on a copy of a quantity of one object does not change
// another object, even if the quantity does not fit an integer or has no short form.
func TestQuantityOfAMap(t *testing.T) {
	for _, quantity := range []string{"1.5Gi", "0.1Gi", "1Pi", "9223372036854775808", "1e30", "0.1n", "-1.5Gi", "1.5", "100m", "2Gi", "0", "1234567890m"} {
		a, b := twoOf[measured](t, roomyParts(), measuredOf(quantity), 5)
		wanted, others := resource.MustParse(quantity), b.quantitiesOf()
		for at, q := range a.quantitiesOf() {
			q.Sub(resource.MustParse("1"))
			q.Neg()
			other := others[at]
			assert.Zero(t, wanted.Cmp(other), "%s of %s is %s in another object", at, quantity, &other)
		}
	}
}

// TestQuantityOfAMapProtobuf checks the same for protobuf.
func TestQuantityOfAMapProtobuf(t *testing.T) {
	for _, quantity := range []string{"01.5Gi", "1Pi", "123456789012345678901234567890", "100m", "2Gi"} {
		limits := corev1.ResourceList{"memory": resource.MustParse(quantity)}
		pod := corev1.Pod{Spec: corev1.PodSpec{
			Overhead: limits, Containers: []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Limits: limits}}},
		}}
		data, err := pod.Marshal()
		require.NoError(t, err)
		data = bytes.ReplaceAll(data, []byte("1536Mi"), []byte("01.5Gi")) // Marshal normalizes it to 1536Mi
		a, b := twoMessages[corev1.Pod](t, roomyParts(), data, 5)
		wanted := resource.MustParse(quantity)
		for _, two := range [][2]corev1.ResourceList{{a.Spec.Overhead, b.Spec.Overhead}, {a.Spec.Containers[0].Resources.Limits, b.Spec.Containers[0].Resources.Limits}} {
			q, other := two[0]["memory"], two[1]["memory"]
			q.Sub(resource.MustParse("1"))
			assert.Zero(t, wanted.Cmp(other), "%s is %s in another object", quantity, &other)
		}
	}
}

// TestShortQuantitiesAreShared checks that a map of quantities whose copies are independent is
// shared.
func TestShortQuantitiesAreShared(t *testing.T) {
	for quantity, shared := range map[string]bool{
		"1.5": true, "100m": true, "2Gi": true, "1": true, "0": true, "12345n": true, "1e3": true, "1.5Gi": false, "1Pi": false, "9223372036854775808": false,
	} {
		data := measuredOf(quantity)
		require.True(t, inOneOfFour(func() bool {
			a, b := twoOf[measured](t, roomyParts(), data, 5)
			return shared == (reflect.ValueOf(a.Plain).UnsafePointer() == reflect.ValueOf(b.Plain).UnsafePointer())
		}), quantity)
		if quantity == "1.5Gi" {
			continue // it is 1536Mi in protobuf
		}
		limits := corev1.ResourceList{"memory": resource.MustParse(quantity), "cpu": resource.MustParse("100m")}
		message, err := (&corev1.Node{Status: corev1.NodeStatus{Capacity: limits}}).Marshal()
		require.NoError(t, err)
		require.True(t, inOneOfFour(func() bool {
			a, b := twoMessages[corev1.Node](t, roomyParts(), message, 5)
			return shared == (reflect.ValueOf(a.Status.Capacity).UnsafePointer() == reflect.ValueOf(b.Status.Capacity).UnsafePointer())
		}), quantity)
	}
}

// memo caches a result in an unexported field.
type memo struct {
	Pattern string `json:"pattern"`
	Text    string `json:"text"`
	matches int
}

func (m *memo) count() int {
	m.matches++
	return m.matches
}

// remembers has memos in all positions.
type remembers struct {
	Pointer *memo            `json:"pointer"`
	List    []memo           `json:"list"`
	Points  []*memo          `json:"points"`
	Map     map[string]*memo `json:"map"`
	Within  *struct {
		Text string `json:"text"`
		Memo memo   `json:"memo"`
	} `json:"within"`
	Absent *struct {
		Text string `json:"text"`
		Memo memo   `json:"memo"`
	} `json:"absent"`
	Embedded *struct {
		Number int `json:"number"`
		memo
	} `json:"embedded"`
	Pointed *struct {
		Text string `json:"text"`
		*shown
	} `json:"pointed"`
	NoName *struct {
		Text    string `json:"text"`
		matches int
	} `json:"noName"`
	Once *struct {
		Text string    `json:"text"`
		Once sync.Once `json:"-"`
	} `json:"once"`
	Plain *struct {
		Text string `json:"text"`
		shown
	} `json:"plain"`
}

// shown is an unexported type with exported fields only.
type shown struct {
	Pattern string `json:"pattern"`
}

// TestMemoIsNotShared checks that no two objects share a struct with unexported fields, in which it
// may cache results.
func TestMemoIsNotShared(t *testing.T) {
	const memo = `{"pattern":"some pattern","text":"some text"}`
	data := fmt.Appendf(nil, `{"pointer":%[1]s,"list":[%[1]s],"points":[%[1]s],"map":{"some":%[1]s},"within":{"text":"some longer text","memo":%[1]s},
		"absent":{"text":"some other text"},"embedded":%[1]s,"noName":%[1]s,"pointed":{"text":"some longer text"},"once":%[1]s,"plain":%[1]s}`, memo)
	a, b := twoOf[remembers](t, roomyParts(), data, 5)
	assert.Equal(t, a, b)
	assert.NotSame(t, a.Pointer, b.Pointer)
	assert.NotSame(t, &a.List[0], &b.List[0])
	assert.NotSame(t, a.Points[0], b.Points[0])
	assert.NotSame(t, a.Map["some"], b.Map["some"])
	assert.NotSame(t, a.Within, b.Within)
	assert.NotSame(t, a.Absent, b.Absent)
	assert.NotSame(t, a.Embedded, b.Embedded)
	assert.NotSame(t, a.Pointed, b.Pointed)
	assert.NotSame(t, a.NoName, b.NoName)
	assert.NotSame(t, a.Once, b.Once)
	assert.Same(t, a.Plain, b.Plain)
	assert.Equal(t, [4]int{1, 1, 1, 1}, [4]int{a.Pointer.count(), b.Pointer.count(), a.Embedded.count(), b.Embedded.count()})
	require.Zero(t, a.NoName.matches)
}

// Types of objects that are not structs.
type (
	rootMap  map[string]any
	rootMaps map[string]rootMaps
)

// TestRootIsNotShared checks that an object that is a map is never shared itself: client-go sets
// its kind, and Trim removes members.
func TestRootIsNotShared(t *testing.T) {
	data := []byte(`{"spec":{"some":"longer text"},"kind":"Widget"}`)
	a, b := twoOf[rootMap](t, roomyParts(), data, 5)
	(*a)["kind"] = "Other"
	assert.Equal(t, "Widget", (*b)["kind"])
	assert.Equal(t, reflect.ValueOf((*a)["spec"]).UnsafePointer(), reflect.ValueOf((*b)["spec"]).UnsafePointer(), "but for what is in it")
	c, d := twoOf[rootMaps](t, roomyParts(), []byte(`{"a":{"b":{"another":{}}}}`), 5)
	assert.NotEqual(t, reflect.ValueOf(*c).UnsafePointer(), reflect.ValueOf(*d).UnsafePointer())
	assert.Equal(t, reflect.ValueOf((*c)["a"]).UnsafePointer(), reflect.ValueOf((*d)["a"]).UnsafePointer())
}

// TestSecrets checks that no data of a secret enters a table of strings, whatever type it is
// decoded into, but that labels do.
func TestSecrets(t *testing.T) {
	secret := base64.StdEncoding.EncodeToString([]byte("hunter2"))
	for _, order := range []string{
		`{"kind":"Secret","apiVersion":"v1","metadata":{"labels":{"app":"label-1"},"annotations":{"last-applied":"%[1]s"}},"data":{"key-%[1]s":"%[1]s"},"stringData":{"plain":"hunter2"}}`,
		`{"apiVersion":"v1","data":{"key-%[1]s":"%[1]s"},"kind":"Secret","metadata":{"labels":{"app":"label-1"}},"stringData":{"plain":"hunter2"}}`,
		`{"d\u0061ta":{"key-%[1]s":"%[1]s"},"stringData":{"plain":["hunter2",{"a":"hunter2"}]},"kind":"Secret","apiVersion":"v1","metadata":{"labels":{"app":"label-1"}}}`,
	} {
		data := fmt.Appendf(nil, order, secret)
		assert.True(t, inOneOfFour(func() bool {
			known := strings.Contains(order, "annotations") // only the type identifies the secret before its annotations
			table := tableOfSecrets(t, data, known)
			for _, text := range slices.Collect(table.All()) {
				assert.NotContains(t, text, secret)
				assert.NotContains(t, text, "hunter2")
				assert.NotContains(t, text, "plain")
			}
			return known || slices.Contains(slices.Collect(table.All()), "label-1") && slices.Contains(slices.Collect(table.All()), "kind")
		}), "what is beside the data is shared: %s", order)
	}
}

// tableOfSecrets decodes a secret several times, as a Secret and, unless known is set, as other
// types.
func tableOfSecrets(t *testing.T, data []byte, known bool) *Intern {
	t.Helper()
	table := NewIntern(0)
	for range 4 {
		var into corev1.Secret
		_ = planOf(t, reflect.TypeFor[corev1.Secret]()).JSON(data, &into, Options{Intern: table})
		if known {
			continue
		}
		var widget struct {
			Data, StringData any
			AnyData          any `json:"data"`
			AnyStringData    any `json:"stringData"`
			Metadata         any `json:"metadata"`
		}
		_ = planOf(t, reflect.TypeOf(widget)).JSON(data, &widget, Options{Intern: table})
		sameDocument(t, data, Options{Intern: table})
	}
	return table
}

// TestTogether checks that goroutines may use the plan of a new type at the same time.
func TestTogether(t *testing.T) {
	type object struct {
		corev1.PodSpec
		Own []widget
	}
	table := NewIntern(0)
	var users sync.WaitGroup
	for user := range uint64(4) {
		users.Go(func() {
			r := rand.New(rand.NewPCG(user, 2))
			for range 50 {
				sameJSON(t, reflect.TypeFor[object](), randomDocument(r, reflect.TypeFor[object](), 100), Options{Intern: table})
			}
		})
	}
	users.Wait()
	require.NoError(t, table.Check())
}
