// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

func podMessages(t testing.TB, n int) (list []*corev1.Pod) {
	for _, data := range pods(t, n) {
		pod := new(corev1.Pod)
		require.NoError(t, planOf(t, reflect.TypeFor[corev1.Pod]()).JSON(data, pod, Options{}))
		list = append(list, pod)
	}
	return list
}

// enveloped is an object as it is sent in protobuf.
func enveloped(t testing.TB, object message, kind string) []byte {
	raw, err := object.Marshal()
	require.NoError(t, err)
	unknown := runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: raw}
	data, err := unknown.Marshal()
	require.NoError(t, err)
	return append([]byte(envelopeMark), data...)
}

func frameOf(t testing.TB, event watch.EventType, object []byte) []byte {
	frame := metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: object}}
	data, err := frame.Marshal()
	require.NoError(t, err)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

func protobufStream(t testing.TB, list []*corev1.Pod) (stream []byte) {
	for _, pod := range list {
		stream = append(stream, frameOf(t, watch.Modified, enveloped(t, pod, "Pod"))...)
	}
	return stream
}

// byFramesProtobuf is byFrames for protobuf.
func byFramesProtobuf(t testing.TB, r io.Reader) (list []seen, ours int, err error) {
	frames := NewFramesProtobuf(r, 1<<20)
	for {
		frame, err := frames.Next()
		event, pod := watch.EventType(""), new(corev1.Pod)
		if err == nil {
			if event, err = podOf(t, frames.Payload(frame), pod); err != nil {
				frames.Unread(frame)
			}
		}
		if err != nil {
			ours = len(list)
			others, err := byClient(t, protobufMedia, rest(frames, r))
			return append(list, others...), ours, err
		}
		list = append(list, seen{event, pod})
	}
}

func podOf(t testing.TB, frame []byte, pod *corev1.Pod) (watch.EventType, error) {
	event, object, err := WatchFrameProtobuf(frame)
	if err != nil {
		return "", err
	}
	envelope, err := OpenEnvelope(object)
	if err != nil {
		return "", err
	}
	if string(envelope.Kind) != "Pod" || string(envelope.APIVersion) != "v1" {
		return "", ErrGiveUp
	}
	return event, planOf(t, reflect.TypeFor[corev1.Pod]()).Protobuf(envelope.Object, pod, Options{})
}

// TestFramesProtobuf: whatever a stream is and however it is read, the events and the end are those
// of client-go's decoder.
func TestFramesProtobuf(t *testing.T) {
	pod := podMessages(t, 1)[0]
	object := enveloped(t, pod, "Pod")
	small := frameOf(t, watch.Added, enveloped(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, "Pod"))
	status := enveloped(t, &metav1.Status{Code: 410}, "Status")
	large := pod.DeepCopy()
	large.Annotations["large"] = string(make([]byte, 2<<20))
	for _, test := range []struct {
		name   string
		stream []byte
		ours   int
	}{
		{"none", nil, 0},
		{"all types", slices.Concat(frameOf(t, watch.Added, object), frameOf(t, watch.Modified, object), frameOf(t, watch.Deleted, object), frameOf(t, watch.Bookmark, object)), 4},
		{"error event", slices.Concat(small, frameOf(t, watch.Error, status), small), 1},
		{"unknown event", slices.Concat(small, frameOf(t, "OTHER", object), small), 1},
		{"other kind", slices.Concat(small, frameOf(t, watch.Added, enveloped(t, &corev1.Node{}, "Node")), small), 1},
		{"no object", slices.Concat(small, frameOf(t, watch.Added, nil), small), 1},
		{"no envelope", slices.Concat(small, frameOf(t, watch.Added, object[4:]), small), 1},
		{"empty frame", slices.Concat(small, []byte{0, 0, 0, 0}, small), 1},
		{"cut in a length", append(slices.Clone(small), small[:3]...), 1},
		{"cut behind a length", append(slices.Clone(small), small[:4]...), 1},
		{"cut", append(slices.Clone(small), small[:20]...), 1},
		{"large", slices.Concat(small, frameOf(t, watch.Added, enveloped(t, large, "Pod")), small), 1},
	} {
		for way, reader := range broken {
			if len(test.stream) > 100<<10 && way == "by bytes" {
				continue
			}
			wanted, wantedErr := byClient(t, protobufMedia, reader(bytes.NewReader(test.stream)))
			got, ours, gotErr := byFramesProtobuf(t, reader(bytes.NewReader(test.stream)))
			require.True(t, reflect.DeepEqual(wanted, got), "%s, %s: %d and %d", test.name, way, len(wanted), len(got))
			assert.EqualError(t, gotErr, wantedErr.Error(), "%s, %s", test.name, way)
			assert.Equal(t, test.ours, ours, "%s, %s", test.name, way)
		}
	}
}

