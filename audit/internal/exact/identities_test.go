// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package exact

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/tap/engine"
)

// somePod returns a pod with fields of every kind before and after those of its identity.
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

// TestBeginsOfIdentities: a truncated message is read only where client-go reads it, too, and a
// truncated document never.
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
	decode := identityDecoders(reflect.TypeOf(pod), engine.JSON)
	for end := range document {
		_, err := decode(document[:end], nil)
		require.Error(t, err)
	}
}

// kindless is an object with metadata of its own type.
type kindless struct {
	metav1.TypeMeta
	metav1.ObjectMeta `json:"about"`
}

func (k *kindless) DeepCopyObject() runtime.Object { return k }

// podWithin embeds a pod's metadata more deeply.
type podWithin struct {
	v1.Pod `json:"pod"`
}

// podByPointer has metadata that may be nil.
type podByPointer struct {
	metav1.TypeMeta    `json:",inline"`
	*metav1.ObjectMeta `json:"metadata"`
}

func (p *podByPointer) DeepCopyObject() runtime.Object { return p }

// podByValue is an object that is not a pointer.
type podByValue struct{ *v1.Pod }

// ownJSONPod has its own UnmarshalJSON.
type ownJSONPod struct{ v1.Pod }

func (p *ownJSONPod) UnmarshalJSON([]byte) error { return nil }

// TestIdentityDecoders: there is no decoder for types with unusual metadata.
func TestIdentityDecoders(t *testing.T) {
	for _, c := range []struct {
		obj      runtime.Object
		encoding engine.Encoding
		own      bool
	}{
		{&v1.Pod{}, engine.JSON, true},
		{&v1.Pod{}, engine.Protobuf, true},
		{&metav1.PartialObjectMetadata{}, engine.JSON, true},
		{&metav1.PartialObjectMetadata{}, engine.Protobuf, true},
		{&unstructured.Unstructured{}, engine.JSON, true},
		{&unstructured.Unstructured{}, engine.Protobuf, false},
		{&kindless{}, engine.JSON, false},
		{&kindless{}, engine.Protobuf, false},
		{&ownJSONPod{}, engine.JSON, false},
		{&ownJSONPod{}, engine.Protobuf, false},
		{&podWithin{}, engine.JSON, false},
		{&podByPointer{}, engine.JSON, false},
		{&podByValue{}, engine.JSON, false},
		{podByValue{}, engine.JSON, false},
		{&metav1.Status{}, engine.JSON, false},
	} {
		got := identityDecoders(reflect.TypeOf(c.obj), c.encoding)
		assert.Equal(t, c.own, got != nil, "%T in %s", c.obj, c.encoding)
	}
}

// TestIdentityInJSON: an object is decoded or given up.
func TestIdentityInJSON(t *testing.T) {
	read := identityDecoders(reflect.TypeFor[*unstructured.Unstructured](), engine.JSON)
	for data, want := range map[string]string{
		`{"metadata":{"name":"a","labels":{"b":"c"}}}`:                          "  a",
		`{"kind":"Node","apiVersion":"v2","metadata":{"name":"a"},"spec":[{}]}`: "v2 Node a",
		`{"Metadata":{"name":"b"},"metadata":{"name":"a","Name":"b"}}`:          "  a",
		`{"m\u0065tadata":{"n\u0061me":"\u0061"}}`:                              "  a",
		`{"metadata":null}`:                            "  ",
		`{"m\u0065tadata":{"name":"a"},"metadata":{}}`: "given up",
		`{"metadata":["name"]}`:                        "given up",
		"{\"metadata\":{\"name\":\"\xff\"}}":           "given up",
		`{"metadata":{"name":5}}`:                      "given up",
		`{"metadata":{"name":"a"}`:                     "given up",
		`{"metadata":{"name":"a"},"metadata":{}}`:      "given up",
		`{"metadata":{"name":null},"spec":tru}`:        "given up",
	} {
		obj, err := read([]byte(data), nil)
		if want == "given up" {
			assert.Error(t, err, data)
			continue
		}
		require.NoError(t, err, data)
		got := obj.(*unstructured.Unstructured)
		assert.Equal(t, want, fmt.Sprint(got.GetAPIVersion(), " ", got.GetKind(), " ", got.GetName()))
		assert.Empty(t, got.GetLabels())
	}
}

