// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/testkit"
)

// entered adds an object of these bytes.
func (r *remembered) entered(f form, data []byte) kruntime.Object {
	obj := reflect.New(f.of.Elem()).Interface().(kruntime.Object)
	_, p := r.find(f, data)
	r.add(p, obj)
	return obj
}

// TestFormsAreFew: a server that says of each list that it is of another kind, or of one with a
// long name, fills no memory. What is in the last forms is found.
func TestFormsAreFew(t *testing.T) {
	r, data := newRemembered(), bytesOf(1, leastRemembered)
	formOf := func(kind string) form {
		return form{of: podForm.of, in: inItem, list: listHead{Kind: kind, APIVersion: "v1"}}
	}
	var kept []kruntime.Object
	for i := range 10 * mostForms {
		obj := r.entered(formOf(fmt.Sprint(i)), data)
		found, _ := r.find(formOf(fmt.Sprint(i)), data)
		require.Same(t, obj, found)
		require.LessOrEqual(t, len(r.mu.forms), mostForms)
		kept = append(kept, obj)
	}
	for i := range 10*mostForms - mostForms {
		found, _ := r.find(formOf(fmt.Sprint(i)), data)
		require.Nil(t, found, "forgotten, and not another's")
	}
	long := formOf(strings.Repeat("x", longestForm+1))
	r.entered(long, data)
	assert.NotContains(t, r.mu.forms, long)
	runtime.KeepAlive(kept)
}

// TestAddedBehindForget: what was looked for before all was forgotten is not found when it is added
// behind that, whatever forms come then.
func TestAddedBehindForget(t *testing.T) {
	r, data := newRemembered(), bytesOf(1, leastRemembered)
	_, p := r.find(podForm, data)
	r.forget()
	other := podForm
	other.in = inItem
	for _, f := range []form{other, podForm} {
		found, _ := r.find(f, data)
		require.Nil(t, found)
	}
	obj := &v1.Pod{}
	r.add(p, obj)
	for _, f := range []form{other, podForm} {
		found, _ := r.find(f, data)
		assert.Nil(t, found)
	}
	runtime.KeepAlive(obj)
}

// TestRememberedShrinks: when most objects are deleted, little room is left of the table, and
// little time goes by for what comes then.
func TestRememberedShrinks(t *testing.T) {
	const many = 20_000
	r := newRemembered()
	alive := make([]kruntime.Object, many)
	for i := range alive {
		alive[i] = r.entered(podForm, bytesOf(i, leastRemembered))
	}
	require.Len(t, r.mu.objects, many)
	alive = alive[:10:10]
	for i := range many {
		if i%(many/4) == 0 {
			alive = append([]kruntime.Object(nil), alive...)
			runtime.GC()
		}
		r.deleted()
	}
	assert.Less(t, len(r.mu.objects), many/10)
	assert.Less(t, r.mu.most, many/2, "it was made anew")
	for i := range alive {
		found, _ := r.find(podForm, bytesOf(i, leastRemembered))
		assert.Same(t, alive[i], found)
	}
}

// TestWrittenPartForgets: when a part is found that somebody has written to, no informer returns
// objects that it has: they may have that part.
func TestWrittenPartForgets(t *testing.T) {
	testkit.Reports(t)
	one, another, data := newRemembered(), newRemembered(), bytesOf(1, leastRemembered)
	kept := []kruntime.Object{one.entered(podForm, data), another.entered(podForm, data)}
	(&Ledger{}).checkedPart(nil)
	for i, r := range []*remembered{one, another} {
		found, _ := r.find(podForm, data)
		require.Same(t, kept[i], found)
	}
	(&Ledger{}).checkedPart(&decode.Written{Is: reflect.ValueOf([]string{"a"}), Was: reflect.ValueOf([]string{"b"})})
	for _, r := range []*remembered{one, another} {
		found, _ := r.find(podForm, data)
		assert.Nil(t, found)
		obj := r.entered(podForm, data)
		found, _ = r.find(podForm, data)
		assert.Same(t, obj, found)
	}
	runtime.KeepAlive(kept)
}

