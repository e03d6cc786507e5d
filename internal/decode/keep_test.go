// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/cache/internal/keep"
	"github.com/kinformer/cache/internal/testkit"
)

// keptKinds are the types of TestKeep.
var keptKinds = []reflect.Type{
	reflect.TypeFor[corev1.Pod](), reflect.TypeFor[corev1.ConfigMap](), reflect.TypeFor[corev1.Node](),
	reflect.TypeFor[appsv1.Deployment](), reflect.TypeFor[corev1.Secret](), reflect.TypeFor[metav1.PartialObjectMetadata](),
}

// pathsOf collects the paths into a JSON document, with keys of maps where the type has them.
func pathsOf(t reflect.Type, content any) (paths []string) {
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				for _, longer := range []string{path + "." + name, path + "[" + name + "]"} {
					longer = strings.TrimPrefix(longer, ".")
					if longer != "metadata" && keep.Check(t, longer) == "" {
						paths = append(paths, longer)
						walk(longer, value)
					}
				}
			}
		case []any:
			for _, value := range v {
				walk(path, value)
			}
		}
	}
	walk("", content)
	slices.Sort(paths)
	return slices.Compact(paths)
}

var keptFlag = flag.Int("decode.kept", testkit.Runs(100, 1000), "how many objects TestKeep compares")

// TestKeep compares random objects, of which random paths are decoded, with those that are decoded whole and
// pruned: in JSON and protobuf and without a Go type, with and without shared parts, also as updates of former versions.
func TestKeep(t *testing.T) {
	for i := range *keptFlag {
		r, fill := rand.New(rand.NewPCG(9, uint64(i))), newFiller(int64(i))
		kind := keptKinds[r.IntN(len(keptKinds))]
		former := reflect.New(kind).Interface().(runtime.Object)
		fill.Fill(former)
		latest := changer{r, fill}.next(former)
		var content any
		text, err := json.Marshal(latest)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, &content))
		all := pathsOf(kind, content)
		paths := []string{}
		for range r.IntN(6) {
			if len(all) > 0 {
				paths = append(paths, all[r.IntN(len(all))])
			}
		}
		of, malformed := keep.New(paths)
		require.Empty(t, malformed)
		table := NewParts(1 << 20)
		for _, o := range []Options{{}, {Intern: NewIntern(1 << 20), Share: NewSharing(table)}, {Share: NewSharing(table), Checks: true}} {
			if !t.Run(fmt.Sprintf("%d/%v", i, kind), func(t *testing.T) { sameKept(t, kind, former, latest, of, o, paths) }) {
				t.Logf("%q", paths)
				return
			}
		}
	}
}

// sameKept compares what the decoders keep with what Prune keeps.
func sameKept(t *testing.T, kind reflect.Type, former, latest runtime.Object, of *keep.Fields, o Options, paths []string) {
	for _, e := range []Encoding{JSON, Protobuf} {
		if _, marshals := latest.(interface{ Marshal() ([]byte, error) }); e == Protobuf && !marshals {
			continue
		}
		plan, err := newPlan(kind, of).in(kind, e) // it is not cached: there are as many as objects
		require.NoError(t, err)
		whole, err := PlanOf(kind, e)
		require.NoError(t, err)
		var before, row any
		for _, obj := range []runtime.Object{former, latest} {
			data := inEncoding(t, obj, e)
			want, got := reflect.New(kind).Interface(), reflect.New(kind).Interface()
			if e == JSON {
				require.NoError(t, whole.JSON(data, want, o)) // the table of shared parts has those of whole objects, too
				want = reflect.New(kind).Interface()
				require.NoError(t, whole.JSON(data, want, Options{}))
				require.NoError(t, plan.JSON(data, got, o), "%s", data)
			} else {
				require.NoError(t, whole.Protobuf(data, want, o))
				want = reflect.New(kind).Interface()
				require.NoError(t, whole.Protobuf(data, want, Options{}))
				from := Former{}
				if before != nil {
					from = Former{Object: before, Row: row.(Row)}
				}
				made, err := plan.Update(data, got, from, o)
				require.NoError(t, err)
				before, row = got, made
			}
			of.Prune(want)
			if !assert.Equal(t, want, got, "%v %q", e, paths) {
				return
			}
			if e == JSON {
				sameUnstructured(t, data, of, o)
			}
		}
	}
}

// sameUnstructured is sameKept without a Go type.
func sameUnstructured(t *testing.T, data []byte, of *keep.Fields, o Options) {
	want, err := UnstructuredItem(data, "Kind", "v1", Options{})
	require.NoError(t, err)
	pruned := &unstructured.Unstructured{Object: want}
	of.Prune(pruned)
	o.Keep = of
	got, err := UnstructuredItem(data, "Kind", "v1", o)
	require.NoError(t, err)
	assert.Equal(t, pruned.Object, got)
}

