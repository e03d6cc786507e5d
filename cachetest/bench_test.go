// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cachetest_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/cachetest"
)

// BenchmarkDelivery is what the kit itself costs for each event: one write and
// its way through each stream to a reader that does nothing.
func BenchmarkDelivery(b *testing.B) {
	for _, streams := range []int{1, 16} {
		for _, share := range []bool{true, false} {
			b.Run(fmt.Sprintf("streams=%d/share=%v", streams, share), func(b *testing.B) {
				b.ReportAllocs()
				deliver(b, cachetest.NewSource(cachetest.Options{Share: share, Window: 1024, Buffer: 64}), streams)
			})
		}
	}
}

func deliver(b *testing.B, src *cachetest.Source, streams int) {
	done := make(chan struct{}, streams)
	for range streams {
		w, err := src.Watch(metav1.ListOptions{ResourceVersion: "1"})
		if err != nil {
			b.Fatal(err)
		}
		defer w.Stop()
		go func() {
			for range b.N {
				<-w.ResultChan()
			}
			done <- struct{}{}
		}()
	}
	objects := make([]*corev1.Pod, b.N)
	for i := range objects {
		objects[i] = pod("a")
	}
	b.ResetTimer()
	for _, obj := range objects {
		src.Put(obj)
	}
	for range streams {
		<-done
	}
}

// BenchmarkList is one list of 10,000 pods.
func BenchmarkList(b *testing.B) {
	for _, share := range []bool{true, false} {
		b.Run(fmt.Sprintf("share=%v", share), func(b *testing.B) {
			src := cachetest.NewSource(cachetest.Options{Share: share, NewList: podList})
			for i := range 10_000 {
				src.Put(pod(fmt.Sprint(i)))
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := src.List(metav1.ListOptions{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
