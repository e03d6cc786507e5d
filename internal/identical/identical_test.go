// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package identical

import (
	"math/rand"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/apitesting/fuzzer"
	"k8s.io/apimachinery/pkg/api/resource"
	metafuzzer "k8s.io/apimachinery/pkg/apis/meta/fuzzer"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kinformer/cache/internal/testkit/draw"
)

type tree struct {
	Name     string
	Children []tree
	Parent   *tree
	ByName   map[string]*tree
}

type padded struct {
	A bool
	B int64
	C bool
}

type marked struct {
	_ [0]sync.Mutex
	N int
}

// pair is two values, built separately, with the expected result.
type pair struct {
	name string
	a, b any
	same bool
}

func check(t *testing.T, pairs []pair) {
	for _, test := range pairs {
		assert.Equal(t, test.same, Objects(test.a, test.b), test.name)
		assert.Equal(t, test.same, Objects(test.b, test.a), test.name)
	}
}

func TestObjects(t *testing.T) {
	now := time.Now()
	check(t, []pair{
		{"nothing", nil, nil, true},
		{"nothing and something", nil, 1, false},
		{"something and nothing", "a", nil, false},
		{"numbers", 7, 7, true},
		{"other numbers", 7, 8, false},
		{"other types", int32(7), int64(7), false},
		{"texts", "a" + strings.Repeat("b", 9), "abbbbbbbbb", true},
		{"empty and nil slice", []string{}, []string(nil), false},
		{"empty and nil map", map[string]string{}, map[string]string(nil), false},
		{"empty and nil document", map[string]any{}, map[string]any(nil), false},
		{"empty and nil array", []any{}, []any(nil), false},
		{"nil pointers", (*tree)(nil), (*tree)(nil), true},
		{"nil pointer and zero", (*tree)(nil), &tree{}, false},
		{"pointers", &tree{Name: "a", Parent: &tree{Name: "b"}}, &tree{Name: "a", Parent: &tree{Name: "b"}}, true},
		{"deep difference", &tree{Parent: &tree{Parent: &tree{Name: "b"}}}, &tree{Parent: &tree{Parent: &tree{Name: "c"}}}, false},
		{"longer slice", &tree{Children: []tree{{}}}, &tree{Children: []tree{{}, {}}}, false},
		{"in a slice", &tree{Children: []tree{{}, {Name: "a"}}}, &tree{Children: []tree{{}, {Name: "b"}}}, false},
		{"in a map", &tree{ByName: map[string]*tree{"a": {Name: "a"}}}, &tree{ByName: map[string]*tree{"a": {Name: "b"}}}, false},
		{"other keys", map[string]string{"a": "1"}, map[string]string{"b": "1"}, false},
		{"other values", map[string]string{"a": "1"}, map[string]string{"a": "2"}, false},
		{"a key more", map[string]string{"a": "1"}, map[string]string{"a": "1", "b": "2"}, false},
		{"keys that are no strings", map[int][]string{1: {"a"}}, map[int][]string{1: {"a"}}, true},
		{"values of such", map[int][]string{1: {"a"}}, map[int][]string{1: {"b"}}, false},
		{"bytes in maps", map[string][]byte{"a": []byte("x")}, map[string][]byte{"a": []byte("x")}, true},
		{"other bytes in maps", map[string][]byte{"a": []byte("x")}, map[string][]byte{"a": []byte("y")}, false},
		{"times", now, now, true},
		{"one moment at two places", now, now.UTC(), false},
	})
}

// TestObjectsOfTheAPI checks objects of the API, and values that reflection and their users see
// differently.
func TestObjectsOfTheAPI(t *testing.T) {
	shown := resource.MustParse("1500m")
	_ = shown.String()
	check(t, []pair{
		{"functions", func() {}, func() {}, false},
		{"channels", make(chan int), make(chan int), false},
		{"locks", &sync.Mutex{}, &sync.Mutex{}, false},
		{"atomics", &atomic.Int64{}, &atomic.Int64{}, false},
		{"not to be copied", &marked{N: 1}, &marked{N: 1}, false},
		{"arrays", [3]string{"a", "b"}, [3]string{"a", "b"}, true},
		{"other arrays", [3]string{"a", "b"}, [3]string{"a", "c"}, false},
		{"quantities", resource.MustParse("1500m"), resource.MustParse("1500m"), true},
		{"a quantity that was printed", shown, resource.MustParse("1500m"), true},
		{"two ways to write a quantity", resource.MustParse("100m"), resource.MustParse("+100m"), true},
		{"other quantities", resource.MustParse("1500m"), resource.MustParse("1501m"), false},
		{"other formats", resource.MustParse("1Ki"), resource.MustParse("1024"), false},
		{"large quantities", resource.MustParse("123456789012345678901234567890"), resource.MustParse("123456789012345678901234567890"), true},
		{"other large quantities", resource.MustParse("123456789012345678901234567890"), resource.MustParse("123456789012345678901234567891"), false},
		{"named maps", corev1.ResourceList{"cpu": shown}, corev1.ResourceList{"cpu": resource.MustParse("1500m")}, true},
		{"other named maps", corev1.ResourceList{"cpu": shown}, corev1.ResourceList{"cpu": resource.MustParse("1")}, false},
		{"objects in extensions", &runtime.RawExtension{Object: &corev1.Pod{}}, &runtime.RawExtension{Object: &corev1.Pod{}}, true},
		{"other objects in extensions", &runtime.RawExtension{Object: &corev1.Pod{}}, &runtime.RawExtension{Object: &corev1.Node{}}, false},
		{"no object in extensions", &runtime.RawExtension{Raw: []byte("{}")}, &runtime.RawExtension{Raw: []byte("{}")}, true},
		{"documents", map[string]any{"a": []any{int64(1), 2.5, true, nil, "x"}}, map[string]any{"a": []any{int64(1), 2.5, true, nil, "x"}}, true},
		{"other documents", map[string]any{"a": []any{int64(1), 2.5}}, map[string]any{"a": []any{int64(1), 2.6}}, false},
		{"managed fields", metav1.NewFieldsV1("{a}"), metav1.NewFieldsV1("{a}"), true},
		{"other managed fields", metav1.NewFieldsV1("{a}"), metav1.NewFieldsV1("{b}"), false},
	})
}

