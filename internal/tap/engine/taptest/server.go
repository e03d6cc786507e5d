// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package taptest

import (
	"bytes"
	"io"
	"net/http"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
)

// codecs encode the objects that servers in these tests send: pods and their metadata.
var codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientscheme.AddToScheme, metav1.AddMetaToScheme} {
		if err := add(scheme); err != nil {
			panic(err)
		}
	}
	return serializer.NewCodecFactory(scheme)
}()

// Encoded returns an object as a server encodes it.
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

// Frame returns a watch event as a server encodes it.
func Frame(kind watch.EventType, obj runtime.Object, media string) []byte {
	return RawFrame(kind, Encoded(obj, media), media)
}

// RawFrame is Frame for an encoded object.
func RawFrame(kind watch.EventType, object []byte, media string) []byte {
	event := &metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: object}}
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), media)
	var framed bytes.Buffer
	writer := info.StreamSerializer.Framer.NewFrameWriter(&framed)
	if err := info.StreamSerializer.Serializer.Encode(event, writer); err != nil {
		panic(err)
	}
	return framed.Bytes()
}

// Trip is a function as a RoundTripper.
type Trip func(*http.Request) (*http.Response, error)

func (f Trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Wire is a server without a network, as a RoundTripper.
type Wire struct {
	Media string // the content type of its responses
	// Answer returns the pieces of a body, and reports whether the body stays open after them.
	Answer func(*http.Request) (pieces [][]byte, hangs bool)

	Open, Served atomic.Int32 // the numbers of open bodies and of all bodies
}

// RoundTrip returns the response of Answer.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	pieces, hangs := w.Answer(r)
	w.Open.Add(1)
	w.Served.Add(1)
	read, write := io.Pipe()
	go func() {
		for _, piece := range pieces {
			if _, err := write.Write(piece); err != nil {
				return
			}
		}
		if hangs {
			<-r.Context().Done()
			_ = write.CloseWithError(r.Context().Err())
			return
		}
		_ = write.Close()
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {w.Media}}, Request: r,
		Body: &openBody{PipeReader: read, open: &w.Open},
	}, nil
}

type openBody struct {
	*io.PipeReader
	open   *atomic.Int32
	closed atomic.Bool
}

func (b *openBody) Close() error {
	if !b.closed.Swap(true) {
		b.open.Add(-1)
	}
	return b.PipeReader.Close()
}
