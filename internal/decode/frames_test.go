// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

// medias are the content types of both encodings.
var medias = map[Encoding]string{JSON: "application/json", Protobuf: "application/vnd.kubernetes.protobuf"}

// clientDecoder returns the decoder of client-go's typed clients, and its serializers.
func clientDecoder(t testing.TB, coding Encoding) (runtime.Decoder, runtime.SerializerInfo) {
	negotiated := scheme.Codecs.WithoutConversion()
	info, ok := runtime.SerializerInfoForMediaType(negotiated.SupportedMediaTypes(), medias[coding])
	require.True(t, ok)
	return negotiated.DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion), info
}

type seen struct {
	event watch.EventType
	pod   runtime.Object
}

// byClient reads all events with client-go, and returns the error after them.
func byClient(t testing.TB, coding Encoding, r io.Reader) (list []seen, err error) {
	objects, info := clientDecoder(t, coding)
	framer := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(r))
	decoder := restwatch.NewDecoder(streaming.NewDecoder(framer, info.StreamSerializer.Serializer), objects)
	for {
		event, object, err := decoder.Decode()
		if err != nil {
			return list, err
		}
		list = append(list, seen{event, object})
	}
}

// rest returns the remaining stream.
func rest(frames *Frames, stream io.Reader) io.Reader {
	read, err := frames.Rest()
	if err != nil {
		stream = iotest.ErrReader(err)
	}
	return io.MultiReader(bytes.NewReader(read), stream)
}

// byFrames reads events with this package until it gives up, and the rest with client-go. ours is
// the number of the former.
func byFrames(t testing.TB, coding Encoding, r io.Reader) (list []seen, ours int, err error) {
	frames := NewFrames(r, coding, 1<<20)
	for {
		frame, err := frames.Next()
		event, pod := watch.EventType(""), new(corev1.Pod)
		if err == nil {
			if event, err = podOf(t, coding, frames.Payload(frame), pod); err != nil {
				frames.Unread(frame)
			}
		}
		if err != nil {
			ours = len(list)
			others, err := byClient(t, coding, rest(frames, r))
			return append(list, others...), ours, err
		}
		list = append(list, seen{event, pod})
	}
}

// podOf decodes the frame of a pod, whose kind is not part of the result.
func podOf(t testing.TB, coding Encoding, frame []byte, pod *corev1.Pod) (watch.EventType, error) {
	opened, err := Open(frame, coding)
	if err != nil {
		return "", err
	}
	kind := opened.Kind
	if err = decodePod(t, coding, opened.Object, pod); coding == JSON {
		kind, pod.TypeMeta = pod.GroupVersionKind(), metav1.TypeMeta{}
	}
	if err == nil && kind != corev1.SchemeGroupVersion.WithKind("Pod") {
		err = ErrGiveUp
	}
	return opened.Type, err
}

func decodePod(t testing.TB, coding Encoding, data []byte, pod *corev1.Pod) error {
	plan := planOf(t, podType)
	if coding == JSON {
		return plan.JSON(data, pod, Options{})
	}
	return plan.Protobuf(data, pod, Options{})
}

// sameEvents fails the test unless the events and the final error of a stream are those of
// client-go's decoder. It returns the number of events, and of those that this package decoded.
func sameEvents(t testing.TB, coding Encoding, data []byte, way func(io.Reader) io.Reader, name string) (all, ours int) {
	t.Helper()
	wanted, wantedErr := byClient(t, coding, way(bytes.NewReader(data)))
	got, ours, gotErr := byFrames(t, coding, way(bytes.NewReader(data)))
	require.True(t, reflect.DeepEqual(wanted, got), "%s: %d and %d, %v", name, len(wanted), len(got), gotErr)
	require.EqualError(t, gotErr, wantedErr.Error(), name)
	return len(got), ours
}

// broken are ways to read a stream.
var broken = map[string]func(io.Reader) io.Reader{
	"at once":   func(r io.Reader) io.Reader { return r },
	"by bytes":  iotest.OneByteReader,
	"by halves": iotest.HalfReader,
	"error with the data": func(r io.Reader) io.Reader {
		return iotest.DataErrReader(io.MultiReader(r, iotest.ErrReader(iotest.ErrTimeout)))
	},
	"error": func(r io.Reader) io.Reader { return io.MultiReader(r, iotest.ErrReader(iotest.ErrTimeout)) },
}

