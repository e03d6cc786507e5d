// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
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

	"github.com/kinformer/cache/internal/minor"
	"github.com/kinformer/cache/internal/testkit"
)

// twoOf decodes an object four times with a new table and returns the last two results.
func twoOf[T any](t *testing.T, d format, data []byte) (a, b *T) {
	t.Helper()
	o := Options{Intern: NewIntern(0), Share: newWatched().sharing()}
	for range 4 {
		a, b = b, d.decoded(t, reflect.TypeFor[T](), data, o).(*T)
	}
	return a, b
}

// pod returns the pod of a document in the encoding.
func (d format) pod(t testing.TB, document string) []byte {
	t.Helper()
	if d.name != "protobuf" {
		return []byte(document)
	}
	pod := new(corev1.Pod)
	require.NoError(t, json.Unmarshal([]byte(document), pod))
	return encoded(t, pod)
}

// podOfParts has a part of each kind.
const podOfParts = `{"kind":"A","apiVersion":"a/v1",
	"metadata":{"name":"a","labels":{"app":"some application","tier":"one of several"},"managedFields":[{"manager":"kubelet","fieldsV1":{"f:status":{"f:conditions":{}}}}]},
	"spec":{
		"containers":[{"name":"a","command":["some","command","of","texts"],"resources":{"limits":{"cpu":"100m","memory":"1Gi"}},"securityContext":{"runAsUser":1000,"privileged":false}}],
		"volumes":[{"name":"plain","hostPath":{"path":"/some/path/on/the/host"}}]}}`

// TestShared checks that equal parts are shared from the third decoding on.
func TestShared(t *testing.T) {
	for _, d := range []format{inJSON, inProtobuf} {
		a, b := twoOf[corev1.Pod](t, d, d.pod(t, podOfParts))
		assert.Equal(t, a, b)
		assert.Equal(t, []string{".ObjectMeta.Labels", ".ObjectMeta.ManagedFields", ".Spec.Containers", ".Spec.Volumes"}, sharedBy(a, b))
		assert.Equal(t, len(a.Spec.Containers), cap(a.Spec.Containers))
		assert.Equal(t, len(a.Spec.Containers[0].Command), cap(a.Spec.Containers[0].Command))
	}
}

// TestSharedDocuments checks the same for unstructured objects. The metadata and the object, which
// differ, are not shared.
func TestSharedDocuments(t *testing.T) {
	o := Options{Share: NewSharing(NewParts(0))}
	var objects []map[string]any
	for i := range 4 {
		data := fmt.Appendf(nil, `{"apiVersion":"a/v1","kind":"A","metadata":{"name":"a-%d"},"spec":{"some":["list",{"of":"values"}]}}`, i)
		object := inDocuments.decoded(t, nil, data, o).(map[string]any)
		assert.Equal(t, fmt.Sprintf("a-%d", i), object["metadata"].(map[string]any)["name"])
		objects = append(objects, object)
	}
	assert.Equal(t, objects[0]["spec"], objects[3]["spec"])
	assert.Equal(t, []string{"[spec]"}, sharedBy(objects[2], objects[3]))
	assert.Empty(t, sharedBy(objects[0], objects[3]))
}

// TestPartsMutatedOnRead checks that values which a read may modify, and values that contain them,
// are not shared. As elements of a map they are.
func TestPartsMutatedOnRead(t *testing.T) {
	const pod = `{"spec":{
		"containers":[{"name":"a","env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu","divisor":"1m"}}}],"resources":{"limits":{"memory":"1Gi","cpu":"100m"}}}],
		"volumes":[{"name":"v","emptyDir":{"medium":"Memory","sizeLimit":"1Gi"}}]}}`
	for _, d := range []format{inJSON, inProtobuf} {
		a, b := twoOf[corev1.Pod](t, d, d.pod(t, pod))
		assert.Equal(t, a, b)
		assert.Equal(t, []string{".Spec.Containers[0].Resources.Limits"}, sharedBy(a, b))
	}
	none := []byte(`{"spec":{"containers":[{"name":"a","env":[{"name":"CPU","valueFrom":{"resourceFieldRef":{"resource":"limits.cpu"}}}]}]}}`)
	assert.Empty(t, sharedBy(twoOf[corev1.Pod](t, inJSON, none)), "zero is written to as well")
}