// TestObjectWithoutIdentityIsUnchanged: a value without an identity is returned unchanged.
func TestObjectWithoutIdentityIsUnchanged(t *testing.T) {
	pod := somePod("a", "b", "c", "d")
	want := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "b", UID: "c", ResourceVersion: "d"}}
	assert.Equal(t, want, bare(pod))
	assert.NotEmpty(t, pod.Labels)
	for _, obj := range []runtime.Object{nil, (*v1.Pod)(nil), &metav1.Status{Message: "x"}, podByValue{pod}} {
		assert.Equal(t, obj, bare(obj))
	}
}

var (
	identityInputs = flag.Int("identities", 2_000, "how many lists of each kind TestRandomIdentities compares")
	identitySeed   = flag.Uint64("seed", 0, "of TestRandomIdentities; 0: by the clock")
)

// author writes lists with random faults.
type author struct {
	bytes.Buffer
	r *rand.Rand
}

func (a *author) one(n int) bool { return a.r.IntN(n) == 0 }

func (a *author) pick(from ...string) string { return from[a.r.IntN(len(from))] }

// object writes members, at times in another order, with some omitted or repeated.
func (a *author) object(members ...func()) {
	a.WriteByte('{')
	wrote := false
	if a.one(4) {
		a.r.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
	}
	for i := range members {
		for more := !a.one(20); more; more = a.one(60) {
			if wrote {
				a.WriteByte(',')
			}
			wrote = true
			members[i]()
		}
	}
	a.WriteByte('}')
}

// member writes a name and a value, at times oddly encoded, or another value.
func (a *author) member(name string, value func()) func() {
	return func() {
		switch a.r.IntN(80) {
		case 0:
			name = strings.ToUpper(name[:1]) + name[1:]
		case 1:
			name = strings.ToLower(name)
		}
		if i := a.r.IntN(len(name)); a.one(40) {
			fmt.Fprintf(a, `"%s\u%04x%s":`, name[:i], name[i], name[i+1:])
		} else {
			fmt.Fprintf(a, `"%s":`, name)
		}
		if a.one(60) {
			a.WriteString(a.pick(`null`, `5`, `""`, `"x"`, `[]`, `{}`, `["a"]`, `{"name":"y"}`, `true`, `1e400`, `tru`, ``))
			return
		}
		value()
	}
}

func (a *author) text(texts ...string) func() {
	return func() {
		text := fmt.Sprint(a.pick(texts...), a.r.IntN(3))
		switch a.r.IntN(40) {
		case 0:
			text = a.pick(`\n`, `\u00e9`, `\ud83d\ude00`, `\ud800`, `\ud800A`, `\x`, `\"`, `\/`, "\xff", "\xe2\x82", "é", "\x01", "a/b/c", "", " ", `\u0000`, "\x00")
		case 1:
			text = a.pick(texts...)
		}
		fmt.Fprintf(a, `"%s"`, text)
	}
}

func (a *author) raw(text string) func() { return func() { a.WriteString(text) } }

func (a *author) item() {
	members := []func(){
		a.member("metadata", func() {
			a.object(a.member("name", a.text("a", "name")), a.member("namespace", a.text("ns")), a.member("uid", a.text("u-", "")),
				a.member("resourceVersion", a.text("1", "9")), a.member("labels", a.raw(`{"name":"l","metadata":"m"}`)),
				a.member("generateName", a.text("g")), a.member("generation", a.raw(`12`)), a.member("creationTimestamp", a.raw(`"2026-01-05T08:00:00Z"`)),
				a.member("ownerReferences", a.raw(`[{"name":"owner","uid":"other","kind":"K","apiVersion":"a/b"}]`)))
		}),
		a.member("spec", a.raw(`{"metadata":{"name":"wrong"},"kind":"Wrong","nodeName":"n\\"}`)),
		a.member("status", a.raw(`{"phase":"Running"}`)), a.member("other", a.raw(`[1,-2.5e3,{"a":null}]`)),
	}
	if a.one(2) {
		members = append(members, a.member("kind", a.text("Pod", "Pod", "")), a.member("apiVersion", a.text("v", "v", "a/v", "a/b/v", "")))
	}
	a.object(members...)
}

func (a *author) list() {
	a.object(a.member("kind", a.raw(a.pick(`"PodList"`, `"PodList"`, `"PodList"`, `"PodList"`, `"List"`, `"Pod"`, `""`))), a.member("apiVersion", a.raw(a.pick(`"v1"`, `"v1"`, `"v1"`, `"a/v1"`, `""`))),
		a.member("metadata", a.raw(`{"resourceVersion":"5"}`)), a.member("items", func() {
			a.WriteByte('[')
			for i := range a.r.IntN(4) {
				if i > 0 {
					a.WriteByte(',')
				}
				a.item()
			}
			a.WriteByte(']')
		}))
}

