// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"
)

var podForm = form{of: reflect.TypeFor[*v1.Pod]()}

// bytesOf are those of an object of that size, which differ by a number.
func bytesOf(n, size int) []byte {
	b := bytes.Repeat([]byte("x"), size)
	copy(b, fmt.Sprint(n, " "))
	return b
}

// TestFormsAreApart: the same bytes are different objects where another decoder, or another place,
// makes something else of them.
func TestFormsAreApart(t *testing.T) {
	r, data := newRemembered(), bytesOf(1, leastRemembered)
	forms := []form{
		podForm,
		{of: podForm.of, in: inCleared},
		{of: podForm.of, in: inItem},
		{of: podForm.of, in: inMessage},
		{of: podForm.of, in: inItem, list: listHead{Kind: "PodList"}},
		{of: podForm.of, in: inItem, list: listHead{Kind: "PodList", APIVersion: "v1"}},
		{of: podForm.of, in: inMessage, kind: schema.GroupVersionKind{Kind: "Pod"}},
		{of: reflect.TypeFor[*v1.Node]()},
		{of: reflect.TypeFor[*unstructured.Unstructured]()},
	}
	var kept []kruntime.Object
	for _, f := range forms {
		obj, p := r.find(f, data)
		require.Nil(t, obj, "%+v", f)
		kept = append(kept, reflect.New(f.of.Elem()).Interface().(kruntime.Object))
		r.add(p, kept[len(kept)-1])
	}
	for i, f := range forms {
		obj, _ := r.find(f, bytes.Clone(data))
		assert.Same(t, kept[i], obj, "%+v", f)
	}
	runtime.KeepAlive(kept)
}

// TestLeastRemembered tries the threshold, and bytes that differ by the last one, or by one more.
func TestLeastRemembered(t *testing.T) {
	r := newRemembered()
	for _, size := range []int{0, 1, leastRemembered - 1, leastRemembered, leastRemembered + 1} {
		obj, data := &v1.Pod{}, bytesOf(size, size)
		_, p := r.find(podForm, data)
		r.add(p, obj)
		found, _ := r.find(podForm, data)
		assert.Equal(t, size >= leastRemembered, found != nil, "%d", size)
		if size == 0 {
			continue
		}
		data[size-1]++
		found, _ = r.find(podForm, data)
		assert.Nil(t, found)
		data[size-1]--
		found, _ = r.find(podForm, append(data, 0))
		assert.Nil(t, found)
		runtime.KeepAlive(obj)
	}
}

// TestItemsOfErrors: what cannot be decoded is not remembered.
func TestItemsOfErrors(t *testing.T) {
	r, data := newRemembered(), bytesOf(1, leastRemembered)
	broken := errors.New("broken")
	got := r.item(podForm, data, false, func() (kruntime.Object, error) { return nil, broken })
	assert.Equal(t, Item{Wire: data, Why: broken}, got)
	assert.Empty(t, r.mu.objects)
	var nothing *remembered
	pod := &v1.Pod{}
	got = nothing.item(podForm, data, false, func() (kruntime.Object, error) { return pod, nil })
	assert.Same(t, pod, got.Object)
	nothing.forget()
}

// TestRememberedForgets: of many objects that come and go few references are left.
func TestRememberedForgets(t *testing.T) {
	r := newRemembered()
	alive := make([]kruntime.Object, 1000)
	for i := range 100_000 {
		obj := &v1.Pod{}
		_, p := r.find(podForm, bytesOf(i, leastRemembered))
		require.NotZero(t, p)
		r.add(p, obj)
		alive[i%len(alive)] = obj
		if i%1000 == 999 {
			runtime.GC()
		}
	}
	assert.Less(t, len(r.mu.objects), 4*len(alive))
	for i := range alive {
		obj, _ := r.find(podForm, bytesOf(99_000+i, leastRemembered))
		require.Same(t, alive[i], obj)
	}
}

// TestRememberedModel: whatever is added, dropped and collected, what is found is what was added
// last under the same bytes and form, and it is found as long as somebody has it.
func TestRememberedModel(t *testing.T) {
	forms := []form{podForm, {of: podForm.of, in: inItem}, {of: reflect.TypeFor[*v1.Node]()}}
	rapid.Check(t, func(t *rapid.T) {
		r := newRemembered()
		type place struct{ form, n int }
		alive, last := map[place]kruntime.Object{}, map[place]string{}
		n := 0
		at := rapid.Custom(func(t *rapid.T) place {
			return place{rapid.IntRange(0, len(forms)-1).Draw(t, "form"), rapid.IntRange(0, 40).Draw(t, "n")}
		})
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				p := at.Draw(t, "at")
				obj := reflect.New(forms[p.form].of.Elem()).Interface().(kruntime.Object)
				n++
				nameOf(obj).SetName(fmt.Sprint(n))
				_, print := r.find(forms[p.form], bytesOf(p.n, leastRemembered))
				r.add(print, obj)
				alive[p], last[p] = obj, fmt.Sprint(n)
			},
			"drop": func(t *rapid.T) { delete(alive, at.Draw(t, "at")) },
			"collect": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					runtime.GC()
				}
			},
			"forget": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					r.forget()
					clear(alive)
					clear(last)
				}
			},
			"": func(t *rapid.T) {
				p := at.Draw(t, "at")
				obj, _ := r.find(forms[p.form], bytesOf(p.n, leastRemembered))
				if kept := alive[p]; kept != nil {
					require.Same(t, kept, obj)
				}
				if obj != nil {
					require.Equal(t, last[p], nameOf(obj).GetName())
				}
			},
		})
	})
}

func nameOf(obj kruntime.Object) interface {
	SetName(string)
	GetName() string
} {
	return obj.(interface {
		SetName(string)
		GetName() string
	})
}

// TestRememberedTogether: any number of goroutines, and the garbage collector beside them.
func TestRememberedTogether(t *testing.T) {
	r := newRemembered()
	var running sync.WaitGroup
	for g := range 4 {
		running.Go(func() {
			var kept [500]kruntime.Object
			for i := range 2000 {
				data := bytesOf(i%100, leastRemembered)
				obj, p := r.find(podForm, data)
				if obj == nil {
					pod := &v1.Pod{}
					pod.Name = fmt.Sprint(i % 100)
					r.add(p, pod)
					obj = pod
				}
				assert.Equal(t, fmt.Sprint(i%100), obj.(*v1.Pod).Name)
				if kept[i%len(kept)] = obj; i%len(kept) == len(kept)-1 {
					clear(kept[:])
					runtime.GC()
					if g == 0 {
						r.forget()
					}
				}
			}
			runtime.KeepAlive(kept)
		})
	}
	running.Wait()
}
