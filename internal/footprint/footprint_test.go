// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package footprint

import (
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
)

const plenty = 1 << 30

func sizeOfAll(objects ...any) int64 {
	bytes, _, _ := Objects(objects, plenty)
	return bytes
}

// text returns a text of n bytes in new memory.
func text(n int) string { return strings.Repeat("x", n) }

func TestObjects(t *testing.T) {
	type pair struct {
		a string
		b *int64
	}
	type node struct{ next *node }
	type name string
	seven, shared := int64(7), text(100)
	ring := &node{}
	ring.next = &node{next: ring}
	var nilPod *corev1.Pod
	for name, tc := range map[string]struct {
		objects []any
		want    int64
	}{
		"nothing":                  {nil, 0},
		"nil":                      {[]any{nil, nilPod}, 0},
		"number":                   {[]any{&seven}, 8},
		"empty text":               {[]any{new(string)}, 16},
		"text":                     {[]any{&pair{a: text(100)}}, 32 + 112},
		"text by value":            {[]any{text(100)}, 16 + 112},
		"pointer":                  {[]any{&pair{b: &seven}}, 32 + 8},
		"shared text":              {[]any{&pair{a: shared}, &pair{a: shared}}, 2*32 + 112},
		"text of two types":        {[]any{&pair{a: shared}, &[1]name{name(shared)}}, 32 + 16 + 112},
		"shared object":            {[]any{ring, ring}, 2 * 8},
		"ring":                     {[]any{ring}, 2 * 8},
		"slice with room":          {[]any{&[]int64{0: 1}}, 32 + 8},
		"slice of texts":           {[]any{&[]string{text(20), text(20)}}, 32 + 32 + 2*32},
		"time":                     {[]any{&metav1.Time{Time: time.Now()}}, 32},
		"array":                    {[]any{&[2]string{text(20), text(20)}}, 32 + 2*32},
		"interface":                {[]any{&[]any{text(20), nil, int64(5)}}, 32 + 48 + 16 + 32 + 8},
		"empty map":                {[]any{map[string]string{}}, 48},
		"map":                      {[]any{map[string]string{"": text(20)}}, 48 + 288 + 32},
		"first field of a struct":  {[]any{&pair{}, &[]*pair{{}}}, 32 + 32 + 8 + 32},
		"pointer to what is known": {[]any{&pair{b: &seven}, &seven}, 32 + 8},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, tc.want, sizeOfAll(tc.objects...)) })
	}
}

// TestSizesAreThoseOfTheAllocator: an estimate is close to the allocated memory.
func TestSizesAreThoseOfTheAllocator(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: "p", Labels: map[string]string{"a": "1", "b": "2"}, Annotations: map[string]string{},
		OwnerReferences: []metav1.OwnerReference{{}}, ManagedFields: []metav1.ManagedFieldsEntry{{}, {}},
	}}
	for i := range 20 {
		pod.Annotations[fmt.Sprint("annotation", i)] = "value"
	}
	for range 3 {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
			Env: make([]corev1.EnvVar, 7), VolumeMounts: make([]corev1.VolumeMount, 3),
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
		})
	}
	content, err := apiruntime.DefaultUnstructuredConverter.ToUnstructured(pod)
	assert.NoError(t, err)
	for name, object := range map[string]apiruntime.Object{"pod": pod, "unstructured": &unstructured.Unstructured{Object: content}} {
		t.Run(name, func(t *testing.T) {
			const n = 200
			copies := make([]any, 1, n+1) // share the texts with the first
			copies[0] = object
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range n {
				copies = append(copies, object.DeepCopyObject())
			}
			runtime.ReadMemStats(&after)
			taken := float64(after.TotalAlloc - before.TotalAlloc)
			assert.InEpsilon(t, taken, sizeOfAll(copies...)-sizeOfAll(object), 0.15)
		})
	}
}

// TestSmallTexts: small texts of objects take no blocks of their own. A value that counts alone keeps all of them.
func TestSmallTexts(t *testing.T) {
	const n, texts = 500, 40
	objects := make([]any, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range objects {
		all := make([]string, texts)
		for j := range all {
			all[j] = text(8)
		}
		objects[i] = &all
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	// With the race detector each has a block.
	assert.LessOrEqual(t, sizeOfAll(objects...), int64(after.HeapAlloc-before.HeapAlloc)*11/10)
	assert.EqualValues(t, 32+16*texts+16*texts, Of(reflect.ValueOf(objects[0])))
}

// TestSizeOfEnds: the number of visited values is bounded, in one object and among many.
func TestSizeOfEnds(t *testing.T) {
	long := make([]*string, 1000)
	for i := range long {
		long[i] = new(string)
	}
	bytes, looked, left := Objects([]any{&long, &long}, 100)
	assert.Equal(t, 1, looked)
	assert.Zero(t, left)
	assert.Less(t, bytes, sizeOfAll(&long))
	assert.Positive(t, bytes)

	var chain any
	for range 100_000 {
		chain = []any{chain}
	}
	_, _, left = Objects([]any{chain}, 1000)
	assert.Zero(t, left)
}

// TestBlock compares sizes with those of the allocator.
func TestBlock(t *testing.T) {
	for size, want := range map[uintptr]int64{0: 0, 1: 16, 16: 16, 17: 32, 128: 128, 129: 144, 144: 144, 1000: 1024, 1025: 1152, 1 << 20: 1 << 20} {
		assert.Equal(t, want, Block(size), size)
	}
	for _, block := range append([]uintptr{256, 40960, 1 << 20}, blocks...) {
		for size := block - 1; size <= block+1; size++ {
			assert.EqualValues(t, cap(slices.Grow([]byte(nil), int(size))), Block(size), size)
		}
	}
}

// TestSizesBesideString: a program may print a quantity of a cached object while the object is measured.
func TestSizesBesideString(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: resource.NewQuantity(1<<30, resource.BinarySI)}}}}}}
	var printing sync.WaitGroup
	printing.Go(func() { assert.Equal(t, "1Gi", pod.Spec.Volumes[0].EmptyDir.SizeLimit.String()) })
	assert.Positive(t, sizeOfAll(pod))
	printing.Wait()
}