// tag writes the tag of a field, at times oddly encoded.
func (a *author) tag(b []byte, number, wire uint64) []byte {
	switch a.r.IntN(500) {
	case 0:
		number += 1 << 32
	case 1:
		number = a.r.Uint64() >> (3 + a.r.IntN(61))
	case 2:
		wire = a.r.Uint64N(8)
	}
	return a.varint(b, number<<3|wire)
}

// varint writes a number, at times in more bytes than necessary.
func (a *author) varint(b []byte, n uint64) []byte {
	b = binary.AppendUvarint(b, n)
	if a.one(50) {
		for range 1 + a.r.IntN(9) {
			b[len(b)-1] |= 0x80
			b = append(b, byte(a.r.IntN(2)*a.r.IntN(128)))
		}
	}
	return b
}

func (a *author) field(number uint64, value []byte) []byte {
	b, n := a.tag(nil, number, wireBytes), uint64(len(value))
	switch a.r.IntN(300) {
	case 0:
		n += uint64(a.r.IntN(3)) - 1
	case 1:
		n = a.r.Uint64() >> a.r.IntN(64)
	}
	return append(a.varint(b, n), value...)
}

// message writes fields in any order, with some omitted or repeated, and others in between.
func (a *author) message(fields ...[]byte) (b []byte) {
	if a.one(4) {
		a.r.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
	}
	for i := range fields {
		for more := !a.one(20); more; more = a.one(90) {
			b = append(b, fields[i]...)
		}
		if a.one(15) {
			b = append(b, a.unknown()...)
		}
	}
	return b
}

// unknown returns an unknown field of any wire type.
func (a *author) unknown() []byte {
	number := uint64(20 + a.r.IntN(1000))
	switch a.r.IntN(6) {
	case 0:
		return a.varint(a.tag(nil, number, 0), a.r.Uint64()>>a.r.IntN(64))
	case 1:
		return append(a.tag(nil, number, 1), "12345678"...)
	case 2:
		return append(a.tag(nil, number, 5), "1234"...)
	case 3:
		return a.tag(append(a.tag(nil, number, 3), a.field(1, []byte("in a group"))...), number, 4)
	}
	return a.field(number, []byte("of a later version"))
}

func (a *author) textField(number uint64, texts ...string) []byte {
	text := fmt.Sprint(a.pick(texts...), a.r.IntN(3))
	if a.one(10) {
		text = a.pick("", "\xff\x00", "é")
	}
	return a.field(number, []byte(text))
}

func (a *author) itemMessage(spec, status []byte) []byte {
	metadata := a.field(1, a.message(a.textField(1, "a", "name"), a.textField(2, "g"), a.textField(3, "ns"), a.textField(5, "u-"), a.textField(6, "1"),
		a.varint(a.tag(nil, 7, 0), 12), a.field(8, a.varint(a.tag(nil, 1, 0), 1767600000)),
		a.field(11, a.message(a.textField(1, "key"), a.textField(2, "value")))))
	return a.message(metadata, a.field(2, spec), a.field(3, status))
}

func (a *author) damage(data []byte) []byte {
	for a.one(8) && len(data) > 0 {
		switch i := a.r.IntN(len(data)); a.r.IntN(5) {
		case 0:
			data = data[:i]
		case 1:
			data = append(data[:i:i], data[i+1:]...)
		case 2:
			data[i] ^= 1 << a.r.IntN(8)
		case 3:
			data = bytes.Join([][]byte{data[:i], data[i:min(len(data), i+1+a.r.IntN(20))], data[i:]}, nil)
		default:
			data[i] = byte(a.r.Uint32())
		}
	}
	return data
}

type identityKind struct {
	example  runtime.Object
	list     func() runtime.Object // an empty list; nil for unstructured objects
	encoding engine.Encoding
}

// reference reads a list as client-go does.
func (k identityKind) reference(body []byte) (runtime.Object, error) {
	if k.list == nil {
		obj, _, err := unstructured.UnstructuredJSONScheme.Decode(body, nil, nil)
		return obj, err
	}
	into := k.list()
	if k.encoding == engine.JSON {
		return into, utiljson.Unmarshal(body, into)
	}
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(body, []byte("k8s\x00"))); err != nil {
		return nil, err
	}
	return into, into.(interface{ Unmarshal([]byte) error }).Unmarshal(envelope.Raw)
}

