// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding/json"
	"fmt"
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

// roomyParts is a table with so many slots that no part is in the way of another.
func roomyParts() *Parts {
	table := NewParts(1 << 20)
	table.fewest = 1 << 14
	table.clear()
	return table
}

// watched is two sets of options that share parts by one table, of which the second one has each
// part checked that is found, and how many were found that somebody had written to.
type watched struct {
	plain, checking Options
	written         int
}

func newWatched() *watched {
	w := new(watched)
	w.plain.Share = NewSharing(roomyParts()).Report(func(part *Written) {
		if part != nil {
			w.written++
		}
	})
	w.checking = w.plain
	w.checking.Checks = true
	return w
}

// untilUnchecked repeats a test in which a part was checked by chance before it was to be.
func untilUnchecked(t *testing.T, test func(*watched) (unchecked bool)) {
	for !test(newWatched()) {
		require.NoError(t, t.Context().Err())
	}
}

// TestWrittenStaysAway: once it was found that somebody has written to a part, no new object has
// what was written, although that is in smaller parts, too.
func TestWrittenStaysAway(t *testing.T) {
	for _, w := range writersOf(t) {
		t.Run(w.name, func(t *testing.T) {
			untilUnchecked(t, func(o *watched) bool {
				right := w.decode(Options{})
				for range 4 {
					require.Equal(t, right, w.decode(o.plain))
				}
				w.write(w.decode(o.plain))
				if same := reflect.DeepEqual(right, w.decode(o.plain)); o.written > 0 {
					return false
				} else if same {
					require.Fail(t, "the part is not shared")
				}
				require.Equal(t, right, w.decode(o.checking))
				for range 4 {
					require.Equal(t, right, w.decode(o.plain))
				}
				require.Equal(t, 1, o.written)
				o.plain.Share.table.check(t)
				return true
			})
		})
	}
}

// commandOf returns the command of the first container of a pod of that name, in JSON or protobuf,
// which all such pods have, in a list of containers of their own.
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

// TestWrittenStaysAwayFromOthers: nor has an object in which it is in a larger part.
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