// walk calls f for v and for all values in it, with their paths, except below those for which f
// returns false.
func walk(path string, v reflect.Value, f func(string, reflect.Value) bool) {
	if !f(path, v) {
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			walk(path, v.Elem(), f)
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			walk(fmt.Sprintf("%s[%d]", path, i), v.Index(i), f)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			walk(fmt.Sprintf("%s[%v]", path, key), v.MapIndex(key), f)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); field.IsExported() {
				walk(path+"."+field.Name, v.Field(i), f)
			}
		}
	}
}

// sharedBy returns the paths of the outermost maps, lists and pointers that a and b share.
func sharedBy(a, b any) (paths []string) {
	address := func(v reflect.Value) uintptr {
		switch v.Kind() {
		case reflect.Map, reflect.Slice, reflect.Pointer:
			return v.Pointer()
		}
		return 0
	}
	inA := map[string]uintptr{}
	walk("", reflect.ValueOf(a), func(path string, v reflect.Value) bool {
		if at := address(v); at != 0 {
			inA[path] = at
		}
		return true
	})
	walk("", reflect.ValueOf(b), func(path string, v reflect.Value) bool {
		shared := address(v) != 0 && address(v) == inA[path]
		if shared {
			paths = append(paths, path)
		}
		return !shared
	})
	slices.Sort(paths)
	return paths
}

// tableOfEverything returns a table with parts of objects of all kinds, in all encodings.
func tableOfEverything(t *testing.T) *Parts {
	w := newWatched()
	decode := func(d format, s sample) {
		for range 3 {
			_, err := d.ours(t, s.kind)(s.data, Options{Share: w.sharing(), Checks: true})
			require.True(t, err == nil || !s.mustDecode, "%v was given up: %q", s.kind, s.data)
		}
	}
	for _, d := range []format{inJSON, inDocuments, inProtobuf} {
		for _, s := range d.samples(newFiller(1), rand.New(rand.NewPCG(1, 1))) {
			decode(d, s)
		}
	}
	type odd struct {
		Inner *struct {
			Bytes     [][]byte                   `json:"bytes"`
			Extension *struct{ metav1.TypeMeta } `json:"extension"`
			Fields    *metav1.FieldsV1           `json:"fields"`
			Empty     []string                   `json:"empty"`
		}
	}
	data := []byte(`{"Inner":{"bytes":["YQ==","YWI=","YWJj"],"extension":{"a":[1,2,3]},"fields":{"f:a":{"f:b":{}}}}}`)
	decode(inJSON, sample{reflect.TypeFor[odd](), data, true})
	data = encoded(t, &corev1.ConfigMap{BinaryData: map[string][]byte{"some bytes": []byte("123456789")}})
	decode(inProtobuf, sample{reflect.TypeFor[corev1.ConfigMap](), data, true})
	require.Empty(t, w.written, "nobody has written to a part")
	return w.table
}

// TestListsOfPartsAreFull checks that no list in a part has spare capacity, so that append copies
// it, and that no part contains an addressable Quantity.
func TestListsOfPartsAreFull(t *testing.T) {
	testkit.AtNight(t)
	table, parts, lists := tableOfEverything(t), 0, 0
	for _, v := range table.All() {
		parts++
		walk("", v, func(_ string, v reflect.Value) bool {
			if v.Kind() == reflect.Slice {
				lists++
				require.Equal(t, v.Len(), v.Cap(), "a %v in a part", v.Type())
			}
			require.False(t, v.CanAddr() && v.Type() == reflect.TypeFor[resource.Quantity](), "a Quantity that can be written to")
			return true
		})
	}
	assert.Greater(t, parts, 2000)
	assert.Greater(t, lists, 2000)
}

