// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}

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
	codec := clientDecoder(b, "application/json")
	b.Run("client-go", func(b *testing.B) {
		run(b, list, func(data []byte) error {
			_, _, err := codec.Decode(data, nil, nil)
			return err
		})
	})
	plan := planOf(b, reflect.TypeFor[corev1.Pod]())
	for _, table := range []*Intern{nil, NewIntern(16 << 20)} {
		b.Run(fmt.Sprintf("ours,interned=%v", table != nil), func(b *testing.B) {
			run(b, list, func(data []byte) error { return plan.JSON(data, new(corev1.Pod), Options{Intern: table}) })
		})
	}
}

func BenchmarkPodUnstructured(b *testing.B) {
	list := pods(b, benchPods)
	b.Run("client-go", func(b *testing.B) {
		run(b, list, func(data []byte) error {
			_, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, nil)
			return err
		})
	})
	for _, table := range []*Intern{nil, NewIntern(16 << 20)} {
		b.Run(fmt.Sprintf("ours,interned=%v", table != nil), func(b *testing.B) {
			run(b, list, func(data []byte) error {
				_, err := Unstructured(data, Options{Intern: table})
				return err
			})
		})
	}
}

// clientDecoder is what client-go's typed clients decode with.
func clientDecoder(t testing.TB, mediaType string) runtime.Decoder {
	negotiated := scheme.Codecs.WithoutConversion()
	info, ok := runtime.SerializerInfoForMediaType(negotiated.SupportedMediaTypes(), mediaType)
	require.True(t, ok)
	return negotiated.DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion)
}

func run(b *testing.B, list [][]byte, decode func([]byte) error) {
	b.ReportAllocs()
	b.SetBytes(int64(len(list[0])))
	i := 0
	for b.Loop() {
		if err := decode(list[i%len(list)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}