// compareFrames calls sameEvents for all ways to read a stream, of which this package decodes the
// given number of events.
func compareFrames(t *testing.T, coding Encoding, name string, stream []byte, ours int) {
	t.Helper()
	for way, reader := range broken {
		if len(stream) > 100<<10 && way == "by bytes" {
			continue
		}
		_, got := sameEvents(t, coding, stream, reader, name+", "+way)
		if coding == Protobuf || way == "at once" {
			assert.Equal(t, ours, got, "%s, %s", name, way)
		}
	}
}

// TestFrames checks that the events and the final error of a stream are those of client-go's
// decoder, however the stream is read.
func TestFrames(t *testing.T) {
	pod := strings.TrimSpace(string(readFile(t, "testdata/pod.json")))
	frame := func(event, object string) string { return fmt.Sprintf(`{"type":"%s","object":%s}`, event, object) }
	small := frame("ADDED", `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a\n\"}{","uid":"é\\"}}`)
	for _, test := range []struct {
		name, stream string
		ours         int
	}{
		{"none", "", 0},
		{"lines", frame("ADDED", pod) + "\n" + frame("MODIFIED", pod) + "\n" + frame("DELETED", pod) + "\n" + frame("BOOKMARK", pod) + "\n", 4},
		{"no newline at the end", small + "\n" + small, 2},
		{"empty lines and spaces", "\n \n" + small + " \r\n\n" + small + "\n \n", 2},
		{"space before a frame", small + "\n\t" + small, 1},
		{"error event", small + "\n" + frame("ERROR", `{"kind":"Status","apiVersion":"v1","code":410,"reason":"Expired"}`) + "\n" + small + "\n", 1},
		{"unknown event", small + "\n" + frame("OTHER", pod) + "\n", 1},
		{"other kind", small + "\n" + frame("ADDED", `{"kind":"Node","apiVersion":"v1"}`) + "\n" + small + "\n", 1},
		{"other order", small + "\n" + `{"object":` + pod + `,"type":"ADDED"}` + "\n" + small + "\n", 1},
		{"more members", small + "\n" + `{"type":"ADDED","object":` + pod + `,"more":{}}` + "\n" + small + "\n", 1},
		{"object twice", small + "\n" + `{"type":"ADDED","object":{},"object":` + pod + `}` + "\n" + small + "\n", 1},
		{"another end", small + "\n" + small[:len(small)-1] + "]\n" + small + "\n", 1},
		{"pretty", small + "\n" + strings.ReplaceAll(small, ",", ",\n") + "\n" + small + "\n", 1},
		{"newline within", "{\n" + small[1:], 0},
		{"garbage", small + "\n" + "garbage\n" + small + "\n", 1},
		{"list", small + "\n[" + small + "]\n" + small + "\n", 1},
		{"cut", small + "\n" + small[:40], 1},
		{"cut within a text", small + "\n" + small[:len(small)-10], 1},
		{"null", small + "\n" + frame("ADDED", "null") + "\n", 1},
		{"no object", small + "\n" + `{"type":"ADDED","object":}` + "\n", 1},
		{"object that ends early", small + "\n" + `{"type":"ADDED","object":` + pod + "}}\n", 1},
		{"zero byte", small + "\n\x00" + small, 1},
		{"large", frame("ADDED", strings.Replace(pod, "kube-controller-manager", strings.Repeat("m", 600<<10), 1)) + "\n" + small, 2},
		{"too large", small + "\n" + frame("ADDED", strings.Replace(pod, "kube-controller-manager", strings.Repeat("m", 2<<20), 1)) + "\n" + small, 1},
	} {
		compareFrames(t, JSON, test.name, []byte(test.stream), test.ours)
	}
}