func jsonBody(a *author) []byte {
	a.Reset()
	a.list()
	return bytes.Clone(a.Bytes())
}

// protobufBody returns a function that writes lists in protobuf.
func protobufBody(t testing.TB) func(*author) []byte {
	pod := somePod("", "", "", "")
	spec, err := pod.Spec.Marshal()
	require.NoError(t, err)
	status, err := pod.Status.Marshal()
	require.NoError(t, err)
	about, err := (&metav1.ListMeta{ResourceVersion: "5"}).Marshal()
	require.NoError(t, err)
	return func(a *author) []byte {
		fields := [][]byte{a.field(1, about)}
		for range a.r.IntN(4) {
			fields = append(fields, a.field(2, a.itemMessage(spec, status)))
		}
		list := a.message(fields...)
		envelope, _ := (&runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: "PodList"}, Raw: list}).Marshal()
		return append([]byte("k8s\x00"), envelope...)
	}
}

// identitiesIn reads a list as an audit does.
func (k identityKind) identitiesIn(t testing.TB, body []byte) (items []runtime.Object, err error) {
	read := identityDecoders(reflect.TypeOf(k.example), k.encoding)
	require.NotNil(t, read)
	list := decode.NewList(bytes.NewReader(body), k.encoding, 8<<20)
	for {
		data, err := list.Next()
		if errors.Is(err, io.EOF) {
			return items, nil
		}
		if err != nil {
			return nil, err
		}
		item, _ := read(data, nil)
		items = append(items, item)
	}
}

type identityTally struct {
	Lists, GivenUp, Refused int // lists that could not be split, or that client-go refuses
	Items, ItemsGivenUp     int // of lists that both decode
}

// compare reads a list with both decoders.
func (k identityKind) compare(t testing.TB, body []byte, c *identityTally) {
	c.Lists++
	ours, err := k.identitiesIn(t, body)
	if err != nil {
		c.GivenUp++
		return
	}
	list, err := k.reference(body)
	if err != nil {
		c.Refused++
		return
	}
	i := 0
	if _, none := list.(*unstructured.Unstructured); none { // client-go returns this for a list without items
		require.Empty(t, ours, "%q", body)
		return
	}
	require.NoError(t, meta.EachListItem(list, func(item runtime.Object) error {
		require.Less(t, i, len(ours), "%q", body)
		c.Items++
		if ours[i] == nil {
			c.ItemsGivenUp++
		} else if want := bare(item); !reflect.DeepEqual(want, bare(ours[i])) {
			require.Equal(t, want, bare(ours[i]), "item %d of %q", i, body)
		}
		i++
		return nil
	}), "%q", body)
	require.Len(t, ours, i, "%q", body)
}

// TestRandomIdentities: in valid and odd lists the decoder reads the same identities as client-go's,
// or refuses the item.
func TestRandomIdentities(t *testing.T) {
	seed := *identitySeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	podList := func() runtime.Object { return &v1.PodList{} }
	partialList := func() runtime.Object { return &metav1.PartialObjectMetadataList{} }
	write := map[engine.Encoding]func(*author) []byte{engine.JSON: jsonBody, engine.Protobuf: protobufBody(t)}
	for i, k := range []identityKind{
		{&v1.Pod{}, podList, engine.JSON}, {&v1.Pod{}, podList, engine.Protobuf}, {&unstructured.Unstructured{}, nil, engine.JSON},
		{&metav1.PartialObjectMetadata{}, partialList, engine.JSON}, {&metav1.PartialObjectMetadata{}, partialList, engine.Protobuf},
	} {
		t.Run(fmt.Sprintf("%T in %s", k.example, k.encoding), func(t *testing.T) {
			t.Parallel()
			var c identityTally
			defer func() { t.Logf("%+v: -seed %d", c, seed) }()
			a := &author{r: rand.New(rand.NewPCG(seed, uint64(i)))}
			for range *identityInputs {
				k.compare(t, a.damage(write[k.encoding](a)), &c)
			}
			assert.Greater(t, c.Items, c.Lists/4)
			assert.Less(t, c.ItemsGivenUp, c.Items*2/3)
			assert.NotZero(t, c.ItemsGivenUp)
		})
	}
}
