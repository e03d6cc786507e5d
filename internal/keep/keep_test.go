// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"encoding/json"
	"fmt"
	"maps"
	oldrand "math/rand"
	"math/rand/v2"
	"reflect"
	goruntime "runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache/internal/testkit/draw"
)

// leaves returns the values of a JSON document by their paths, without those that are empty: with the positions
// of lists, and without.
func leaves(t require.TestingT, obj any) map[string]string {
	text, err := json.Marshal(obj)
	require.NoError(t, err)
	var content any
	require.NoError(t, json.Unmarshal(text, &content))
	found := map[string]string{}
	var walk func(at, path string, v any)
	walk = func(at, path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for name, value := range v {
				walk(at+"\x00"+name, path+"\x00"+name, value)
			}
		case []any:
			for i, value := range v {
				walk(fmt.Sprint(at, "\x01", i), path, value)
			}
		case nil:
		default:
			if !reflect.ValueOf(v).IsZero() {
				found[at+"\x02"+path] = fmt.Sprint(v)
			}
		}
	}
	walk("", "", content)
	return found
}

// isKept is the rule that Fields implement: by the path of a leaf, with \x00 before each name.
func isKept(path string, paths []string) bool {
	for _, always := range []string{"\x00kind", "\x00apiVersion"} {
		if path == always {
			return true
		}
	}
	for _, p := range paths {
		steps, _ := Steps(p)
		begin := ""
		for _, step := range steps {
			begin += "\x00" + step.Name
		}
		if path == begin || strings.HasPrefix(path, begin+"\x00") {
			return true
		}
	}
	after, inMetadata := strings.CutPrefix(path, "\x00metadata\x00")
	name, _, _ := strings.Cut(after, "\x00")
	return inMetadata && name != "annotations" && name != "managedFields"
}

// anyPath draws a path of a type. Maps have the keys of the fuzzer's, which are random, or one of their object.
func anyPath(t *draw.T, of reflect.Type, keys []string) string {
	path := ""
	for {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice && !DecodesItself(of) {
			of = of.Elem()
		}
		switch {
		case DecodesItself(of):
			return path
		case of.Kind() == reflect.Map && len(keys) > 0:
			path, of = path+"["+draw.Of(t, keys...)+"]", of.Elem()
		case of.Kind() == reflect.Struct:
			names := namesOf(of, map[string]reflect.Type{})
			if len(names) == 0 {
				return path
			}
			name := draw.Of(t, slices.Sorted(maps.Keys(names))...)
			path, of = joined(path, Step{Name: name}), names[name]
		default:
			return path
		}
		if draw.Of(t, true, false, false) {
			return path
		}
	}
}