// TestNilAndEmpty checks that shared parts distinguish [], {}, null and absent members.
func TestNilAndEmpty(t *testing.T) {
	for _, part := range []string{`null`, `[]`, `[null]`, `[null,""]`, `["",null]`} {
		data := []byte(`{"metadata":{"finalizers":` + part + `,"ownerReferences":[{"name":"some owner"}],"labels":{}},"spec":{"volumes":[{"name":"some volume","projected":{"sources":null}},{"name":"b","secret":{"items":[]}},{"name":"c","secret":{}},{"name":"d","secret":null}]}}`)
		require.True(t, inJSON.same(t, reflect.TypeFor[corev1.Pod](), data, Options{}), part)
	}
	table := NewParts(0)
	empty, null := `{"metadata":{"a":[],"b":{},"c":"some text"}`, `{"metadata":{"a":null,"b":null,"c":"some text"}`
	for range 4 {
		for _, data := range []string{empty, null} {
			got := inDocuments.decoded(t, nil, []byte(data+`,"kind":"A","apiVersion":"v1"}`), Options{Share: NewSharing(table)})
			metadata := got.(map[string]any)["metadata"].(map[string]any)
			assert.Equal(t, data == null, metadata["a"] == nil)
			assert.Equal(t, data == null, metadata["b"] == nil)
		}
	}
	assert.NotZero(t, table.Status().Hits)
}

const base64OfHidden = "aHVudGVyMiBodW50ZXIy" // twice hunter2