// TestFramesWithoutNewlines checks that a frame without a newline is returned without waiting for
// more.
func TestFramesWithoutNewlines(t *testing.T) {
	r, w := io.Pipe()
	frames := NewFrames(r, JSON, 1<<20)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for _, piece := range []string{`{"a":"{"`, `}`, `{}`, `{"b":[`, `]}{"c"`, `:1}`, `{"d":"\`, `"}"`, `}`, `{"e":1`, "}\t", `{"f":2}`} {
			_, _ = w.Write([]byte(piece))
		}
	}()
	for _, wanted := range []string{`{"a":"{"}`, `{}`, `{"b":[]}`, `{"c":1}`, `{"d":"\"}"}`, `{"e":1}`, "\t{\"f\":2}"} {
		frame, err := frames.Next()
		require.NoError(t, err)
		assert.Equal(t, wanted, string(frame))
	}
	<-sent
	require.NoError(t, w.Close())
	_, err := frames.Next()
	assert.Equal(t, io.EOF, err)
}

// TestRandomStreams checks streams with random damage, read in small pieces.
func TestRandomStreams(t *testing.T) {
	ours, total := 0, 0
	for i := range uint64(150 * *rounds) {
		r := rand.New(rand.NewPCG(i, 11))
		var stream bytes.Buffer
		for range 1 + r.IntN(4) {
			pod := randomDocument(r, reflect.TypeFor[corev1.PodTemplate](), 0)
			fmt.Fprintf(&stream, `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","spec":%s}}`, bytes.TrimSpace(pod))
			stream.WriteString([]string{"\n", "", " ", "\r\n"}[max(0, r.IntN(12)-8)])
		}
		data := stream.Bytes()
		if r.IntN(2) == 0 {
			data = damaged(r, data, 1)
		}
		got, own := sameEvents(t, JSON, data, iotest.OneByteReader, string(data))
		ours, total = ours+own, total+got
	}
	assert.Greater(t, ours, total/4)
}

// TestTooLong checks that a frame above the limit is given up, and that the bytes read remain.
func TestTooLong(t *testing.T) {
	const limit = 1 << 20
	line := []byte("[\"" + strings.Repeat("x", limit-5) + "\"]\n")
	require.Len(t, line, limit)
	f := NewFrames(bytes.NewReader(append(bytes.Clone(line), "x{}\n"...)), JSON, limit)
	frame, err := f.Next()
	require.NoError(t, err)
	require.Len(t, frame, limit)

	f = NewFrames(bytes.NewReader(append([]byte("xx"), line...)), JSON, limit)
	_, err = f.Next()
	require.ErrorIs(t, err, ErrGiveUp)
	left, _ := f.Rest()
	require.Equal(t, "xx", string(left[:2]))

	for _, size := range [][]byte{{0, 0x10, 0, 1}, {0xff, 0xff, 0xff, 0xff}} {
		f = NewFrames(bytes.NewReader(append(size, 0)), Protobuf, limit)
		_, err = f.Next()
		require.ErrorIs(t, err, ErrGiveUp)
		left, _ = f.Rest()
		require.Equal(t, append(size, 0), left)
	}
}

// sameList reads a list item by item. Unless it gives up, it requires that the result equals that
// of client-go's decoder.
func sameList(t testing.TB, coding Encoding, data []byte, way func(io.Reader) io.Reader) error {
	t.Helper()
	list := NewList(way(bytes.NewReader(data)), coding, 1<<20)
	var items []corev1.Pod
	var first [][]byte
	for {
		item, err := list.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(items) == 0 {
			first = [][]byte{bytes.Clone(item)}
		}
		items = append(items, corev1.Pod{})
		if err := decodePod(t, coding, item, &items[len(items)-1]); err != nil {
			return err
		}
	}
	stub, err := listByClient(t, coding, list.With(first))
	if err != nil {
		return fmt.Errorf("%w: the stub: %w", ErrGiveUp, err)
	}
	wanted, err := listByClient(t, coding, data)
	require.NoError(t, err, "%s", data)
	if len(items) > 0 {
		require.True(t, reflect.DeepEqual(wanted.Items[:1], stub.Items), "%s", data)
		stub.Items = items
	}
	require.True(t, reflect.DeepEqual(wanted, stub), "%s", data)
	return nil
}

// listByClient decodes a list of pods with client-go, whatever its kind is in JSON.
func listByClient(t testing.TB, coding Encoding, data []byte) (*corev1.PodList, error) {
	if coding == JSON {
		list := new(corev1.PodList)
		return list, utiljson.Unmarshal(data, list)
	}
	decoder, _ := clientDecoder(t, coding)
	list, _, err := decoder.Decode(data, nil, nil)
	if pods, ok := list.(*corev1.PodList); ok && err == nil {
		return pods, nil
	}
	return nil, fmt.Errorf("a %T: %w", list, errors.Join(err, ErrGiveUp))
}