// usableKeys returns the keys of maps in an object that may be in a path.
func usableKeys(t require.TestingT, obj any) (keys []string) {
	for leaf := range leaves(t, obj) {
		key := leaf[strings.LastIndex(leaf, "\x00")+1:]
		if !strings.ContainsAny(key, "]\x01\x02") && key != "" {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// TestPrune compares the leaves of random objects, with and without a Go type, with those that the rule keeps,
// and checks that nothing is changed that others may share.
func TestPrune(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		seed := draw.Int(t, 0, 1<<30)
		fill := fuzzer.FuzzerFor(metafuzzer.Funcs, oldrand.NewSource(int64(seed)), scheme.Codecs).NilChance(0.3).NumElements(0, 3).MaxDepth(12)
		obj := []runtime.Object{&v1.Pod{}, &v1.Node{}, &v1.ConfigMap{}, &appsv1.Deployment{}, &metav1.PartialObjectMetadata{}}[rand.New(rand.NewPCG(uint64(seed), 0)).IntN(5)]
		fill.Fill(obj)
		keys := usableKeys(t, obj)
		paths := draw.Slice(t, 0, 6, func() string { return anyPath(t, reflect.TypeOf(obj).Elem(), keys) })
		paths = slices.DeleteFunc(paths, func(p string) bool { return p == "metadata" || p == "" })
		for _, path := range paths {
			assert.Empty(t, Check(reflect.TypeOf(obj).Elem(), path), path)
		}
		kept, malformed := New(append([]string{}, paths...))
		require.Empty(t, malformed)
		want := leaves(t, obj)
		maps.DeleteFunc(want, func(leaf, _ string) bool { return !isKept(leaf[strings.Index(leaf, "\x02")+1:], paths) })

		before := obj.DeepCopyObject()
		pruned := reflect.New(reflect.TypeOf(obj).Elem())
		pruned.Elem().Set(reflect.ValueOf(obj).Elem())
		kept.Prune(pruned.Interface())
		assert.Equal(t, want, leaves(t, pruned.Interface()), "%q", paths)
		assert.Equal(t, before, obj, "shared parts have changed")
		kept.Prune(pruned.Interface())
		assert.Equal(t, want, leaves(t, pruned.Interface()), "pruned again")

		text, err := json.Marshal(obj)
		require.NoError(t, err)
		content := map[string]any{}
		require.NoError(t, json.Unmarshal(text, &content))
		untyped := &unstructured.Unstructured{Object: content}
		shared := untyped.DeepCopy().Object
		kept.Prune(untyped)
		assert.Equal(t, want, leaves(t, untyped.Object), "%q", paths)
		assert.Equal(t, shared, content)
	})
}

// TestPrunedMapsAreSmall: a map of which a key remains takes no memory for the others.
func TestPrunedMapsAreSmall(t *testing.T) {
	kept, _ := New([]string{"data[k1]"})
	objects := make([]*unstructured.Unstructured, 20)
	var before, after goruntime.MemStats
	goruntime.GC()
	goruntime.ReadMemStats(&before)
	for i := range objects {
		data := map[string]any{}
		for key := range 1000 {
			data[fmt.Sprint("k", key)] = "v"
		}
		objects[i] = &unstructured.Unstructured{Object: map[string]any{"data": data}}
		kept.Prune(objects[i])
	}
	goruntime.GC()
	goruntime.ReadMemStats(&after)
	assert.Less(t, after.HeapAlloc, before.HeapAlloc+20*10_000)
	assert.Equal(t, map[string]any{"data": map[string]any{"k1": "v"}}, objects[0].Object)
}

// TestPruneShapes: what is empty, or nil.
func TestPruneShapes(t *testing.T) {
	prune := func(obj any, paths ...string) any {
		kept, malformed := New(append([]string{}, paths...))
		require.Empty(t, malformed)
		kept.Prune(obj)
		return obj
	}
	full := func() *v1.Pod {
		return &v1.Pod{
			TypeMeta:   metav1.TypeMeta{Kind: "Pod"},
			ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"x": "1", "y": "2"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}},
			Spec: v1.PodSpec{
				NodeName: "n", SecurityContext: &v1.PodSecurityContext{}, NodeSelector: map[string]string{},
				Volumes:    []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{Optional: new(bool)}}}},
				Containers: []v1.Container{{Name: "c", Ports: []v1.ContainerPort{{Name: "p"}}}, {}},
			},
		}
	}
	meta := metav1.ObjectMeta{Name: "a"}
	pod := func(spec v1.PodSpec) *v1.Pod {
		return &v1.Pod{TypeMeta: metav1.TypeMeta{Kind: "Pod"}, ObjectMeta: meta, Spec: spec}
	}
	assert.Equal(t, pod(v1.PodSpec{}), prune(full()), "an empty list keeps the metadata")
	assert.Equal(t, pod(v1.PodSpec{NodeName: "n"}), prune(full(), "spec.nodeName"))
	assert.Equal(t, full().Spec, prune(full(), "spec").(*v1.Pod).Spec)
	assert.Equal(t, pod(v1.PodSpec{}), prune(full(), "spec.nodeSelector[x]"), "of an empty map nothing remains")
	assert.Equal(t, pod(v1.PodSpec{SecurityContext: &v1.PodSecurityContext{}}), prune(full(), "spec.securityContext.runAsUser"))
	assert.Equal(t, pod(v1.PodSpec{Containers: []v1.Container{{Ports: []v1.ContainerPort{{Name: "p"}}}, {}}}), prune(full(), "spec.containers.ports"))
	assert.Equal(t, full().Spec.Volumes[0].VolumeSource, prune(full(), "spec.volumes.configMap").(*v1.Pod).Spec.Volumes[0].VolumeSource, "of an embedded struct")
	assert.Equal(t, map[string]string{"x": "1"}, prune(full(), "metadata.annotations[x]").(*v1.Pod).Annotations)
	assert.Nil(t, prune(full(), "metadata.annotations[z]").(*v1.Pod).Annotations)
	assert.Len(t, prune(full(), "metadata.managedFields", "metadata.annotations").(*v1.Pod).ManagedFields, 1)
	assert.Nil(t, prune((*v1.Pod)(nil)).(*v1.Pod))
	assert.Equal(t, "text", prune("text"))
	assert.Equal(t, &unstructured.Unstructured{}, prune(&unstructured.Unstructured{}))
	object := func(content map[string]any) any { return &unstructured.Unstructured{Object: content} }
	for _, path := range []string{"data.x", "data[x]"} {
		assert.Equal(t, object(map[string]any{"data": map[string]any{"x": "1"}}), prune(object(map[string]any{"data": map[string]any{"x": "1", "y": "2"}, "other": "3"}), path))
	}
	assert.Equal(t, object(map[string]any{}), prune(object(map[string]any{"data": map[string]any{"y": "2"}}), "data.x"))
	nothing, _ := New(nil)
	assert.Equal(t, full(), func() any { p := full(); nothing.Prune(p); return p }(), "nil paths keep all")
}

