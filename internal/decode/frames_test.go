// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
	restwatch "k8s.io/client-go/rest/watch"
)

// clientDecoder is what client-go's typed clients decode with.
func clientDecoder(t testing.TB, mediaType string) runtime.Decoder {
	negotiated := scheme.Codecs.WithoutConversion()
	info, ok := runtime.SerializerInfoForMediaType(negotiated.SupportedMediaTypes(), mediaType)
	require.True(t, ok)
	return negotiated.DecoderToVersion(info.Serializer, corev1.SchemeGroupVersion)
}

// clientWatch is what client-go's typed clients read a watch with.
func clientWatch(t testing.TB, mediaType string, r io.Reader) *restwatch.Decoder {
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.WithoutConversion().SupportedMediaTypes(), mediaType)
	require.True(t, ok)
	framer := info.StreamSerializer.Framer.NewFrameReader(io.NopCloser(r))
	return restwatch.NewDecoder(streaming.NewDecoder(framer, info.StreamSerializer.Serializer), clientDecoder(t, mediaType))
}

const (
	jsonMedia     = "application/json"
	protobufMedia = "application/vnd.kubernetes.protobuf"
)

type seen struct {
	event watch.EventType
	pod   runtime.Object
}

// byClient reads all events, and the error behind them.
func byClient(t testing.TB, mediaType string, r io.Reader) (list []seen, err error) {
	decoder := clientWatch(t, mediaType, r)
	for {
		event, object, err := decoder.Decode()
		if err != nil {
			return list, err
		}
		list = append(list, seen{event, object})
	}
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// rest is what is left of a stream.
func rest(frames *Frames, stream io.Reader) io.Reader {
	read, err := frames.Rest()
	if err != nil {
		stream = failing{err}
	}
	return io.MultiReader(bytes.NewReader(read), stream)
}

// byFrames is byClient for our decoder, until it gives up; the rest is client-go's.
func byFrames(t testing.TB, r io.Reader) (list []seen, ours int, err error) {
	frames := NewFrames(r, 1<<20)
	plan := planOf(t, reflect.TypeFor[corev1.Pod]())
	for {
		frame, err := frames.Next()
		var event watch.EventType
		pod := new(corev1.Pod)
		if err == nil {
			var object []byte
			if event, object, err = WatchFrame(frame); err == nil {
				err = plan.JSON(object, pod, Options{})
			}
			if err != nil || pod.Kind != "Pod" || pod.APIVersion != "v1" {
				frames.Unread(frame)
				err = ErrGiveUp
			}
		}
		if err != nil {
			ours = len(list)
			others, err := byClient(t, jsonMedia, rest(frames, r))
			return append(list, others...), ours, err
		}
		pod.Kind, pod.APIVersion = "", ""
		list = append(list, seen{event, pod})
	}
}

// broken are ways to read.
var broken = map[string]func(io.Reader) io.Reader{
	"at once":   func(r io.Reader) io.Reader { return r },
	"by bytes":  iotest.OneByteReader,
	"by halves": iotest.HalfReader,
	"error with the data": func(r io.Reader) io.Reader {
		return iotest.DataErrReader(io.MultiReader(r, failing{iotest.ErrTimeout}))
	},
	"error": func(r io.Reader) io.Reader { return io.MultiReader(r, failing{iotest.ErrTimeout}) },
}

// TestFrames: whatever a stream is and however it is read, the events are those of client-go's
// decoder, and so is its end.
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
		for way, reader := range broken {
			if len(test.stream) > 100<<10 && way == "by bytes" {
				continue
			}
			wanted, wantedErr := byClient(t, jsonMedia, reader(strings.NewReader(test.stream)))
			got, ours, gotErr := byFrames(t, reader(strings.NewReader(test.stream)))
			require.Equal(t, len(wanted), len(got), "%s, %s: %v", test.name, way, gotErr)
			require.True(t, reflect.DeepEqual(wanted, got), "%s, %s", test.name, way)
			assert.EqualError(t, gotErr, wantedErr.Error(), "%s, %s", test.name, way)
			if way == "at once" {
				assert.Equal(t, test.ours, ours, test.name)
			}
		}
	}
}

// TestFramesWithoutNewlines are not waited behind, one of them or two in one piece.
func TestFramesWithoutNewlines(t *testing.T) {
	r, w := io.Pipe()
	frames := NewFrames(r, 1<<20)
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

// TestCutFrames: the begin of a frame is none, and all of it is in the rest of the stream.
func TestCutFrames(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	whole := frameOf(t, watch.Added, enveloped(t, pod, "Pod"))
	for _, c := range []struct {
		stream []byte
		frames func(io.Reader, int) *Frames
	}{
		{[]byte(`{"type":"ADDED","object":{"kind":"Pod"}}`), NewFrames},
		{whole, NewFramesProtobuf},
	} {
		for n := 1; n < len(c.stream); n++ {
			frames := c.frames(bytes.NewReader(c.stream[:n]), 1<<20)
			_, err := frames.Next()
			require.Equal(t, io.EOF, err, n)
			rest, err := frames.Rest()
			require.Equal(t, io.EOF, err)
			require.Equal(t, c.stream[:n], rest)
		}
	}
}

// TestRandomStreams: frames damaged anywhere, in pieces of any size.
func TestRandomStreams(t *testing.T) {
	ours, total := 0, 0
	for i := range uint64(150 * rounds()) {
		r := rand.New(rand.NewPCG(i, 11))
		var stream bytes.Buffer
		for range 1 + r.IntN(4) {
			pod := document(r, reflect.TypeFor[corev1.PodTemplate](), 0)
			fmt.Fprintf(&stream, `{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","spec":%s}}`, bytes.TrimSpace(pod))
			stream.WriteString([]string{"\n", "", " ", "\r\n"}[max(0, r.IntN(12)-8)])
		}
		data := stream.Bytes()
		if r.IntN(2) == 0 {
			data = damaged(r, data, 1)
		}
		wanted, wantedErr := byClient(t, jsonMedia, bytes.NewReader(data))
		got, own, gotErr := byFrames(t, iotest.OneByteReader(bytes.NewReader(data)))
		require.True(t, reflect.DeepEqual(wanted, got), "%s", data)
		require.EqualError(t, gotErr, wantedErr.Error(), "%s", data)
		ours, total = ours+own, total+len(got)
	}
	assert.Greater(t, ours, total/3)
}
