// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/direct"
)

// replay is a server in memory: each list is the one that was read, and each watch has so many
// events about its objects, and ends.
type replay struct {
	media  string
	list   []byte
	frames [][]byte // of one event for each object
	events int
}

// RoundTrip answers a list or a watch.
func (r *replay) RoundTrip(request *http.Request) (*http.Response, error) {
	media, body := r.media, io.Reader(bytes.NewReader(r.list))
	if request.URL.Query().Get("watch") != "" {
		media, body = media+";stream=watch", &cycle{frames: r.frames, left: r.events}
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1,
		Header: http.Header{"Content-Type": {media}}, Body: io.NopCloser(body), Request: request,
	}, nil
}

// cycle reads frames, and then the same frames again, until none are left.
type cycle struct {
	frames [][]byte
	left   int
	next   int
	rest   []byte // of the frame that is read
}

func (c *cycle) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if len(c.rest) == 0 {
			if c.left == 0 {
				break
			}
			c.rest, c.next, c.left = c.frames[c.next], (c.next+1)%len(c.frames), c.left-1
		}
		read := copy(p[n:], c.rest)
		n, c.rest = n+read, c.rest[read:]
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// framesOf are watch events about objects, as a server writes them.
func framesOf(r resource, objects []runtime.Object, media string) ([][]byte, error) {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	var encoder runtime.Encoder = unstructured.UnstructuredJSONScheme
	if r.hasGoType() {
		encoder = scheme.Codecs.EncoderForVersion(info.Serializer, r.GroupVersion())
	}
	var frames [][]byte
	for _, object := range objects {
		raw, err := runtime.Encode(encoder, object)
		if err != nil {
			return nil, fmt.Errorf("an object cannot be encoded again, with an error of type %T", err)
		}
		var frame bytes.Buffer
		event := &metav1.WatchEvent{Type: string(watch.Modified), Object: runtime.RawExtension{Raw: raw}}
		if err := info.StreamSerializer.Encode(event, info.StreamSerializer.NewFrameWriter(&frame)); err != nil {
			return nil, fmt.Errorf("an event cannot be encoded, with an error of type %T", err)
		}
		frames = append(frames, frame.Bytes())
	}
	return frames, nil
}

// listerWatcher returns what informers of the resource have, on a client of client-go's for the
// server in memory, and an object of the type that they hold.
func (r *replay) listerWatcher(of resource) (clientgo.ListerWatcherWithContext, runtime.Object, error) {
	config := &rest.Config{Host: "http://replay.invalid", Transport: r, QPS: -1}
	config.Wrap(direct.Transport)
	if !of.hasGoType() {
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			return nil, nil, explained(err)
		}
		return dynamicListerWatcher(client.Resource(of.GroupVersionResource)), &unstructured.Unstructured{}, nil
	}
	config.ContentType = r.media
	client, err := restClient(config, of)
	if err != nil {
		return nil, nil, err
	}
	example, err := scheme.Scheme.New(of.gvk())
	if err != nil {
		return nil, nil, err
	}
	lw := direct.NewListWatch(client, example, of.Resource, "", nil)
	return clientgo.ToListerWatcherWithContext(lw), example, nil
}

func dynamicListerWatcher(client dynamic.ResourceInterface) clientgo.ListerWatcherWithContext {
	return clientgo.ToListerWatcherWithContext(&clientgo.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return client.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return client.Watch(ctx, options)
		},
	})
}