// TestPadding checks that the padding between fields is ignored.
func TestPadding(t *testing.T) {
	a, b := &padded{A: true, B: 2}, &padded{A: true, B: 2}
	unsafe.Slice((*byte)(unsafe.Pointer(a)), unsafe.Sizeof(*a))[1] = 0xFF
	assert.True(t, Objects(a, b))
	b.C = true
	assert.False(t, Objects(a, b))
}

// TestCycles checks that the comparison of objects that contain themselves ends.
func TestCycles(t *testing.T) {
	a, b := &tree{}, &tree{}
	a.Parent, b.Parent = a, b
	assert.False(t, Objects(a, b))
	x, y := map[string]any{}, map[string]any{}
	x["x"], y["x"] = x, y
	assert.False(t, Objects(x, y))
}

// kinds are the types of objects in a typical cache.
var kinds = []runtime.Object{
	&corev1.Pod{}, &corev1.Node{}, &corev1.Secret{}, &corev1.ConfigMap{}, &corev1.Service{}, &corev1.Event{}, &corev1.PersistentVolume{},
	&appsv1.Deployment{}, &appsv1.ControllerRevision{}, &networkingv1.Ingress{}, &metav1.PartialObjectMetadata{},
}

// TestCopies checks that a copy of an object is identical to it, and differs after a change of any
// single value, unless reflect.DeepEqual reports no difference.
func TestCopies(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		random := rand.NewSource(int64(t.Uint64()))
		fill := fuzzer.FuzzerFor(metafuzzer.Funcs, random, scheme.Codecs).NilChance(0.3).NumElements(0, 3).MaxDepth(12)
		obj := reflect.New(reflect.TypeOf(draw.Of(t, kinds...)).Elem()).Interface().(runtime.Object)
		fill.Fill(obj)
		twin := obj.DeepCopyObject()
		require.True(t, Objects(obj, twin))

		leaves := 0
		change(reflect.ValueOf(twin).Elem(), func() bool { leaves++; return false })
		if leaves == 0 {
			return
		}
		at := draw.Int(t, 1, leaves)
		change(reflect.ValueOf(twin).Elem(), func() bool { at--; return at == 0 })
		if !reflect.DeepEqual(obj, twin) {
			require.False(t, Objects(obj, twin))
		}
	})
}

// TestCopiesOfDocuments checks the same for unstructured objects.
func TestCopiesOfDocuments(t *testing.T) {
	draw.Check(t, func(t *draw.T) {
		a := &unstructured.Unstructured{Object: map[string]any{"content": document(t, 4)}}
		b := a.DeepCopy()
		require.True(t, Objects(a, b))
		b.Object["content"] = document(t, 4)
		require.Equal(t, reflect.DeepEqual(a, b), Objects(a, b))
	})
}

// document returns a value that is nested at most to the depth.
func document(t *draw.T, depth int) any {
	switch kind := draw.Int(t, 0, 2); {
	case kind == 1 && depth > 0:
		return draw.Slice(t, 0, 3, func() any { return document(t, depth-1) })
	case kind == 2 && depth > 0:
		entries := map[string]any{}
		for range draw.Int(t, 0, 3) {
			entries[draw.Of(t, "k0", "k1", "k2")] = document(t, depth-1)
		}
		return entries
	}
	return draw.Of[any](t, nil, false, true, int64(0), int64(1), int64(2), 0.0, 0.5, 1.0, "", "a", "b")
}

// change changes the values for which now returns true. It calls now for each value that it can
// change.
func change(v reflect.Value, now func() bool) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanSet() {
				change(f, now)
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			change(v.Elem(), now)
		}
	case reflect.Slice:
		for i := range v.Len() {
			change(v.Index(i), now)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			change(value, now)
			v.SetMapIndex(key, value)
		}
	case reflect.String:
		if now() {
			v.SetString(v.String() + "!")
		}
	case reflect.Bool:
		if now() {
			v.SetBool(!v.Bool())
		}
	case reflect.Int32, reflect.Int64:
		if now() {
			v.SetInt(v.Int() + 1)
		}
	}
}

// TestEqualOnlyReads checks that a comparison only reads, including the first one of a type.
func TestEqualOnlyReads(t *testing.T) {
	type first struct{ A, B []*padded }
	a, b := &first{A: []*padded{{}}}, &first{A: []*padded{{}}}
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() { assert.True(t, Objects(a, b)) })
	}
	readers.Wait()
}
