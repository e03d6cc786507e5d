// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/bench/internal/workload"
)

func TestAnswersDecodeToWhatWasEncoded(t *testing.T) {
	pods := Pods.Objects(workload.Config{N: 3, Seed: 1})
	for _, mediaType := range []string{JSON, Protobuf} {
		t.Run(mediaType, func(t *testing.T) {
			answers, err := Encode(Pods, pods, mediaType, 0)
			require.NoError(t, err)
			require.Len(t, answers.Pages, 1)
			listed, err := DecodeList(answers.Pages[0], mediaType)
			require.NoError(t, err)
			require.Len(t, listed, 3)
			assert.Equal(t, pods[2].(*corev1.Pod).UID, listed[2].(*corev1.Pod).UID)

			streamed, err := DecodeStream(answers.Initial, mediaType)
			require.NoError(t, err)
			require.Len(t, streamed, 4)
			assert.Equal(t, pods[0].(*corev1.Pod).Spec.Containers[0].Env, streamed[0].(*corev1.Pod).Spec.Containers[0].Env)
			assert.Equal(t, "true", streamed[3].(*corev1.Pod).Annotations[metav1.InitialEventsAnnotationKey])

			updated, err := DecodeStream(answers.Updates, mediaType)
			require.NoError(t, err)
			require.Len(t, updated, 3)
			assert.Equal(t, version(3), updated[2].(*corev1.Pod).ResourceVersion)
			assert.NotEqual(t, version(3), pods[2].(*corev1.Pod).ResourceVersion)

			_, err = DecodeStream(answers.Updates[:len(answers.Updates)-5], mediaType)
			assert.Error(t, err, "a stream that ends in the middle of a frame")
		})
	}
	_, err := Encode(Pods, pods, "text/plain", 0)
	assert.Error(t, err)
}

func TestPagesNameTheNextOne(t *testing.T) {
	answers, err := Encode(Pods, Pods.Objects(workload.Config{N: 5, Seed: 1}), Protobuf, 2)
	require.NoError(t, err)
	require.Len(t, answers.Pages, 3)
	names := map[string]bool{}
	for i, want := range []struct {
		items     int
		next      string
		remaining *int64
	}{{2, "1", new(int64(3))}, {2, "2", new(int64(1))}, {1, "", nil}} {
		var list corev1.PodList
		decoded, err := runtime.Decode(Codecs.UniversalDeserializer(), answers.Pages[i])
		require.NoError(t, err)
		list = *decoded.(*corev1.PodList)
		assert.Len(t, list.Items, want.items)
		assert.Equal(t, want.next, list.Continue)
		assert.Equal(t, want.remaining, list.RemainingItemCount)
		for _, pod := range list.Items {
			names[pod.Name] = true
		}
	}
	assert.Len(t, names, 5)
}

// TestObjectsWithoutGoType: their lists have the names of members in alphabetical order, as those
// of custom resources do.
func TestObjectsWithoutGoType(t *testing.T) {
	objects := Certificates.Objects(workload.Config{N: 3, Seed: 1})
	answers, err := Encode(Certificates, objects, JSON, 0)
	require.NoError(t, err)
	assert.Regexp(t, `^\{"apiVersion":"certificates.example.com/v1","items":\[`, string(answers.Pages[0]))
	decoded, err := runtime.Decode(unstructured.UnstructuredJSONScheme, answers.Pages[0])
	require.NoError(t, err)
	list := decoded.(*unstructured.UnstructuredList)
	require.Len(t, list.Items, 3)
	assert.Equal(t, objects[1].(*unstructured.Unstructured).Object, list.Items[1].Object)
	assert.Equal(t, version(0), list.GetResourceVersion())
	assert.Contains(t, string(answers.Initial), `"type":"BOOKMARK"`)
	_, err = Encode(Certificates, objects, Protobuf, 0)
	assert.Error(t, err)
}