// TestCheck: a path that names nothing is refused, with one that may be meant.
func TestCheck(t *testing.T) {
	for path, why := range map[string]string{
		"spec.nodename":                           "there is no spec.nodename: did you mean spec.nodeName?",
		"spec.containers.port":                    "there is no spec.containers.port: did you mean spec.containers.ports?",
		"spec.contaners.ports":                    "there is no spec.contaners: did you mean spec.containers.ports?",
		"spec.nodeSelector.zone":                  "spec.nodeSelector is a map: did you mean spec.nodeSelector[zone]?",
		"metadata.annotations.example.com/x":      "metadata.annotations is a map: did you mean metadata.annotations[example.com/x]?",
		"spec.overhead.example.com/x":             "spec.overhead is a map: did you mean spec.overhead[example.com/x]?",
		"spec.overhead.a[b]":                      "spec.overhead is a map: did you mean spec.overhead[a][b]?",
		"spec[nodeName]":                          "spec is no map: did you mean spec.nodeName?",
		"spec.nodeName.x":                         "spec.nodeName has no fields: it is a string",
		"metadata.creationTimestamp.x":            "metadata.creationTimestamp is read by a decoder of its own (v1.Time): keep the whole of it",
		"spec.containers.resources.limits[cpu].d": "spec.containers.resources.limits[cpu] is read by a decoder of its own (resource.Quantity): keep the whole of it",
		"zzzzzzzzzzz":                             "there is no zzzzzzzzzzz",
	} {
		assert.Equal(t, why, Check(reflect.TypeFor[v1.Pod](), path), path)
	}
	for _, path := range []string{"", ".", "spec.", ".spec", "spec..x", "spec[", "spec[]", "spec[a", "spec]", "[x]", "spec[a]b", "spec[a]]"} {
		assert.Contains(t, Check(reflect.TypeFor[v1.Pod](), path), "it is no path", path)
		_, malformed := New([]string{path})
		assert.Equal(t, []string{path}, malformed)
	}
	for _, path := range []string{"spec", "status.podIPs", "spec.volumes.configMap.name", "metadata.annotations[example.com/x.y]", "spec.containers.resources.limits[cpu]"} {
		assert.Empty(t, Check(reflect.TypeFor[v1.Pod](), path), path)
	}
	assert.Empty(t, Check(reflect.TypeFor[v1.ConfigMap](), "data[a.b]"))
	assert.Equal(t, "data is a map: did you mean data[a.b]?", Check(reflect.TypeFor[v1.Secret](), "data.a.b"))
	assert.Equal(t, "Devices is a map: did you mean Devices[a].name?", Check(reflect.TypeFor[struct{ Devices map[string]tree }](), "Devices.a.name"))
}

// tree embeds itself, and has fields of the sorts that JSON treats apart.
type tree struct {
	metav1.TypeMeta `json:",inline"`
	*tree
	name
	Spec    part            `json:"spec,inline"`
	Plain   part            `json:",inline"`
	Numbers map[int]string  `json:"numbers"`
	Texts   map[name]string `json:"texts"`
}

type name string

type part struct {
	A string `json:"a,omitempty"`
	B string `json:"b,omitempty"`
}

// TestInline: the fields of a field are those of the struct only if it is embedded, is a struct, and has no name in JSON. A type may
// embed itself.
func TestInline(t *testing.T) {
	of := reflect.TypeFor[tree]()
	for path, why := range map[string]string{
		"spec.a": "", "Plain.b": "", "texts[x]": "", "kind": "",
		"a": "there is no a", "numbers[1]": "numbers is a map whose keys are no strings: keep the whole of it",
	} {
		if got := Check(of, path); why == "" {
			assert.Empty(t, got, path)
		} else {
			assert.Contains(t, got, why, path)
		}
	}
	kept, _ := New([]string{"spec.a"})
	hidden := &tree{name: "encoding/json cannot set it"}
	obj := &tree{TypeMeta: metav1.TypeMeta{Kind: "K"}, tree: hidden, name: "x", Spec: part{"1", "2"}, Plain: part{"1", "2"}, Numbers: map[int]string{1: "x"}, Texts: map[name]string{"a": "b"}}
	kept.Prune(obj)
	assert.Equal(t, &tree{TypeMeta: metav1.TypeMeta{Kind: "K"}, tree: hidden, name: "x", Spec: part{A: "1"}}, obj)
}

// TestPruneWritesNothing: objects of which all is kept are not written to, since others may read them.
func TestPruneWritesNothing(t *testing.T) {
	kept, _ := New([]string{"spec.containers.ports", "data[x]"})
	pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Ports: []v1.ContainerPort{{Name: "p"}}}}}}
	containers := &pod.Spec.Containers[0]
	kept.Prune(pod)
	assert.Same(t, containers, &pod.Spec.Containers[0])
	untyped := &unstructured.Unstructured{Object: map[string]any{"kind": "A", "data": map[string]any{"x": "1"}}}
	before := reflect.ValueOf(untyped.Object).Pointer()
	kept.Prune(untyped)
	assert.Equal(t, before, reflect.ValueOf(untyped.Object).Pointer())
}

// TestSameFields: equal sets of paths are the same Fields, whose plans share parts; sets that only look alike are not.
func TestSameFields(t *testing.T) {
	of := func(paths ...string) *Fields {
		fields, malformed := New(paths)
		require.Empty(t, malformed)
		return fields
	}
	assert.Same(t, of("a", "b.c"), of("b.c", "a", "a"))
	assert.NotSame(t, of("a", "b"), of("a[x\nb]"))
	assert.NotSame(t, of("a\nb"), of("a", "b"))
}