// TestWrittenPartInABubble: that somebody has written to a part holds up nobody, not even in a
// bubble that begins long before the last error.
func TestWrittenPartInABubble(t *testing.T) {
	utilruntime.HandleError(errors.New("the last error, of the real clock"))
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		(&Ledger{}).checkedPart(&decode.Written{Is: reflect.ValueOf([]string{"a"}), Was: reflect.ValueOf([]string{"b"})})
		assert.Zero(t, time.Since(began))
	})
}

// TestOffForgets: an informer that leaves all to its client has no table.
func TestOffForgets(t *testing.T) {
	s := New(nil, &v1.Pod{}, Options{Share: true, Remember: true})
	obj := s.remembered.entered(podForm, bytesOf(1, leastRemembered))
	require.Len(t, s.remembered.mu.objects, 1)
	s.turnOff("a test")
	assert.Empty(t, s.remembered.mu.objects)
	runtime.KeepAlive(obj)
}

// frameOf is a frame of a watch.
func frameOf(t testing.TB, kind watch.EventType, pod *v1.Pod, e Encoding) []byte {
	if e == JSON {
		data, err := json.Marshal(pod)
		require.NoError(t, err)
		return fmt.Appendf(nil, "{\"type\":\"%s\",\"object\":%s}\n", kind, data)
	}
	raw, err := pod.Marshal()
	require.NoError(t, err)
	data, err := (&kruntime.Unknown{TypeMeta: kruntime.TypeMeta{APIVersion: "v1", Kind: "Pod"}, Raw: raw}).Marshal()
	require.NoError(t, err)
	event := metav1.WatchEvent{Type: string(kind), Object: kruntime.RawExtension{Raw: append([]byte("k8s\x00"), data...)}}
	frame, err := event.Marshal()
	require.NoError(t, err)
	return frame
}

// followingPods is a watch that has learned what pods are in frames of an encoding.
func followingPods(r *remembered, e Encoding, cleared bool) *following {
	return &following{trust: &trust{remembered: r, options: Options{Ledger: &Ledger{}}}, coding: e, lesson: &lesson{
		decoder: sure{ownDecoders(Options{Ledger: &Ledger{}}, nil)(podForm.of, e)}, of: podForm.of,
		kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, cleared: cleared,
	}}
}

// podOf is one that is remembered.
func podOf(n int) *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Name, pod.Annotations = fmt.Sprint(n), map[string]string{"large": strings.Repeat("x", leastRemembered)}
	return pod
}

// TestLessonsAreApart: watches whose client clears the kind, and others, do not get the objects of
// one another.
func TestLessonsAreApart(t *testing.T) {
	for _, e := range []Encoding{JSON, Protobuf} {
		r, frame := newRemembered(), frameOf(t, watch.Added, podOf(1), e)
		made := map[bool]kruntime.Object{}
		for range 2 {
			for _, cleared := range []bool{false, true} {
				_, got, err := followingPods(r, e, cleared).decode(frame)
				require.NoError(t, err)
				assert.Equal(t, cleared, kindOf(got.Object).Empty(), "%s", e)
				if before := made[cleared]; before != nil {
					assert.Same(t, before, got.Object, "%s", e)
				}
				made[cleared] = got.Object
			}
		}
	}
}

// TestDeletionsMakeRoom: when all objects have been deleted, nothing is left of the table.
func TestDeletionsMakeRoom(t *testing.T) {
	for _, e := range []Encoding{JSON, Protobuf} {
		f := followingPods(newRemembered(), e, false)
		for _, kind := range []watch.EventType{watch.Added, watch.Deleted} {
			for i := range 40 {
				_, got, err := f.decode(frameOf(t, kind, podOf(i), e))
				require.NoError(t, err)
				require.Equal(t, kind, got.Type)
			}
			if kind == watch.Added {
				require.Len(t, f.trust.remembered.mu.objects, 40)
			}
			runtime.GC()
			runtime.GC()
		}
		assert.Empty(t, f.trust.remembered.mu.objects, "%s", e)
	}
}
