// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package direct

import (
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/internal/testkit"
)

func TestMain(m *testing.M) { testkit.RunTests(m) }

type below struct {
	requests []*http.Request
	closed   int
}

var errBelow = errors.New("from below")

func (b *below) RoundTrip(r *http.Request) (*http.Response, error) {
	b.requests = append(b.requests, r)
	return nil, errBelow
}

func (b *below) CloseIdleConnections() { b.closed++ }

// TestOtherRequestsAsTheyAre: a request of another caller than an informer is sent unchanged, and its
// error is returned.
func TestOtherRequestsAsTheyAre(t *testing.T) {
	b := &below{}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1", nil)
	require.NoError(t, err)
	_, err = Transport(b).RoundTrip(request)
	assert.Equal(t, errBelow, err)
	require.Len(t, b.requests, 1)
	assert.Same(t, request, b.requests[0])
}

// wrapper is a transport whose only other method returns the transport that it wraps.
type wrapper struct{ http.RoundTripper }

func (w wrapper) WrappedRoundTripper() http.RoundTripper { return w.RoundTripper }

// TestWrapping: WrappedRoundTripper returns the transport below. CloseIdleConnections reaches it, also below others that
// lack the method, and does nothing if there is none.
func TestWrapping(t *testing.T) {
	b := &below{}
	rt := Transport(b)
	assert.Same(t, b, rt.(interface{ WrappedRoundTripper() http.RoundTripper }).WrappedRoundTripper())
	assert.Equal(t, http.DefaultTransport, Transport(nil).(*transport).next)
	var hidden struct{ http.RoundTripper }
	for _, next := range []http.RoundTripper{b, wrapper{wrapper{b}}, hidden, wrapper{nil}} {
		(&http.Client{Transport: Transport(next)}).CloseIdleConnections()
	}
	assert.Equal(t, 2, b.closed)
}

// TestNewListWatch: NewListWatch requests the resource, with the tweak applied, and in protobuf if the
// type supports it.
func TestNewListWatch(t *testing.T) {
	for accept, example := range map[string]runtime.Object{
		"application/vnd.kubernetes.protobuf,application/json": &v1.Pod{},
		"application/json, */*":                                &unstructured.Unstructured{},
	} {
		b := &below{}
		config := &rest.Config{Host: "http://127.0.0.1:1", APIPath: "/api", Transport: b}
		config.GroupVersion = &schema.GroupVersion{Version: "v1"}
		config.NegotiatedSerializer = serializer.NewCodecFactory(scheme.Scheme).WithoutConversion()
		client, err := rest.RESTClientFor(config)
		require.NoError(t, err)
		lw := NewListWatch(client, example, "pods", "space", func(o *metav1.ListOptions) { o.LabelSelector = "a=b" })
		_, err = lw.ListWithContext(t.Context(), metav1.ListOptions{Limit: 3})
		assert.ErrorIs(t, err, errBelow)
		_, err = lw.WatchWithContext(t.Context(), metav1.ListOptions{ResourceVersion: "5"})
		assert.ErrorIs(t, err, errBelow)
		//lint:ignore SA1019 old code calls it
		_, err = lw.List(metav1.ListOptions{})
		assert.ErrorIs(t, err, errBelow)
		//lint:ignore SA1019 old code calls it
		_, err = lw.Watch(metav1.ListOptions{})
		assert.ErrorIs(t, err, errBelow)
		require.Len(t, b.requests, 4)
		assert.Equal(t, accept, b.requests[0].Header.Get("Accept"))
		assert.Equal(t, "/api/v1/namespaces/space/pods?labelSelector=a%3Db&limit=3", b.requests[0].URL.RequestURI())
		assert.Equal(t, "/api/v1/namespaces/space/pods?labelSelector=a%3Db&resourceVersion=5&watch=true", b.requests[1].URL.RequestURI())
	}
}
