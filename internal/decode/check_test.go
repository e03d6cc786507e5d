// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// writer writes to a part of an object that is decoded.
type writer struct {
	name   string
	decode func(Options) any // the same object each time
	write  func(any)
	in     string
	of     string // type
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

// TestChecksFindWriters: who writes to a part is found before long, with the place; the part leaves
// the table, and the objects that are decoded from then on are right.
func TestChecksFindWriters(t *testing.T) {
	for _, w := range writersOf(t) {
		t.Run(w.name, func(t *testing.T) {
			checks, found := 0, []*Written(nil)
			share := NewSharing(roomyParts()).Report(func(w *Written) {
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
			for range 100 * checkedPart {
				got := w.decode(o)
				if len(found) > 0 {
					require.Equal(t, right, got, "at once")
					break
				}
			}
			require.Len(t, found, 1)
			assert.Greater(t, checks, 0)
			assert.Equal(t, w.in, found[0].In)
			assert.Equal(t, w.of, found[0].Is.Type().String())
			assert.Equal(t, found[0].Is.Type(), found[0].Was.Type())
			assert.NotEqual(t, found[0].Is.Interface(), found[0].Was.Interface())
			share.table.check(t)
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

// TestFewAreChecked: about one part in so many, by chance.
func TestFewAreChecked(t *testing.T) {
	checks := 0
	share := NewSharing(NewParts(0)).Report(func(w *Written) { require.Nil(t, w); checks++ })
	o := Options{Share: share}
	for range 100 * checkedPart / 2 {
		_, err := Unstructured([]byte(`{"kind":"A","apiVersion":"a/v1","spec":{"some":"longer text"},"status":{"another":"longer text"}}`), o)
		require.NoError(t, err)
	}
	assert.InDelta(t, 100, checks, 60)
}

// TestNames: names of maps further in, and odd ones, are not told.
func TestNames(t *testing.T) {
	for data, names := range map[string]string{
		``:                      "",
		`{`:                     "",
		`{"a":`:                 "a",
		`{"a":{`:                "a",
		`{"a":{"b":`:            "a.b",
		`{"a":{"b":{"c":`:       "a.b",
		`{"a":{"b":[1,{"c":2},`: "a.b",
		`{"a":{"b":[{"c":[2]}]},"d":{"e":"f{","g":`: "d.g",
		`{"a":{"b":1},"c":[{"d":`:                   "c",
		`{"a":["hunter2",`:                          "a",
		`{"a" : {"b" :["hunter2",`:                  "a.b",
		`{"a":{"b":"hunter2","c":`:                  "a.c",
		`{"a":{"b":1},"c":[[`:                       "c",
		`{"a":{"b\"{":1,"c d":`:                     "a",
		`{"x y":{"a":`:                              "",
	} {
		d := newReader([]byte(data), Options{})
		d.pos = len(data)
		assert.Equal(t, names, d.names(), data)
	}
}
