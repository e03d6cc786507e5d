// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package decode

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/kinformer/cache/internal/testkit"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// pods are n pods of 9 KB that differ as pods of some deployments do.
func pods(t testing.TB, n int) [][]byte {
	text := string(readFile(t, "testdata/pod.json"))
	list := make([][]byte, n)
	for i := range list {
		pod, set := fmt.Sprintf("%05x", i), fmt.Sprintf("9e%06x", i/50)
		list[i] = []byte(strings.NewReplacer(
			"00032", pod, "9e3817e8", set, "06dc122c", fmt.Sprintf("%08x", i*7919), "100050", fmt.Sprint(100050+i),
			"08:00:50", fmt.Sprintf("08:%02d:%02d", i/60%60, i%60), "catalogue-worker-1", fmt.Sprint("catalogue-worker-", i/50),
			"1a11db81", fmt.Sprintf("%08x", i), "10.126.4.206", fmt.Sprintf("10.126.%d.%d", i/250, i%250),
		).Replace(text))
	}
	return list
}

const benchPods = 1000

func BenchmarkPodJSON(b *testing.B) {
	list := pods(b, benchPods)
	codec := clientDecoder(b, jsonMedia)
	b.Run("client-go", func(b *testing.B) {
		run(b, list, func(data []byte) error {
			object, _, err := codec.Decode(data, nil, nil)
			put(object)
			return err
		})
	})
	plan := planOf(b, reflect.TypeFor[corev1.Pod]())
	b.Run("ours,shared", func(b *testing.B) {
		o := sharing()
		run(b, list, func(data []byte) error { return plan.JSON(data, newPod(), o) })
	})
	for _, table := range []*Intern{nil, NewIntern(16 << 20)} {
		b.Run(fmt.Sprintf("ours,interned=%v", table != nil), func(b *testing.B) {
			run(b, list, func(data []byte) error { return plan.JSON(data, newPod(), Options{Intern: table}) })
		})
	}
}

func BenchmarkPodUnstructured(b *testing.B) {
	list := pods(b, benchPods)
	b.Run("client-go", func(b *testing.B) {
		run(b, list, func(data []byte) error {
			object, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, nil)
			put(object)
			return err
		})
	})
	b.Run("ours,shared", func(b *testing.B) {
		o := sharing()
		run(b, list, func(data []byte) error {
			object, err := Unstructured(data, o)
			put(object)
			return err
		})
		b.Logf("%+v", o.Share.table.Status())
	})
	for _, table := range []*Intern{nil, NewIntern(16 << 20)} {
		b.Run(fmt.Sprintf("ours,interned=%v", table != nil), func(b *testing.B) {
			run(b, list, func(data []byte) error {
				object, err := Unstructured(data, Options{Intern: table})
				put(object)
				return err
			})
		})
	}
}

// BenchmarkWatchJSON reads a watch from its bytes on.
func BenchmarkWatchJSON(b *testing.B) {
	var stream bytes.Buffer
	for _, pod := range pods(b, benchPods) {
		fmt.Fprintf(&stream, "{\"type\":\"MODIFIED\",\"object\":%s}\n", bytes.TrimSpace(pod))
	}
	b.Run("client-go", func(b *testing.B) {
		decoder := clientWatch(b, jsonMedia, &endless{data: stream.Bytes()})
		perObject(b, 1, func() {
			_, object, err := decoder.Decode()
			must(b, err)
			put(object)
		})
	})
	plan := planOf(b, reflect.TypeFor[corev1.Pod]())
	for _, table := range []*Intern{nil, NewIntern(16 << 20)} {
		b.Run(fmt.Sprintf("ours,interned=%v", table != nil), func(b *testing.B) {
			frames := NewFrames(&endless{data: stream.Bytes()}, 1<<20)
			perObject(b, 1, func() {
				frame, err := frames.Next()
				must(b, err)
				_, object, err := WatchFrame(frame)
				must(b, err)
				must(b, plan.JSON(object, newPod(), Options{Intern: table}))
			})
		})
	}
}

// sharing are options with tables of their own.
func sharing() Options {
	return Options{Intern: NewIntern(16 << 20), Share: NewSharing(NewParts(64 << 20))}
}

// endless repeats data, in pieces of 32 KB as they come from a connection.
type endless struct {
	data []byte
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b[:min(len(b), 32<<10)], e.data[e.at:])
	e.at = (e.at + n) % len(e.data)
	return n, nil
}

// BenchmarkListJSON reads lists of 200 pods; figures are of one pod.
func BenchmarkListJSON(b *testing.B) {
	items := bytes.Join(pods(b, 200), []byte(","))
	data := fmt.Appendf(nil, `{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"1"},"items":[%s]}`, items)
	benchList(b, data, jsonMedia, func(table *Intern) {
		plan, list := planOf(b, reflect.TypeFor[corev1.Pod]()), NewListReader(bytes.NewReader(data), 1<<20)
		for item, err := list.Next(); err != io.EOF; item, err = list.Next() {
			must(b, err)
			must(b, plan.JSON(item, newPod(), Options{Intern: table}))
		}
	})
}

func benchList(b *testing.B, data []byte, mediaType string, ours func(*Intern)) {
	b.Run("client-go", func(b *testing.B) {
		decoder := clientDecoder(b, mediaType)
		perObject(b, 200, func() {
			object, _, err := decoder.Decode(data, nil, nil)
			must(b, err)
			for i := range object.(*corev1.PodList).Items {
				put(&object.(*corev1.PodList).Items[i])
			}
		})
	})
	table := NewIntern(16 << 20)
	b.Run("ours,interned=true", func(b *testing.B) { perObject(b, 200, func() { ours(table) }) })
}

func run(b *testing.B, list [][]byte, decode func([]byte) error) {
	i := 0
	perObject(b, 1, func() {
		if err := decode(list[i%len(list)]); err != nil {
			b.Fatal(err)
		}
		i++
	})
}

// perObject reports the processor's time for one of so many objects, garbage collection included.
func perObject(b *testing.B, objects int, f func()) {
	clear(store)
	b.ReportAllocs()
	before := testkit.CpuTime(b)
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(testkit.CpuTime(b)-before)/float64(b.N*objects), "cpu-ns/object")
}

// store has the last objects, as an informer's store does: the garbage collector has to look at
// them.
var store = make([]any, benchPods)

// put stores a new object in the place of an older one.
func put(object any) {
	stored++
	store[stored%len(store)] = object
}

var stored int

// must is require.NoError without what that costs.
func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func newPod() *corev1.Pod {
	pod := new(corev1.Pod)
	put(pod)
	return pod
}