// secretsEverywhere are objects that contain secrets.
var secretsEverywhere = map[string]string{
	"secret": `{"apiVersion":"v1","kind":"Secret","type":"` + base64OfHidden + `","metadata":{"labels":{"app":"some application"},"annotations":{"of/someone":"{\"data\":{\"a\":\"` + base64OfHidden + `\"}}"}},"data":{"a":"` + base64OfHidden + `","b":"eA==","key-` + base64OfHidden + `":""},"stringData":{"a":"` + base64OfHidden + `","plain":"hunter2"}}`,
	"data first": `{"apiVersion":"v1","data":{"key-` + base64OfHidden + `":"` + base64OfHidden + `"},"kind":"Secret",` +
		`"metadata":{"labels":{"app":"label-1"}},"stringData":{"plain":"hunter2"}}`,
	"escaped name": `{"d\u0061ta":{"key-` + base64OfHidden + `":"` + base64OfHidden + `"},"stringData":{"plain":["hunter2",{"a":"hunter2"}]},` +
		`"kind":"Secret","apiVersion":"v1","metadata":{"labels":{"app":"label-1"}}}`,
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

// dataOfSecrets has the fields of secrets without being one.
type dataOfSecrets struct {
	Data, StringData any
	AnyData          any `json:"data"`
	AnyStringData    any `json:"stringData"`
	Metadata         any `json:"metadata"`
}

// TestNoSecretsInTables checks that no table contains data of a secret, wherever the secret is: in
// objects, documents, lists, or annotations that contain whole objects. Labels of a secret are
// shared.
func TestNoSecretsInTables(t *testing.T) {
	table, texts := NewParts(0), NewIntern(16<<20)
	share := func() Options { return Options{Intern: texts, Share: NewSharing(table)} }
	secretType, listType := reflect.TypeFor[corev1.Secret](), reflect.TypeFor[corev1.SecretList]()
	for name, data := range secretsEverywhere {
		for range 4 {
			_, err := Unstructured([]byte(data), share())
			assert.Equal(t, name != "list", err == nil, name)
			_, err = UnstructuredItem([]byte(data), "Secret", "v1", share())
			require.NoError(t, err)
			_, _ = inJSON.ours(t, secretType)([]byte(data), share())
			if name != "secret" { // only the type identifies the secret before its annotations
				_, _ = inJSON.ours(t, reflect.TypeFor[dataOfSecrets]())([]byte(data), share())
			}
		}
	}
	noKind := `{"metadata":{"annotations":{"of/someone":"` + base64OfHidden + `"}},"data":{"a":"` + base64OfHidden + `"}}`
	secret := secretsEverywhere["secret"]
	within := fmt.Sprintf(`{"list":[%[1]s],"map":{"a":%[1]s},"pointer":%[1]s,"deep":{"Text":"text","List":[%[1]s]},"document":{"a":[%[1]s]}}`, secret)
	within = strings.ReplaceAll(within, `"document":{"a":[`+secret, `"document":{"a":[`+secretsEverywhere["manifests"])
	applied := []byte(strings.ReplaceAll(secret, "of/someone", "kubectl.kubernetes.io/last-applied-configuration"))
	var object corev1.Secret
	require.NoError(t, json.Unmarshal(applied, &object))
	list := encoded(t, &corev1.SecretList{Items: []corev1.Secret{object}})
	for range 4 {
		_, err := UnstructuredItem([]byte(noKind), "Secret", "v1", share())
		require.NoError(t, err)
		inJSON.decoded(t, reflect.TypeFor[secretsWithin](), []byte(within), share())
		inJSON.decoded(t, listType, []byte(`{"items":[`+secret+`]}`), share())
		for _, of := range []reflect.Type{secretType, reflect.TypeFor[metav1.PartialObjectMetadata]()} {
			parts := Options{Share: NewSharing(table)}
			inJSON.decoded(t, of, applied, parts)
			inProtobuf.decoded(t, of, encoded(t, &object), parts)
		}
		inProtobuf.decoded(t, listType, list, share())
	}
	var parts []string
	for raw := range table.All() {
		parts = append(parts, string(raw))
	}
	assert.NotEmpty(t, parts, "labels are shared")
	strs := slices.Collect(texts.All())
	assert.Subset(t, strs, []string{"label-1", "kind"})
	for _, hidden := range []string{base64OfHidden[:8], "hunter2", "plain"} {
		assert.NotContains(t, strings.Join(append(parts, strs...), "\n"), hidden)
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
	of, o := reflect.TypeFor[corev1.PodSpec](), Options{Share: NewSharing(NewParts(0))}
	a := encoded(t, &corev1.PodSpec{Containers: []corev1.Container{{Name: "the first container"}}, Hostname: "h"})
	b := encoded(t, &corev1.PodSpec{Containers: []corev1.Container{{Name: "the second container"}}})
	for range 3 {
		inProtobuf.decoded(t, of, a, o)
		inProtobuf.decoded(t, of, b, o)
	}
	var whole corev1.PodSpec
	both := append(bytes.Clone(a), b...)
	require.NoError(t, whole.Unmarshal(both))
	require.Len(t, whole.Containers, 2)
	_, err := inProtobuf.ours(t, of)(both, o)
	require.ErrorIs(t, err, ErrGiveUp)
	assert.False(t, inProtobuf.same(t, of, both, Options{}))
}

// podType is the type of pods.
var podType = reflect.TypeFor[corev1.Pod]()

func label(v any) { v.(*corev1.Pod).Labels["hunter2"] = "hunter2" }

func command(v any) { v.(*corev1.Pod).Spec.Containers[0].Command[1] = "hunter2" }

// writers modify a part of podOfParts. The report has the path in and the type of.
var writers = []struct {
	name   string
	d      format
	write  func(any)
	in, of string
}{
	{"label", inJSON, label, "metadata.labels", "map[string]string"},
	{"label in protobuf", inProtobuf, label, "ObjectMeta.labels", "map[string]string"},
	{"list", inJSON, command, "spec.containers", "[]v1.Container"},
	{"list in protobuf", inProtobuf, command, "PodSpec.containers", "[]v1.Container"},
	{"number", inJSON, func(v any) { *v.(*corev1.Pod).Spec.Containers[0].SecurityContext.RunAsUser = 1 }, "spec.containers", "[]v1.Container"},
	{"pointer in protobuf", inProtobuf, func(v any) {
		v.(*corev1.Pod).Spec.Volumes[0].HostPath.Path = "hunter2"
	}, "PodSpec.volumes", "[]v1.Volume"},
	{"document", inDocuments, func(v any) {
		delete(v.(map[string]any)["metadata"].(map[string]any)["labels"].(map[string]any), "app")
	}, "metadata", "interface {}"},
	{"list in a document", inDocuments, func(v any) {
		v.(map[string]any)["spec"].(map[string]any)["volumes"].([]any)[0] = "hunter2"
	}, "spec", "interface {}"},
}

// TestChecksFindWriters checks that a modified part is found by chance and reported with its path,
// that it leaves the table, and that objects decoded later are correct.
func TestChecksFindWriters(t *testing.T) {
	for _, w := range writers {
		t.Run(w.name, func(t *testing.T) {
			watched, data := newWatched(), w.d.pod(t, podOfParts)
			o := Options{Intern: NewIntern(0), Share: watched.sharing()}
			decode := func() any { return w.d.decoded(t, podType, data, o) }
			right := w.d.decoded(t, podType, data, Options{})
			for range 4 {
				require.Equal(t, right, decode())
			}
			w.write(decode())
			if got := decode(); len(watched.written) == 0 {
				require.NotEqual(t, right, got, "the part is shared")
			}
			for range 100 * oftenChecked {
				if got := decode(); len(watched.written) > 0 {
					require.Equal(t, right, got, "at once")
					break
				}
			}
			for range 4 {
				require.Equal(t, right, decode(), "smaller parts of it have left the table, too")
			}
			require.Len(t, watched.written, 1)
			found := watched.written[0]
			assert.Equal(t, w.in, found.In)
			assert.Equal(t, w.of, found.Is.Type().String())
			assert.Equal(t, found.Is.Type(), found.Was.Type())
			assert.NotEqual(t, found.Is.Interface(), found.Was.Interface())
			require.NoError(t, watched.table.Check())
			o.Checks = true
			for range 10 {
				decode()
			}
			for range 10 {
				require.Equal(t, right, decode())
			}
		})
	}
}

// TestSampleOfCheckedParts checks that about one part in oftenChecked is checked.
func TestSampleOfCheckedParts(t *testing.T) {
	w := newWatched()
	o := Options{Share: w.sharing()}
	data := []byte(`{"kind":"A","apiVersion":"a/v1","spec":{"some":"longer text"},"status":{"another":"longer text"}}`)
	for range 100 * oftenChecked / 2 {
		inDocuments.decoded(t, nil, data, o)
	}
	require.Empty(t, w.written)
	assert.InDelta(t, 100, w.right, 60)
}

// oftenChecked is the average number of parts found per check.
const oftenChecked = 1024

// watched is a table of parts, with the results of the checks of its parts.
type watched struct {
	table   *Parts
	right   int        // the number of checks of unmodified parts
	written []*Written // modified parts
}

// newWatched returns a table with so many slots that three parts of a test compete for two of them
// less than once in a million tables. Their slots are random.
func newWatched() *watched { return &watched{table: NewParts(256 << 20)} }

// sharing returns the state of a new decoder that uses the table.
func (w *watched) sharing() *Sharing {
	return NewSharing(w.table).Report(func(part *Written) {
		if part == nil {
			w.right++
		} else {
			w.written = append(w.written, part)
		}
	})
}

// commandOf decodes a pod of the given name and returns the command of its container. Pods share
// the command, but not the list of containers.
func commandOf(t *testing.T, d format, name string, o Options) []string {
	data := d.pod(t, fmt.Sprintf(`{"spec":{"containers":[{"name":"%s","command":["some","command","of","texts"]}]}}`, name))
	return d.decoded(t, podType, data, o).(*corev1.Pod).Spec.Containers[0].Command
}

// TestModifiedPartsAreNotShared checks that, after a modified part was found, no new object has the
// modification, also not those in which the part is in a larger part.
func TestModifiedPartsAreNotShared(t *testing.T) {
	for _, d := range []format{inJSON, inProtobuf} {
		for !writtenStaysAway(t, d) {
			require.NoError(t, t.Context().Err())
		}
	}
}

// writtenStaysAway returns false if a part was checked by chance.
func writtenStaysAway(t *testing.T, d format) bool {
	w := newWatched()
	o := Options{Share: w.sharing()}
	right := commandOf(t, d, "a", Options{})
	for range 4 {
		commandOf(t, d, "a", o)
		commandOf(t, d, "b", o)
	}
	written := commandOf(t, d, "a", o)
	written[1] = "hunter2"
	others := commandOf(t, d, "b", o)
	if len(w.written) > 0 {
		return false
	}
	require.Same(t, &written[0], &others[0], "all share it")
	require.Equal(t, right, commandOf(t, d, "c", Options{Share: o.Share, Checks: true}), "of which no larger part is known")
	require.Len(t, w.written, 1)
	for range 4 {
		for _, name := range []string{"a", "b", "c"} {
			require.Equal(t, right, commandOf(t, d, name, o), d.name)
		}
	}
	return true
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
		a, b := twoOf[measured](t, inJSON, measuredOf(quantity))
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
		data := encoded(t, &corev1.Pod{Spec: corev1.PodSpec{
			Overhead: limits, Containers: []corev1.Container{{Name: "a", Resources: corev1.ResourceRequirements{Limits: limits}}},
		}})
		data = bytes.ReplaceAll(data, []byte("1536Mi"), []byte("01.5Gi")) // Marshal normalizes it to 1536Mi
		a, b := twoOf[corev1.Pod](t, inProtobuf, data)
		wanted := resource.MustParse(quantity)
		for _, two := range [][2]corev1.ResourceList{{a.Spec.Overhead, b.Spec.Overhead}, {a.Spec.Containers[0].Resources.Limits, b.Spec.Containers[0].Resources.Limits}} {
			q, other := two[0]["memory"], two[1]["memory"]
			q.Sub(resource.MustParse("1"))
			assert.Zero(t, wanted.Cmp(other), "%s is %s in another object", quantity, &other)
		}
	}
}

// TestShortQuantitiesAreShared checks that a map of quantities whose copies are independent is
// shared. Since v0.38 of apimachinery all are.
func TestShortQuantitiesAreShared(t *testing.T) {
	for quantity, shared := range map[string]bool{
		"1.5": true, "100m": true, "2Gi": true, "1": true, "0": true, "12345n": true, "1e3": true, "1.5Gi": false, "1Pi": false, "9223372036854775808": false,
	} {
		shared = shared || minor.Since38
		paths := sharedBy(twoOf[measured](t, inJSON, measuredOf(quantity)))
		assert.Equal(t, shared, slices.Contains(paths, ".Plain"), quantity)
		if quantity == "1.5Gi" {
			continue // it is 1536Mi in protobuf
		}
		limits := corev1.ResourceList{"memory": resource.MustParse(quantity), "cpu": resource.MustParse("100m")}
		message := encoded(t, &corev1.Node{Status: corev1.NodeStatus{Capacity: limits}})
		paths = sharedBy(twoOf[corev1.Node](t, inProtobuf, message))
		assert.Equal(t, shared, slices.Contains(paths, ".Status.Capacity"), quantity)
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

// ownText decodes itself, so a read may modify it.
type ownText struct{ Text string }

func (o *ownText) UnmarshalText(text []byte) error {
	o.Text = string(text)
	return nil
}

// remembers has values that a read may modify in all positions: memos, and values that are zero
// because the document has none for them. Only Plain has no such value.
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
	NoQuantity *struct {
		Text   string                        `json:"text"`
		Absent struct{ Q resource.Quantity } `json:"absent"`
	} `json:"noQuantity"`
	Quantities []resource.Quantity             `json:"quantities"`
	Structs    []struct{ Q resource.Quantity } `json:"structs"`
	Own        []ownText                       `json:"own"`
	NoOwn      *struct {
		Text string  `json:"text"`
		Own  ownText `json:"own"`
	} `json:"noOwn"`
	Plain *struct {
		Text string `json:"text"`
		shown
	} `json:"plain"`
}

// shown is an unexported type with exported fields only.
type shown struct {
	Pattern string `json:"pattern"`
}

// TestMemoIsNotShared checks that no two objects share a value that a read may modify, such as a
// struct with unexported fields, in which it may cache results, even if the value is zero.
func TestMemoIsNotShared(t *testing.T) {
	const memo, text = `{"pattern":"some pattern","text":"some text"}`, `{"text":"some longer text"}`
	data := fmt.Appendf(nil, `{"pointer":%[1]s,"list":[%[1]s],"points":[%[1]s],"map":{"some":%[1]s},"within":{"text":"some longer text","memo":%[1]s},
		"absent":%[2]s,"embedded":%[1]s,"noName":%[1]s,"pointed":%[2]s,"once":%[1]s,"plain":%[1]s,"noQuantity":%[2]s,"noOwn":%[2]s,
		"quantities":[null,null,null,null],"structs":[null,null,null,null],"own":[null,null,null,null]}`, memo, text)
	a, b := twoOf[remembers](t, inJSON, data)
	assert.Equal(t, a, b)
	assert.Equal(t, []string{".Plain"}, sharedBy(a, b))
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
	a, b := twoOf[rootMap](t, inJSON, []byte(`{"spec":{"some":"longer text"},"kind":"Widget"}`))
	assert.Equal(t, []string{"[spec]"}, sharedBy(a, b))
	c, d := twoOf[rootMaps](t, inJSON, []byte(`{"a":{"b":{"another":{}}}}`))
	assert.Equal(t, []string{"[a]"}, sharedBy(c, d))
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
				inJSON.same(t, reflect.TypeFor[object](), randomDocument(r, reflect.TypeFor[object](), 100), Options{Intern: table})
			}
		})
	}
	users.Wait()
	require.NoError(t, table.Check())
}
