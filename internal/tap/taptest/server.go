// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package taptest

import (
	"bytes"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// codecs know what servers of these tests send: pods, and their metadata.
var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme)
}()

// Encoded returns an object as a server writes it.
func Encoded(obj runtime.Object, media string) []byte {
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	gv := schema.GroupVersion{Version: "v1"}
	switch obj.(type) {
	case *metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList:
		gv.Group = "meta.k8s.io"
	}
	data, err := runtime.Encode(codecs.EncoderForVersion(info.Serializer, gv), obj)
	if err != nil {
		panic(err)
	}
	return data
}

// Frame returns a watch event as a server writes it.
func Frame(kind watch.EventType, obj runtime.Object, media string) []byte {
	event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: Encoded(obj, media)}}
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	var framed bytes.Buffer
	writer := info.StreamSerializer.Framer.NewFrameWriter(&framed)
	if err := info.StreamSerializer.Serializer.Encode(event, writer); err != nil {
		panic(err)
	}
	return framed.Bytes()
}