// TestKeptListIsGivenUp: an object with items is a list for client-go, also if they are not kept.
func TestKeptListIsGivenUp(t *testing.T) {
	of, _ := keep.New([]string{"spec", "items.x"})
	for _, items := range []string{`[]`, `null`, `{"y":1}`} {
		_, err := Unstructured([]byte(`{"apiVersion":"a/v1","kind":"A","items":`+items+`}`), Options{Keep: of})
		assert.ErrorIs(t, err, ErrGiveUp)
	}
	_, err := Unstructured([]byte(`{"apiVersion":"a/v1","kind":"A","spec":{"items":[]},"other":{"items":[]}}`), Options{Keep: of})
	assert.NoError(t, err)
}

func inEncoding(t *testing.T, obj any, e Encoding) []byte {
	if e == JSON {
		data, err := json.Marshal(obj)
		require.NoError(t, err)
		return data
	}
	data, err := obj.(interface{ Marshal() ([]byte, error) }).Marshal()
	require.NoError(t, err)
	return data
}

// fuzzedPaths are paths of all sorts; of a kind, those that it has.
var fuzzedPaths = []string{
	"metadata.annotations[x]", "metadata.annotations", "metadata.managedFields", "spec", "spec.containers.name", "spec.nodeName",
	"status.phase", "status", "data[a]", "data", "binaryData", "spec.volumes.configMap", "spec.template.spec.containers", "spec.selector", "stringData[a]", "immutable",
}

// FuzzKept decodes arbitrary bytes of which some of fuzzedPaths are kept. If client-go can decode them too, the result is what
// Prune keeps of that of client-go.
func FuzzKept(f *testing.F) {
	f.Add(uint8(0), false, `{"metadata":{"name":"a","annotations":{"x":"1","y":"2"}},"spec":{"nodeName":"n","containers":[{"image":"i","name":"c"}]}}`, uint16(0xffff))
	f.Add(uint8(1), false, `{"data":{"a":"1","b":"2"},"binaryData":{"c":"AA=="}}`, uint16(0x0f0))
	fill := newFiller(11)
	for i, kind := range keptKinds {
		obj := reflect.New(kind).Interface()
		fill.Fill(obj)
		if _, marshals := obj.(interface{ Marshal() ([]byte, error) }); marshals {
			data, err := obj.(interface{ Marshal() ([]byte, error) }).Marshal()
			require.NoError(f, err)
			f.Add(uint8(i), true, string(data), uint16(i*37))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, binary bool, data string, choice uint16) {
		if hugeExponent.MatchString(data) {
			t.Skip()
		}
		kind := keptKinds[int(which)%len(keptKinds)]
		all := []string{}
		for i, path := range fuzzedPaths {
			if choice>>i&1 != 0 && keep.Check(kind, path) == "" {
				all = append(all, path)
			}
		}
		of, malformed := keep.New(all)
		require.Empty(t, malformed)
		e := JSON
		if binary {
			e = Protobuf
		}
		plan, err := PlanOfKept(kind, e, of)
		require.NoError(t, err)
		want, got := reflect.New(kind).Interface(), reflect.New(kind).Interface()
		if binary {
			err = plan.Protobuf([]byte(data), got, Options{})
		} else {
			err = plan.JSON([]byte(data), got, Options{})
		}
		if err != nil {
			return // given up
		}
		if binary {
			err = want.(interface{ Unmarshal([]byte) error }).Unmarshal([]byte(data))
		} else {
			err = kjson.Unmarshal([]byte(data), want)
		}
		if err == nil {
			of.Prune(want)
			assert.Equal(t, want, got, "%q", all)
		}
	})
}

// oddKept has fields that the decoders support only if they are not kept.
type oddKept struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Quoted            int               `json:"quoted,string"`
	Odd               string            `json:"a name <&>"`
	Numbers           map[int]string    `json:"numbers"`
	Spec              map[string]string `json:"spec"`
}

