// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire is an API server for one resource that runs as a child process, so that
// its CPU time is not that of who measures, and sends answers that it encoded
// beforehand. It also decodes those answers by themselves, to tell how much of
// a client's time that takes.
package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
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

// Scheme has the types of the objects that have one, and Codecs encode and decode
// them.
var (
	Scheme = func() *runtime.Scheme {
		scheme := runtime.NewScheme()
		for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, coordinationv1.AddToScheme} {
			utilruntime.Must(add(scheme))
		}
		metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
		return scheme
	}()
	Codecs = serializer.NewCodecFactory(Scheme)
)

// Answers are what the server sends.
type Answers struct {
	// Pages are a whole list, as one page or several, Initial a stream of all
	// objects with the bookmark that ends it, Updates one MODIFIED event for each
	// object.
	Pages            [][]byte
	Initial, Updates []byte
}

const (
	// listVersion is the resource version of the list, higher than that of all
	// objects; those of the updates follow.
	listVersion = 1_000_000_000
)

// encoder makes bytes of objects of a resource.
type encoder struct {
	of     Resource
	info   runtime.SerializerInfo
	object runtime.Encoder
}

func newEncoder(of Resource, mediaType string) (*encoder, error) {
	info, known := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), mediaType)
	switch {
	case !known:
		return nil, fmt.Errorf("wire: nothing encodes %q", mediaType)
	case !of.WithoutGoType():
		return &encoder{of, info, Codecs.EncoderForVersion(info.Serializer, of.GroupVersion())}, nil
	case mediaType == JSON:
		return &encoder{of, info, unstructured.UnstructuredJSONScheme}, nil
	}
	return nil, fmt.Errorf("wire: %s are sent in JSON only", of.Name)
}

// Encode makes the answers for objects of a resource, with lists in pages of so
// many; 0: in one.
func Encode(of Resource, objects []runtime.Object, mediaType string, page int) (Answers, error) {
	e, err := newEncoder(of, mediaType)
	if err != nil {
		return Answers{}, err
	}
	initial, updates := make([]watch.Event, 0, len(objects)+1), make([]watch.Event, 0, len(objects))
	for i, object := range objects {
		later, err := at(object.DeepCopyObject(), version(i+1))
		if err != nil {
			return Answers{}, err
		}
		workload.Update(later)
		initial = append(initial, watch.Event{Type: watch.Added, Object: object})
		updates = append(updates, watch.Event{Type: watch.Modified, Object: later})
	}
	end, err := e.endOfInitial()
	if err != nil {
		return Answers{}, err
	}
	initial = append(initial, watch.Event{Type: watch.Bookmark, Object: end})

	var (
		answers Answers
		failed  [3]error
	)
	answers.Pages, failed[0] = e.pages(objects, page)
	answers.Initial, failed[1] = e.frames(initial)
	answers.Updates, failed[2] = e.frames(updates)
	return answers, errors.Join(failed[:]...)
}

// at gives an object a resource version.
func at(object runtime.Object, version string) (runtime.Object, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	accessor.SetResourceVersion(version)
	return object, nil
}

// empty is an object of the kind, or its list.
func (e *encoder) empty(kind string, untyped runtime.Object) (runtime.Object, error) {
	gvk := e.of.GroupVersion().WithKind(kind)
	if e.of.WithoutGoType() {
		untyped.GetObjectKind().SetGroupVersionKind(gvk)
		return untyped, nil
	}
	made, err := Scheme.New(gvk)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return made, nil
}

// endOfInitial is the object of the bookmark behind the initial events.
func (e *encoder) endOfInitial() (runtime.Object, error) {
	end, err := e.empty(e.of.Kind, &unstructured.Unstructured{Object: map[string]any{}})
	if err != nil {
		return nil, err
	}
	accessor, err := meta.Accessor(end)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	accessor.SetResourceVersion(version(0))
	accessor.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	return end, nil
}

// pages are lists, each of which but the last names the place where the next
// one begins.
func (e *encoder) pages(objects []runtime.Object, size int) (pages [][]byte, err error) {
	if size <= 0 {
		size = max(1, len(objects))
	}
	for begin := 0; begin == 0 || begin < len(objects); begin += size {
		end := min(begin+size, len(objects))
		page, err := e.page(objects[begin:end], len(pages)+1, int64(len(objects)-end))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

func (e *encoder) page(objects []runtime.Object, next int, remaining int64) ([]byte, error) {
	list, err := e.empty(e.of.Kind+"List", &unstructured.UnstructuredList{Object: map[string]any{}})
	if err != nil {
		return nil, err
	}
	if err := meta.SetList(list, objects); err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	accessor, err := meta.ListAccessor(list)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	accessor.SetResourceVersion(version(0))
	if remaining > 0 {
		accessor.SetContinue(strconv.Itoa(next))
		accessor.SetRemainingItemCount(&remaining)
	}
	encoded, err := runtime.Encode(e.object, list)
	if err != nil {
		return nil, fmt.Errorf("wire: encode: %w", err)
	}
	return encoded, nil
}

func version(i int) string { return fmt.Sprint(listVersion + i) }

// frames are events as a watch sends them.
func (e *encoder) frames(events []watch.Event) ([]byte, error) {
	var b bytes.Buffer
	w := e.info.StreamSerializer.NewFrameWriter(&b)
	for _, event := range events {
		object, err := runtime.Encode(e.object, event.Object)
		if err != nil {
			return nil, fmt.Errorf("wire: encode: %w", err)
		}
		frame := &metav1.WatchEvent{Type: string(event.Type), Object: runtime.RawExtension{Raw: object}}
		if err := e.info.StreamSerializer.Encode(frame, w); err != nil {
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
