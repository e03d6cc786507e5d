// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package decode

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func BenchmarkWatchProtobuf(b *testing.B) {
	stream := protobufStream(b, podMessages(b, benchPods))
	b.Run("client-go", func(b *testing.B) {
		decoder := clientWatch(b, protobufMedia, &endless{data: stream})
		perObject(b, 1, func() {
			_, object, err := decoder.Decode()
			must(b, err)
			put(object)
		})
	})
	plan := planOf(b, reflect.TypeFor[corev1.Pod]())
	b.Run("ours,shared", func(b *testing.B) {
		o := Options{Intern: NewIntern(16 << 20), Share: NewSharing(NewParts(64 << 20))}
		frames := NewFramesProtobuf(&endless{data: stream}, 1<<20)
		perObject(b, 1, func() {
			frame, err := frames.Next()
			must(b, err)
			_, object, err := WatchFrameProtobuf(frames.Payload(frame))
			must(b, err)
			envelope, err := OpenEnvelope(object)
			must(b, err)
			must(b, plan.Protobuf(envelope.Object, newPod(), o))
		})
		b.Logf("%+v", o.Share.table.Status())
	})
	for _, table := range []*Intern{nil, NewIntern(16 << 20)} {
		b.Run(fmt.Sprintf("ours,interned=%v", table != nil), func(b *testing.B) {
			frames := NewFramesProtobuf(&endless{data: stream}, 1<<20)
			perObject(b, 1, func() {
				frame, err := frames.Next()
				must(b, err)
				_, object, err := WatchFrameProtobuf(frames.Payload(frame))
				must(b, err)
				envelope, err := OpenEnvelope(object)
				must(b, err)
				must(b, plan.Protobuf(envelope.Object, newPod(), Options{Intern: table}))
			})
		})
	}
}

func BenchmarkListProtobuf(b *testing.B) {
	list := &corev1.PodList{}
	for _, pod := range podMessages(b, 200) {
		list.Items = append(list.Items, *pod)
	}
	data := enveloped(b, list, "PodList")
	plan := planOf(b, reflect.TypeFor[corev1.Pod]())
	benchList(b, data, protobufMedia, func(table *Intern) {
		list := NewListReaderProtobuf(bytes.NewReader(data), 1<<20)
		for item, err := list.Next(); err != io.EOF; item, err = list.Next() {
			must(b, err)
			must(b, plan.Protobuf(item, newPod(), Options{Intern: table}))
		}
	})
}