// TestKeptOdd: fields that are not kept cannot make a type unsupported, and members that come twice are those that client-go has.
func TestKeptOdd(t *testing.T) {
	kind := reflect.TypeFor[oddKept]()
	_, err := PlanOf(kind, JSON)
	require.ErrorContains(t, err, "no plan of")
	of, _ := keep.New([]string{"spec[a]"})
	plan, err := PlanOfKept(kind, JSON, of)
	require.NoError(t, err)
	got := &oddKept{}
	require.NoError(t, plan.JSON([]byte(`{"kind":"A","quoted":"7","a name <&>":"x","numbers":{"1":"2"},"spec":{"a":"1","b":"2"},"metadata":{"name":"n"}}`), got, Options{}))
	assert.Equal(t, &oddKept{TypeMeta: metav1.TypeMeta{Kind: "A"}, ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: map[string]string{"a": "1"}}, got)
	again, _ := keep.New([]string{"spec[a]"})
	same, err := PlanOfKept(kind, JSON, again)
	require.NoError(t, err)
	assert.Same(t, plan, same)
	of, _ = keep.New([]string{"spec.size", "list.a"})
	for _, doc := range []string{
		`{"kind":"A","apiVersion":"v1","spec":{"size":1},"spec":{}}`, `{"kind":"A","apiVersion":"v1","spec":{},"spec":{"size":1}}`,
		`{"kind":"A","apiVersion":"v1","spec":{"size":1},"spec":{"other":1}}`, `{"kind":"A","apiVersion":"v1","spec":7,"list":[{"a":1,"b":2},{},3,[{"b":1}]]}`,
	} {
		sameUnstructured(t, []byte(doc), of, Options{})
	}
}

// TestKeptShare: lists of which only some fields are kept are one if these are equal, whatever the others are; a check of the
// shared part decodes the same.
func TestKeptShare(t *testing.T) {
	of, _ := keep.New([]string{"spec.containers.ports", "spec.containers.env.name", "spec.dnsConfig.nameservers"})
	plan, err := PlanOfKept(reflect.TypeFor[corev1.Pod](), Protobuf, of)
	require.NoError(t, err)
	pod := func(mount, port string) []byte {
		p := &corev1.Pod{Spec: corev1.PodSpec{
			DNSConfig: &corev1.PodDNSConfig{Nameservers: []string{"192.0.2.1", "192.0.2.2"}, Searches: []string{mount}},
			Containers: []corev1.Container{
				{Name: "a", Image: mount, Ports: []corev1.ContainerPort{{Name: port}}, Env: []corev1.EnvVar{{Name: "variable", Value: mount}}}, {Name: "b", Ports: []corev1.ContainerPort{{Name: "second", ContainerPort: 7000}}},
			},
		}}
		data, err := p.Marshal()
		require.NoError(t, err)
		return data
	}
	for _, checks := range []bool{false, true} {
		o := Options{Share: NewSharing(NewParts(1 << 20)), Checks: checks}
		decoded := func(mount, port string) *corev1.Pod {
			into := &corev1.Pod{}
			require.NoError(t, plan.Protobuf(pod(mount, port), into, o))
			return into
		}
		decoded("one", "p")
		first, other, last := decoded("two", "p"), decoded("three", "another"), decoded("a much longer one", "p")
		assert.Same(t, &first.Spec.Containers[0], &last.Spec.Containers[0])
		assert.Same(t, first.Spec.DNSConfig, last.Spec.DNSConfig)
		assert.NotSame(t, &first.Spec.Containers[0], &other.Spec.Containers[0])
		assert.Equal(t, "another", other.Spec.Containers[0].Ports[0].Name)
		assert.Equal(t, corev1.Container{Ports: []corev1.ContainerPort{{Name: "p"}}, Env: []corev1.EnvVar{{Name: "variable"}}}, first.Spec.Containers[0])
	}
}

func lenField(n int, b []byte) []byte {
	out := binary.AppendUvarint(nil, uint64(n)<<3|2)
	return append(binary.AppendUvarint(out, uint64(len(b))), b...)
}

// aPodOf returns a pod with these encoded containers.
func aPodOf(containers ...[]byte) []byte {
	spec := []byte{}
	for _, c := range containers {
		spec = append(spec, lenField(2, c)...)
	}
	return lenField(2, spec)
}