// TestLists checks that the items and the rest make up the list that client-go decodes.
func TestLists(t *testing.T) {
	pod := strings.TrimSpace(string(readFile(t, "testdata/pod.json")))
	meta := `"metadata":{"resourceVersion":"7","continue":"c\"]}","remainingItemCount":5}`
	for _, test := range []struct {
		name, data string
		err        error
	}{
		{"as built-in types", `{"kind":"PodList","apiVersion":"v1",` + meta + `,"items":[` + pod + `,` + pod + `]}` + "\n", nil},
		{"as custom resources", `{"apiVersion":"v1","items":[` + pod + `,` + pod + `,{}],"kind":"PodList",` + meta + `}`, nil},
		{"spaces", " \n{ \"items\" : [ {} ,\n{ } ] , \"kind\" : \"PodList\" } \n ", nil},
		{"none", `{"kind":"PodList","items":[]}`, nil},
		{"none and spaces", `{"items" : [ ] }`, nil},
		{"null", `{"items":null,"kind":"PodList"}`, nil},
		{"no items", `{"kind":"PodList"}`, nil},
		{"empty", `{}`, ErrGiveUp},
		{"another object", `{"kind":"Pod","metadata":{"name":"a"}}`, ErrGiveUp},
		{"other members", `{"a":1,"b":"x\"","c":[{"items":[1]}],"d":true,"e":null,"f":-1.5e3 ,"items":[{}],"Items":[1]}`, nil},
		{"no object", `[]`, ErrGiveUp},
		{"null list", `null`, ErrGiveUp},
		{"null item", `{"items":[{},null]}`, ErrGiveUp},
		{"text item", `{"items":["a"]}`, ErrGiveUp},
		{"items twice", `{"items":[{}],"items":[{}]}`, ErrGiveUp},
		{"items twice, null", `{"items":null,"items":[{}]}`, ErrGiveUp},
		{"items twice, null behind", `{"items":[{}],"items":null}`, ErrGiveUp},
		{"kind twice", `{"kind":"PodList","items":[{}],"kind":"OtherList"}`, ErrGiveUp}, // the kind of the items would be ambiguous
		{"escape in a name", `{"items":[{}],"it\u0065ms":[]}`, ErrGiveUp},
		{"items are an object", `{"items":{}}`, ErrGiveUp},
		{"comma at the end of the items", `{"items":[{},]}`, ErrGiveUp},
		{"comma at their begin", `{"items":[,{}]}`, ErrGiveUp},
		{"no comma", `{"items":[{}{}]}`, ErrGiveUp},
		{"comma at the end", `{"items":[{}],}`, ErrGiveUp},
		{"no value", `{"items":,"kind":"a"}`, ErrGiveUp},
		{"no comma between members", `{"items":[]"kind":"a"}`, ErrGiveUp},
		{"something behind", `{"items":[]} {}`, ErrGiveUp},
		{"zero byte", "{\"items\":[\x00{}]}", ErrGiveUp},
		{"zero byte behind", "{\"items\":[{}]}\x00", ErrGiveUp},
		{"brackets that do not match", `{"items":[{"metadata":]]}`, ErrGiveUp},
		{"error in the rest", `{"items":[{}],"x":[01]}`, ErrGiveUp},
		{"error in an item", `{"items":[{"x":01}]}`, ErrGiveUp},
		{"long item", `{"items":[{},{"x":"` + strings.Repeat("x", 2<<20) + `"},{}]}`, nil},
		{"long rest", `{"items":[{}],"x":"` + strings.Repeat("x", 900<<10) + `","y":"` + strings.Repeat("x", 900<<10) + `"}`, ErrGiveUp},
		{"cut between items", `{"items":[{},`, io.ErrUnexpectedEOF},
		{"cut behind an item", `{"items":[{}`, io.ErrUnexpectedEOF},
		{"cut in an item", `{"items":[{"metadata":{"name":"a"`, io.ErrUnexpectedEOF},
		{"cut behind the items", `{"items":[{}]`, io.ErrUnexpectedEOF},
		{"nothing", ``, io.ErrUnexpectedEOF},
	} {
		for way, reader := range broken {
			switch {
			case len(test.data) > 100<<10 && way == "by bytes":
			case strings.HasPrefix(way, "error"):
				err := sameList(t, JSON, []byte(test.data), reader)
				assert.True(t, errors.Is(err, iotest.ErrTimeout) || errors.Is(err, test.err) && err != nil, "%s, %s: %v", test.name, way, err)
			default:
				assert.ErrorIs(t, sameList(t, JSON, []byte(test.data), reader), test.err, "%s, %s", test.name, way)
			}
		}
	}
}