// TestSmallObjectsAreSmall: they are none but what they are called.
func TestSmallObjectsAreSmall(t *testing.T) {
	for name, most := range map[string]int{"configmaps": 1200, "leases": 1000, "certificates": 2200} {
		of, err := resourceOf(name)
		require.NoError(t, err)
		answers, err := Encode(of, of.Objects(workload.Config{N: 100, Seed: 1}), JSON, 0)
		require.NoError(t, err)
		each := len(answers.Pages[0]) / 100
		assert.Greater(t, each, most/2, name)
		assert.Less(t, each, most, name)
	}
	_, err := resourceOf("nothing")
	assert.Error(t, err)
}

func TestServeAnswersAndEndsWithItsInput(t *testing.T) {
	in, lifeline := io.Pipe()
	out, told := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(Config{N: 2, Seed: 1, MediaType: JSON}, in, told) }()
	var hello greeting
	require.NoError(t, json.NewDecoder(out).Decode(&hello))
	s := &Server{URL: hello.URL}

	list, err := s.Bytes(t.Context(), "list")
	require.NoError(t, err)
	items, err := DecodeList(list, JSON)
	require.NoError(t, err)
	assert.Len(t, items, 2)

	_, err = s.Open(t.Context())
	require.NoError(t, err)
	_, err = s.do(t.Context(), http.MethodGet, "/api/v1/pods?limit=500")
	require.NoError(t, err)
	open, err := s.Open(t.Context())
	require.NoError(t, err)
	assert.Positive(t, open)
	open, err = s.Open(t.Context())
	require.NoError(t, err)
	assert.Zero(t, open, "no list since")

	response, err := http.Get(s.URL + "/api/v1/pods?watch=true")
	require.NoError(t, err)
	require.NoError(t, s.Feed(t.Context()))
	updates, err := s.Bytes(t.Context(), "updates")
	require.NoError(t, err)
	got := make([]byte, len(updates))
	_, err = io.ReadFull(response.Body, got)
	require.NoError(t, err)
	assert.Equal(t, updates, got)
	require.NoError(t, response.Body.Close())

	_, err = s.Bytes(t.Context(), "nothing")
	assert.ErrorContains(t, err, "404")
	require.NoError(t, lifeline.Close())
	assert.NoError(t, <-ended)
}

// TestNegotiates: a server that does sends protobuf to who accepts that first, and to others, as
// any other server does, what it usually sends.
func TestNegotiates(t *testing.T) {
	for _, negotiates := range []bool{false, true} {
		handler, err := newHandler(Config{N: 3, Seed: 1, MediaType: JSON, Negotiates: negotiates})
		require.NoError(t, err)
		for accept, want := range map[string]string{
			"application/json, */*": JSON, Protobuf: Protobuf, Protobuf + "," + JSON: Protobuf, JSON + "," + Protobuf: JSON,
		} {
			if !negotiates {
				want = JSON
			}
			request, answer := httptest.NewRequest(http.MethodGet, "/api/v1/pods", nil), httptest.NewRecorder()
			request.Header.Set("Accept", accept)
			handler.ServeHTTP(answer, request)
			assert.Equal(t, want, answer.Header().Get("Content-Type"))
			items, err := DecodeList(answer.Body.Bytes(), want)
			require.NoError(t, err)
			assert.Len(t, items, 3)
		}
	}
}

// TestTLSIsForHTTP2: the certificate is good, and a client with HTTP/1.1 is refused.
func TestTLSIsForHTTP2(t *testing.T) {
	in, lifeline := io.Pipe()
	out, told := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- serve(Config{Resource: "leases", N: 2, Seed: 1, MediaType: JSON, TLS: true}, in, told)
	}()
	var hello greeting
	require.NoError(t, json.NewDecoder(out).Decode(&hello))
	s := &Server{URL: hello.URL, CA: hello.CA}
	const path = "/apis/coordination.k8s.io/v1/leases"
	_, err := s.do(t.Context(), http.MethodGet, path)
	assert.ErrorContains(t, err, "505")

	trusted := x509.NewCertPool()
	require.True(t, trusted.AppendCertsFromPEM(hello.CA))
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, ForceAttemptHTTP2: true}}
	response, err := client.Get(s.URL + path)
	require.NoError(t, err)
	assert.Equal(t, http.StatusOK, response.StatusCode)
	require.NoError(t, response.Body.Close())
	client.CloseIdleConnections()
	require.NoError(t, lifeline.Close())
	assert.NoError(t, <-ended)
}
