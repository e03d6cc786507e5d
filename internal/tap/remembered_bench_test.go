// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tap

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kinformer/cache/internal/testkit"
)

// largePod is one of 9 KB, and smallPod one of less than is remembered.
func largePod(b *testing.B) *v1.Pod {
	data, err := os.ReadFile("../decode/testdata/pod.json")
	require.NoError(b, err)
	pod := &v1.Pod{}
	require.NoError(b, json.Unmarshal(data, pod))
	pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	return pod
}

func smallPod(*testing.B) *v1.Pod {
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}}
	pod.Namespace, pod.UID = "space", "0b0d6a06-6c3e-4f2e-9a86-1a11db81c0de"
	pod.Labels = map[string]string{"app.kubernetes.io/name": "catalogue", "tier": "backend"}
	pod.Spec.NodeName, pod.Spec.Containers = "node", []v1.Container{{Name: "c", Image: "image:1"}}
	return pod
}

// benchFrames are events that bring pods that differ, in as many frames as there is room for.
func benchFrames(b *testing.B, pod *v1.Pod, e Encoding) [][]byte {
	frames := make([][]byte, 1000)
	for i := range frames {
		pod.Name, pod.ResourceVersion = fmt.Sprintf("pod-%05x", i), fmt.Sprint(1_000_000+i)
		frames[i] = frameOf(b, watch.Modified, pod, e)
	}
	return frames
}

// BenchmarkNew decodes frames of objects that are new: what remembering them costs. Again are the
// same frames, whose objects are all there.
func BenchmarkNew(b *testing.B) {
	for _, of := range []runtime.Object{&v1.Pod{}, &unstructured.Unstructured{}} {
		for _, e := range []Encoding{JSON, Protobuf} {
			decoder := ownDecoders(Options{Share: true, Ledger: &Ledger{}}, nil)(reflect.TypeOf(of), e)
			if decoder == nil {
				continue
			}
			for size, pod := range map[string]*v1.Pod{"large": largePod(b), "small": smallPod(b)} {
				f := &following{trust: &trust{}, coding: e, lesson: &lesson{
					decoder: sure{decoder}, of: reflect.TypeOf(of), kind: schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
				}}
				f.trust.options.Ledger = &Ledger{}
				frames := benchFrames(b, pod, e)
				name := fmt.Sprintf("%T,%s,%s,%d B", of, e, size, len(frames[0]))
				for _, way := range []string{"decoded", "remembered", "again"} {
					b.Run(name+","+way, func(b *testing.B) { benchDecode(b, f, frames, way) })
				}
			}
		}
	}
}

func benchDecode(b *testing.B, f *following, frames [][]byte, way string) {
	if f.trust.remembered = nil; way != "decoded" {
		f.trust.remembered = newRemembered()
	}
	b.ReportAllocs()
	kept, i := make([]runtime.Object, len(frames)), 0
	before := testkit.CpuTime(b)
	for b.Loop() {
		if i == len(frames) {
			if i = 0; way == "remembered" {
				f.trust.remembered.forget()
			}
		}
		_, event, err := f.decode(frames[i])
		if err != nil {
			b.Fatal(err)
		}
		kept[i] = event.Object
		i++
	}
	b.ReportMetric(float64(testkit.CpuTime(b)-before)/float64(b.N), "cpu-ns/object")
}
