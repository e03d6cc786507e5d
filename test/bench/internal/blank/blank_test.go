// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"bytes"
	"io"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	restwatch "k8s.io/client-go/rest/watch"

	"github.com/kinformer/cache/test/bench/internal/world"
)

const deployments = 2

func newSet(t *testing.T, mediaType string) *Set {
	s, err := NewSet(Config{Deployments: deployments, Seed: 1, MediaType: mediaType})
	require.NoError(t, err)
	return s
}

// some returns objects of a resource in all shapes.
func some(s *Set, r world.Resource) []world.Object {
	var all []world.Object
	for i := range 2 * s.kinds[r].shapes {
		all = append(all, world.Object{
			Serial: uint32(3 + i*1000), Owner: uint32(i % deployments), Node: uint32(70 + i), Revision: 2, Changes: uint32(i),
			Shape: world.Shape(i % s.kinds[r].shapes), Version: uint64(world.FirstVersion + 100 + i), Due: 1_790_000_000_123_456_789 + int64(i)*1e8,
		})
	}
	return all
}

func everyEncoding(t *testing.T, test func(t *testing.T, s *Set, r world.Resource)) {
	for _, mediaType := range []string{JSON, Protobuf} {
		s := newSet(t, mediaType)
		for _, r := range world.All() {
			t.Run(mediaType+" "+r.String(), func(t *testing.T) { test(t, s, r) })
		}
	}
}

// decoded returns the events of a stream, decoded by client-go.
func decoded(t *testing.T, s *Set, stream []byte) []watch.Event {
	negotiator := runtime.NewClientNegotiator(Codecs.WithoutConversion(), corev1.SchemeGroupVersion)
	codec, serializer, framer, err := negotiator.StreamDecoder(s.config.MediaType, nil)
	require.NoError(t, err)
	decoder := restwatch.NewDecoder(streaming.NewDecoder(framer.NewFrameReader(io.NopCloser(bytes.NewReader(stream))), serializer), codec)
	var all []watch.Event
	for {
		kind, object, err := decoder.Decode()
		if err == io.EOF {
			return all
		}
		require.NoError(t, err)
		all = append(all, watch.Event{Type: kind, Object: object})
	}
}

// TestEventsAreThoseOfAnAPIServer checks that apimachinery decodes each frame and encodes it to the
// same bytes, and that no mark is left in them.
func TestEventsAreThoseOfAnAPIServer(t *testing.T) {
	everyEncoding(t, func(t *testing.T, s *Set, r world.Resource) {
		var stream []byte
		objects := some(s, r)
		for i, o := range objects {
			stream = s.AppendEvent(stream, r, &world.Change{Kind: world.Kind(i % 3), Object: o})
		}
		assert.NotContains(t, string(stream), "~~")
		assert.NotContains(t, string(stream), "2099-")
		assert.Equal(t, string(stream), string(encoded(t, s, r, decoded(t, s, stream))))
		for i, event := range decoded(t, s, stream) {
			object := event.Object.(metav1.Object)
			assert.Equal(t, changeNames[i%3], string(event.Type))
			assert.Equal(t, world.FormatVersion(objects[i].Version), object.GetResourceVersion())
			assert.Equal(t, world.UID(r, objects[i].Serial), string(object.GetUID()))
			assert.Equal(t, strconv.FormatInt(objects[i].Due, 10), object.GetAnnotations()[DueAnnotation])
			assert.Equal(t, objects[i].Due/1e9, object.GetManagedFields()[len(object.GetManagedFields())-1].Time.Unix()+unseen(r, objects[i]))
		}
	})
}

// unseen returns the seconds between creation and the last change of a pod that no kubelet has
// changed: the last of its managed fields has the former time.
func unseen(r world.Resource, o world.Object) int64 {
	if r == world.Pods && o.Shape <= world.Scheduled {
		return o.Due/1e9 - timeOf(created, &o).Unix()
	}
	return 0
}

// encoder returns apimachinery's encoder for a resource.
func encoder(s *Set, r world.Resource) runtime.Encoder {
	info, _ := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), s.config.MediaType)
	return Codecs.EncoderForVersion(info.Serializer, Of(r).GroupVersion())
}