// TestRandomStreamsProtobuf: frames damaged anywhere, in small pieces.
func TestRandomStreamsProtobuf(t *testing.T) {
	whole := protobufStream(t, podMessages(t, 3))
	ours, total := 0, 0
	for i := range uint64(200 * rounds()) {
		r := rand.New(rand.NewPCG(i, 11))
		data := bytes.Clone(whole)
		if i > 0 {
			data = damaged(r, data, 1)
		}
		wanted, wantedErr := byClient(t, protobufMedia, bytes.NewReader(data))
		got, own, gotErr := byFramesProtobuf(t, iotest.HalfReader(bytes.NewReader(data)))
		require.True(t, reflect.DeepEqual(wanted, got), "%d", i)
		require.EqualError(t, gotErr, wantedErr.Error(), "%d", i)
		ours, total = ours+own, total+len(got)
	}
	assert.Greater(t, ours, total/3)
}

// sameListProtobuf is sameList for protobuf.
func sameListProtobuf(t testing.TB, data []byte, way func(io.Reader) io.Reader) error {
	t.Helper()
	list := NewListReaderProtobuf(way(bytes.NewReader(data)), 1<<20)
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	var items []corev1.Pod
	for {
		item, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		items = append(items, corev1.Pod{})
		if err := plan.Protobuf(item, &items[len(items)-1], Options{}); err != nil {
			return err
		}
	}
	require.Equal(t, len(items), list.Items())
	decoder := clientDecoder(t, protobufMedia)
	stub, _, err := decoder.Decode(list.Stub(), nil, nil)
	if err != nil {
		return ErrGiveUp
	}
	wanted, _, err := decoder.Decode(data, nil, nil)
	require.NoError(t, err)
	pods, ok := stub.(*corev1.PodList)
	if !ok {
		return ErrGiveUp
	}
	if len(items) > 0 {
		require.True(t, reflect.DeepEqual(wanted.(*corev1.PodList).Items[:1], pods.Items))
		pods.Items = items
	}
	require.True(t, reflect.DeepEqual(wanted, stub))
	return nil
}

// TestListsProtobuf: items one by one, and the rest, make up the list that client-go reads, whole,
// and damaged.
func TestListsProtobuf(t *testing.T) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "c"}}
	for range 3 {
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"b": "c"}}})
	}
	whole := enveloped(t, list, "PodList")
	for way, reader := range broken {
		err := sameListProtobuf(t, whole, reader)
		if way == "error" || way == "error with the data" {
			assert.ErrorIs(t, err, iotest.ErrTimeout, way)
		} else {
			assert.NoError(t, err, way)
		}
		assert.ErrorIs(t, sameListProtobuf(t, enveloped(t, list, "Pods"), reader), ErrGiveUp, way)
	}
	assert.NoError(t, sameListProtobuf(t, enveloped(t, &corev1.PodList{}, "PodList"), iotest.OneByteReader))
	decoded := 0
	for i := range uint64(2000 * rounds()) {
		r := rand.New(rand.NewPCG(i, 13))
		data := damaged(r, bytes.Clone(whole), 1)
		if err := sameListProtobuf(t, data, iotest.HalfReader); err == nil {
			decoded++
		} else if !errors.Is(err, ErrGiveUp) {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
	}
	assert.Greater(t, decoded, 100)
	const behind = 4 // two empty fields, which need not be there
	for n := range whole {
		ends := n == len(whole)-behind || n == len(whole)-behind/2
		assert.Equal(t, ends, sameListProtobuf(t, whole[:n], iotest.OneByteReader) == nil, n)
	}
}

// TestListProtobufMemory: a list of many items is held one item at a time.
func TestListProtobufMemory(t *testing.T) {
	items := podMessages(t, 300)
	list := &corev1.PodList{}
	for _, pod := range items {
		list.Items = append(list.Items, *pod)
	}
	reader := NewListReaderProtobuf(bytes.NewReader(enveloped(t, list, "PodList")), 1<<20)
	for _, err := reader.Next(); err != io.EOF; _, err = reader.Next() {
		require.NoError(t, err)
		require.LessOrEqual(t, cap(reader.w.buf), 2*firstWindow)
	}
	require.Equal(t, len(items), reader.Items())
	require.Less(t, len(reader.Stub()), 20<<10)
}