// TestKeptTwins: a container that decodes, and then one that must not be taken for it.
func TestKeptTwins(t *testing.T) {
	of, _ := keep.New([]string{"spec.containers.name", "spec.containers.workingDir", "spec.containers.args", "spec.containers.env.name", "spec.containers.ports.name", "spec.containers.ports.hostIP", "spec.containers.livenessProbe.exec.command"})
	plan, err := PlanOfKept(reflect.TypeFor[corev1.Pod](), Protobuf, of)
	require.NoError(t, err)
	cat := func(all ...[]byte) []byte { return bytes.Join(all, nil) }
	text := func(n int, s string) []byte { return lenField(n, []byte(s)) }
	pad, a, b := text(2, "an image that is not kept"), text(4, "a"), text(4, "b")
	base := cat(text(1, "n"), a, b)
	long := strings.Repeat("long", 80)
	for name, c := range map[string][2][]byte{
		"split":                {cat(base, pad), cat(text(1, "n"), a, pad, b)},
		"group":                {cat(base, pad), cat(base, pad, []byte{2<<3 | 3})},
		"end of group":         {cat(base, pad), cat(base, pad, []byte{2<<3 | 4})},
		"wire type 7":          {cat(base, pad), cat(base, pad, []byte{2<<3 | 7})},
		"truncated":            {cat(base, pad), cat(base, pad, []byte{2<<3 | 2, 9})},
		"overlong":             {cat(base, pad), cat(base, pad, []byte{2 << 3, 255, 255, 255, 255, 255, 255, 255, 255, 255, 7})},
		"number 0":             {cat(base, pad), cat(base, pad, []byte{2, 0})},
		"wire of kept":         {cat(base, pad), cat(base, pad, []byte{1 << 3, 1})},
		"another field":        {cat(text(1, "n"), pad), cat(text(5, "n"), pad)},
		"another nested field": {cat(lenField(6, cat(text(1, "n"), pad, pad))), cat(lenField(6, cat(text(5, "n"), text(7, "an image that is not kept"), pad)))},
		"another wide border":  {cat(lenField(6, text(1, "n")), lenField(6, text(5, "h")), pad), cat(lenField(6, cat(text(1, "n"), text(5, "h"))), pad)},
		"env or ports":         {cat(lenField(7, text(1, "n")), pad), cat(lenField(6, text(1, "n")), pad)},
		"256 longer":           {cat(lenField(7, text(1, long)), pad), cat(lenField(6, text(1, long)), pad)},
		"repeated unkept":      {cat(base, pad), cat(pad, base, pad)},
		"nested group":         {cat(lenField(7, text(1, "n")), pad), cat(lenField(7, cat(text(1, "n"), []byte{9<<3 | 3})), pad)},
		"nested split":         {cat(lenField(10, lenField(1, lenField(1, cat(text(1, "x"), text(1, "y"))))), pad), cat(lenField(10, lenField(1, lenField(1, cat(text(1, "x"), text(9, "z"), text(1, "y"))))), pad)},
		"list split":           {cat(lenField(7, text(1, "n")), lenField(7, text(1, "m")), pad), cat(lenField(7, text(1, "n")), pad, lenField(7, text(1, "m")))},
	} {
		for _, checks := range []bool{false, true} {
			o := Options{Share: NewSharing(NewParts(1 << 20)), Checks: checks}
			bad := 0
			o.Share.Report(func(w *Written) {
				if w != nil {
					bad++
				}
			})
			for range 4 {
				require.NoError(t, plan.Protobuf(aPodOf(c[0]), new(corev1.Pod), o), name)
			}
			want, got := new(corev1.Pod), new(corev1.Pod)
			errW, errG := plan.Protobuf(aPodOf(c[1]), want, Options{}), plan.Protobuf(aPodOf(c[1]), got, o)
			if assert.Equal(t, errW == nil, errG == nil, "%s: %v", name, errW) && errW == nil {
				assert.Equal(t, want, got, name)
			}
			assert.Zero(t, bad, name)
		}
	}
	// a found part can be decoded again from what it was looked up by
	table := NewParts(1 << 20)
	c := cat(base, pad, lenField(7, cat(text(1, long), pad)), lenField(7, cat(text(1, "m"), pad)))
	for range 4 {
		require.NoError(t, plan.Protobuf(aPodOf(c, c), new(corev1.Pod), Options{Share: NewSharing(table)}))
	}
	for raw, v := range table.All() {
		if list, is := v.Interface().([]corev1.Container); is {
			again := new(corev1.Pod)
			require.NoError(t, plan.Protobuf(lenField(2, append([]byte{2<<3 | 2}, raw...)), again, Options{}))
			assert.Equal(t, list, again.Spec.Containers)
		}
	}
}

// TestKeptShareGoesOn: lookups go on where lists of few kept bytes are found, although the objects have many other bytes.
func TestKeptShareGoesOn(t *testing.T) {
	of, _ := keep.New([]string{"spec.containers.name", "spec.containers.image", "metadata.annotations[x]"})
	plan, err := PlanOfKept(reflect.TypeFor[corev1.Pod](), Protobuf, of)
	require.NoError(t, err)
	o := Options{Share: NewSharing(NewParts(1 << 20))}
	lists := map[*corev1.Container]bool{}
	for i := range 5000 {
		p := &corev1.Pod{}
		for c := range 3 {
			other := []string{strings.Repeat("x", 900), fmt.Sprint(i)}
			p.Annotations = map[string]string{"other": strings.Repeat("y", 3000) + other[1]}
			p.Spec.Containers = append(p.Spec.Containers, corev1.Container{Name: fmt.Sprint("container", c), Image: "registry.example.com/some/image:v1", Command: other})
		}
		data, err := p.Marshal()
		require.NoError(t, err)
		into := new(corev1.Pod)
		require.NoError(t, plan.Protobuf(data, into, o))
		lists[&into.Spec.Containers[0]] = true
	}
	assert.Less(t, len(lists), 100)
}