// encoded returns a stream of events, encoded by apimachinery.
func encoded(t *testing.T, s *Set, r world.Resource, events []watch.Event) []byte {
	info, _ := runtime.SerializerInfoForMediaType(Codecs.SupportedMediaTypes(), s.config.MediaType)
	var b bytes.Buffer
	w := info.StreamSerializer.NewFrameWriter(&b)
	for _, event := range events {
		object, err := runtime.Encode(encoder(s, r), event.Object)
		require.NoError(t, err)
		frame := &metav1.WatchEvent{Type: string(event.Type), Object: runtime.RawExtension{Raw: object}}
		require.NoError(t, info.StreamSerializer.Encode(frame, w))
	}
	return b.Bytes()
}

func TestOtherFramesAreThoseOfAnAPIServer(t *testing.T) {
	everyEncoding(t, func(t *testing.T, s *Set, r world.Resource) {
		stream, err := s.AppendBookmark(nil, r, world.FirstVersion+1, true)
		require.NoError(t, err)
		stream, err = s.AppendGone(stream)
		require.NoError(t, err)
		events := decoded(t, s, stream)
		require.Len(t, events, 2)
		assert.Equal(t, string(stream), string(encoded(t, s, r, events)))
		assert.Equal(t, watch.Bookmark, events[0].Type)
		end := events[0].Object.(metav1.Object)
		assert.Equal(t, "true", end.GetAnnotations()[metav1.InitialEventsAnnotationKey])
		assert.Equal(t, world.FormatVersion(world.FirstVersion+1), end.GetResourceVersion())
		assert.Equal(t, watch.Error, events[1].Type)
		assert.Equal(t, metav1.StatusReasonExpired, events[1].Object.(*metav1.Status).Reason)
	})
}

// TestListsAreThoseOfAnAPIServer checks that apimachinery decodes a list and encodes it to the same
// bytes.
func TestListsAreThoseOfAnAPIServer(t *testing.T) {
	everyEncoding(t, func(t *testing.T, s *Set, r world.Resource) {
		items := some(s, r)
		body, err := s.List(r, items, world.FirstVersion+7)
		require.NoError(t, err)
		object, err := runtime.Decode(Codecs.UniversalDeserializer(), body)
		require.NoError(t, err)
		again, err := runtime.Encode(encoder(s, r), object)
		require.NoError(t, err)
		assert.Equal(t, string(again), string(body))
		assert.Equal(t, len(items), meta.LenList(object))
	})
}

// TestPodsOfADeploymentDiffer checks that pods differ in the fields in which real ones do, and that
// their size is plausible.
func TestPodsOfADeploymentDiffer(t *testing.T) {
	s := newSet(t, JSON)
	pod := func(serial, revision uint32) *corev1.Pod {
		o := world.Object{Serial: serial, Revision: revision, Node: serial, Shape: world.Ready, Version: world.FirstVersion}
		frame := s.AppendEvent(nil, world.Pods, &world.Change{Object: o})
		assert.InDelta(t, 8000, len(frame), 4000)
		return decoded(t, s, frame)[0].Object.(*corev1.Pod)
	}
	one, other, later := pod(7, 1), pod(8, 1), pod(8, 2)
	assert.NotEqual(t, one.Name, other.Name)
	assert.NotEqual(t, one.UID, other.UID)
	assert.NotEqual(t, one.Spec.NodeName, other.Spec.NodeName)
	assert.NotEqual(t, one.Status.PodIP, other.Status.PodIP)
	assert.NotEqual(t, one.Status.ContainerStatuses[0].ContainerID, other.Status.ContainerStatuses[0].ContainerID)
	assert.NotEqual(t, one.Spec.Volumes[3].Name, other.Spec.Volumes[3].Name)
	assert.Equal(t, one.Labels, other.Labels)
	assert.Equal(t, one.OwnerReferences, other.OwnerReferences)
	assert.NotEqual(t, other.Labels["pod-template-hash"], later.Labels["pod-template-hash"])
	assert.NotEqual(t, other.OwnerReferences[0].UID, later.OwnerReferences[0].UID)
	assert.Contains(t, later.Name, later.Labels["pod-template-hash"])
}
