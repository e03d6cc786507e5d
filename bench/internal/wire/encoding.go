// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire is an API server for pods that runs as a child process, so that
// its CPU time is not that of who measures, and sends answers that it encoded
// beforehand. It also decodes those answers by themselves, to tell how much of
// a client's time that takes.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/kinformer/cache/bench/internal/workload"
)

// The media types of what the server sends.
const (
	JSON     = runtime.ContentTypeJSON
	Protobuf = runtime.ContentTypeProtobuf
)

// Codecs encode and decode pods, and what goes with them.
var Codecs = func() serializer.CodecFactory {
	scheme := runtime.NewScheme()
	utilruntime.Must(corev1.AddToScheme(scheme))
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	return serializer.NewCodecFactory(scheme)
}()

// Answers are what the server sends.
type Answers struct {
	// List is a whole list, Initial a stream of all objects with the bookmark
	// that ends it, Updates one MODIFIED event for each object.
	List, Initial, Updates []byte
}

const (
	// listVersion is the resource version of the list, higher than that of all
	// pods; those of the updates follow.
	listVersion = 1_000_000_000
)

// Encode makes the answers for the pods of a population.
func Encode(p *workload.Population, mediaType string) (Answers, error) {
	info, known := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), mediaType)
	if !known {
		return Answers{}, fmt.Errorf("wire: nothing encodes %q", mediaType)
	}
	list := p.List(version(0))
	end := &corev1.Pod{}
	end.ResourceVersion = version(0)
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	initial, updates := make([]watch.Event, 0, len(p.Pods)+1), make([]watch.Event, 0, len(p.Pods))
	for i, pod := range p.Pods {
		initial = append(initial, watch.Event{Type: watch.Added, Object: pod})
		updates = append(updates, watch.Event{Type: watch.Modified, Object: workload.Version(pod, version(i+1))})
	}
	initial = append(initial, watch.Event{Type: watch.Bookmark, Object: end})

	var (
		answers Answers
		failed  [3]error
	)
	encoder := Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion)
	answers.List, failed[0] = runtime.Encode(encoder, list)
	answers.Initial, failed[1] = frames(info, encoder, initial)
	answers.Updates, failed[2] = frames(info, encoder, updates)
	return answers, errors.Join(failed[:]...)
}

func version(i int) string { return fmt.Sprint(listVersion + i) }

// frames are events as a watch sends them.
func frames(info runtime.SerializerInfo, encoder runtime.Encoder, events []watch.Event) ([]byte, error) {
	var b bytes.Buffer
	w := info.StreamSerializer.NewFrameWriter(&b)
	for _, event := range events {
		object, err := runtime.Encode(encoder, event.Object)
		if err != nil {
			return nil, fmt.Errorf("wire: encode: %w", err)
		}
		frame := &metav1.WatchEvent{Type: string(event.Type), Object: runtime.RawExtension{Raw: object}}
		if err := info.StreamSerializer.Encode(frame, w); err != nil {
			return nil, fmt.Errorf("wire: frame: %w", err)
		}
	}
	return b.Bytes(), nil
}

func negotiator() runtime.ClientNegotiator {
	return runtime.NewClientNegotiator(Codecs.WithoutConversion(), corev1.SchemeGroupVersion)
}

// DecodeList decodes a list as a client does and returns its items.
func DecodeList(body []byte, mediaType string) ([]runtime.Object, error) {
	decoder, err := negotiator().Decoder(mediaType, nil)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	decoded, _, err := decoder.Decode(body, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("wire: decode: %w", err)
	}
	list, ok := decoded.(*corev1.PodList)
	if !ok {
		return nil, fmt.Errorf("wire: decoded %T", decoded)
	}
	items := make([]runtime.Object, len(list.Items))
	for i := range items {
		items[i] = &list.Items[i]
	}
	return items, nil
}

// DecodeStream decodes the frames of a watch as a client does and returns the
// objects.
func DecodeStream(stream []byte, mediaType string) ([]runtime.Object, error) {
	codec, serializer, framer, err := negotiator().StreamDecoder(mediaType, nil)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	reader := framer.NewFrameReader(io.NopCloser(bytes.NewReader(stream)))
	decoder := restwatch.NewDecoder(streaming.NewDecoder(reader, serializer), codec)
	var objects []runtime.Object
	for {
		_, object, err := decoder.Decode()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return objects, fmt.Errorf("wire: event %d: %w", len(objects), err)
		}
		objects = append(objects, object)
	}
}
