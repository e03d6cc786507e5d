// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

// expiry is between an informer of pods and the server. It does what a server does that has forgotten a version: it
// ends the watch, and answers the request for one that goes on from there with 410 Expired.
type expiry struct {
	armed atomic.Bool
	mu    sync.Mutex
	open  *watchBody // the newest
}

// now has the version expire.
func (e *expiry) now() {
	e.armed.Store(true)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.open != nil {
		e.open.cut.Store(true)
		_ = e.open.ReadCloser.Close() // the informer closes it, too
	}
}

func (e *expiry) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		query := r.URL.Query()
		if !strings.HasSuffix(r.URL.Path, "/pods") || query.Get("watch") == "" {
			return next.RoundTrip(r)
		}
		if query.Get("sendInitialEvents") == "" && e.armed.CompareAndSwap(true, false) {
			return expired(r)
		}
		response, err := next.RoundTrip(r)
		if err == nil && response.StatusCode == http.StatusOK {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.open = &watchBody{ReadCloser: response.Body}
			response.Body = e.open
		}
		return response, err
	})
}

// expired is the server's answer.
func expired(r *http.Request) (*http.Response, error) {
	status := apierrors.NewResourceExpired("too old resource version").ErrStatus
	status.Kind, status.APIVersion = "Status", "v1"
	body, err := json.Marshal(status)
	return &http.Response{
		StatusCode: http.StatusGone, Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}}, Request: r,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, err
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// watchBody is the body of a watch, which ends in order when it is cut.
type watchBody struct {
	io.ReadCloser
	cut atomic.Bool
}

func (b *watchBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && b.cut.Load() {
		err = io.EOF
	}
	return n, err
}