// TestRandomLists checks random lists, intact and damaged, in small pieces.
func TestRandomLists(t *testing.T) {
	decoded := 0
	for i := range uint64(200 * *rounds) {
		r := rand.New(rand.NewPCG(i, 13))
		data := randomDocument(r, reflect.TypeFor[corev1.PodList](), []int{0, 200}[r.IntN(2)])
		if r.IntN(2) == 0 {
			data = damaged(r, data, 1)
		}
		if err := sameList(t, JSON, data, iotest.HalfReader); err == nil {
			decoded++
		} else if !errors.Is(err, ErrGiveUp) {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
	}
	assert.Greater(t, decoded, 40)
}

func podMessages(t testing.TB, n int) (list []*corev1.Pod) {
	for _, data := range pods(t, n) {
		list = append(list, inJSON.decoded(t, podType, data, Options{}).(*corev1.Pod))
	}
	return list
}

// enveloped returns an object as it is sent in protobuf.
func enveloped(t testing.TB, object message, kind string) []byte {
	unknown := &runtime.Unknown{TypeMeta: runtime.TypeMeta{APIVersion: "v1", Kind: kind}, Raw: encoded(t, object)}
	return append([]byte(envelopeMark), encoded(t, unknown)...)
}

func frameOf(t testing.TB, event watch.EventType, object []byte) []byte {
	data := encoded(t, &metav1.WatchEvent{Type: string(event), Object: runtime.RawExtension{Raw: object}})
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), data...)
}

func protobufStream(t testing.TB, list []*corev1.Pod) (stream []byte) {
	for _, pod := range list {
		stream = append(stream, frameOf(t, watch.Modified, enveloped(t, pod, "Pod"))...)
	}
	return stream
}

// TestFramesProtobuf checks that the events and the final error of a stream are those of
// client-go's decoder, however the stream is read.
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
		compareFrames(t, Protobuf, test.name, test.stream, test.ours)
	}
}

// TestRandomStreamsProtobuf checks streams with random damage, read in small pieces.
func TestRandomStreamsProtobuf(t *testing.T) {
	whole := protobufStream(t, podMessages(t, 3))
	ours, total := 0, 0
	for i := range uint64(200 * *rounds) {
		r := rand.New(rand.NewPCG(i, 11))
		data := bytes.Clone(whole)
		if i > 0 {
			data = damaged(r, data, 1)
		}
		got, own := sameEvents(t, Protobuf, data, iotest.HalfReader, fmt.Sprint(i))
		ours, total = ours+own, total+got
	}
	assert.Greater(t, ours, total/3)
}

// TestListsProtobuf checks that the items and the rest make up the list that client-go decodes,
// intact or damaged.
func TestListsProtobuf(t *testing.T) {
	list := &corev1.PodList{ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "c"}}
	for range 3 {
		list.Items = append(list.Items, corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{"b": "c"}}})
	}
	whole := enveloped(t, list, "PodList")
	for way, reader := range broken {
		err := sameList(t, Protobuf, whole, reader)
		if way == "error" || way == "error with the data" {
			assert.ErrorIs(t, err, iotest.ErrTimeout, way)
		} else {
			assert.NoError(t, err, way)
		}
		assert.ErrorIs(t, sameList(t, Protobuf, enveloped(t, list, "Pods"), reader), ErrGiveUp, way)
	}
	assert.NoError(t, sameList(t, Protobuf, enveloped(t, &corev1.PodList{}, "PodList"), iotest.OneByteReader))
	decoded := 0
	for i := range uint64(2000 * *rounds) {
		r := rand.New(rand.NewPCG(i, 13))
		data := damaged(r, bytes.Clone(whole), 1)
		if err := sameList(t, Protobuf, data, iotest.HalfReader); err == nil {
			decoded++
		} else if !errors.Is(err, ErrGiveUp) {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		}
	}
	assert.Greater(t, decoded, 100)
	const behind = 4 // two empty fields, which are optional
	for n := range whole {
		ends := n == len(whole)-behind || n == len(whole)-behind/2
		assert.Equal(t, ends, sameList(t, Protobuf, whole[:n], iotest.OneByteReader) == nil, n)
	}
}
