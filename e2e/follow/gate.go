// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Gate is a round tripper below the REST clients of a test. Instead of the server, it refuses some
// requests with 429 and, between Withdraw and Restore, requests for pods with 403, as during a change of
// the RBAC rules.
//
// A REST client retries a request answered with 429 and a Retry-After header up to ten times, so that an
// informer receives one in eleven of such answers. The gate's answers have no header but a delay in the
// status: they look like the last of the eleven.
//
// Refuse, if not nil, is called concurrently before each request and must be set before the first. It
// returns 0 to send the request to the server, otherwise the delay in seconds. The methods may be called
// concurrently.
type Gate struct {
	Refuse func(*http.Request) (seconds int)

	Own atomic.Int64 // answers given instead of the server

	mu struct {
		sync.Mutex
		withdrawn bool
		watches   map[*cutBody]struct{}
	}
}

// Wrap is a function for rest.Config.Wrap.
func (g *Gate) Wrap(next http.RoundTripper) http.RoundTripper { return gated{g, next} }

// Withdraw withdraws the permission and ends the open watches, as servers do from time to time.
func (g *Gate) Withdraw() {
	g.mu.Lock()
	watches := g.mu.watches
	g.mu.withdrawn, g.mu.watches = true, nil
	g.mu.Unlock()
	for w := range watches {
		w.cut.Store(true)
		_ = w.Close() // the informer closes it again and receives that error
	}
}

// Restore restores the permission.
func (g *Gate) Restore() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.withdrawn = false
}

// permits reports whether pods may be read. If so, it registers watch, if not nil, for Withdraw.
func (g *Gate) permits(watch *cutBody) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if watch != nil && !g.mu.withdrawn {
		if g.mu.watches == nil {
			g.mu.watches = map[*cutBody]struct{}{}
		}
		g.mu.watches[watch] = struct{}{}
	}
	return !g.mu.withdrawn
}

// refuse returns the answer for why.
func (g *Gate) refuse(r *http.Request, why *apierrors.StatusError) (*http.Response, error) {
	g.Own.Add(1)
	status := why.ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, err := json.Marshal(status)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: int(status.Code), Header: http.Header{"Content-Type": {runtime.ContentTypeJSON}},
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
		Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
	}, nil
}

type gated struct {
	*Gate
	next http.RoundTripper
}

// WrappedRoundTripper lets utilnet.CloseIdleConnectionsFor find the connections.
func (g gated) WrappedRoundTripper() http.RoundTripper { return g.next }

// RoundTrip implements http.RoundTripper.
func (g gated) RoundTrip(r *http.Request) (*http.Response, error) {
	forbidden := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("as a test wants it"))
	if g.Refuse != nil {
		if seconds := g.Refuse(r); seconds > 0 {
			return g.refuse(r, apierrors.NewTooManyRequests("busy, as a test wants it", seconds))
		}
	}
	ofPods := r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/pods")
	if ofPods && !g.permits(nil) {
		return g.refuse(r, forbidden)
	}
	response, err := g.next.RoundTrip(r)
	if err == nil && ofPods && response.StatusCode == http.StatusOK && r.URL.Query().Get("watch") != "" {
		body := &cutBody{ReadCloser: response.Body, gate: g.Gate}
		if !g.permits(body) { // withdrawn meanwhile
			_ = response.Body.Close()
			return g.refuse(r, forbidden)
		}
		response.Body = body
	}
	return response, err
}

// cutBody is the body of a watch. After a cut it ends with io.EOF.
type cutBody struct {
	io.ReadCloser
	gate *Gate
	cut  atomic.Bool
}

func (b *cutBody) Close() error {
	b.gate.mu.Lock()
	delete(b.gate.mu.watches, b)
	b.gate.mu.Unlock()
	return b.ReadCloser.Close()
}

func (b *cutBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && b.cut.Load() {
		err = io.EOF
	}
	return n, err
}

// CloseIdle returns a function that closes the idle connections of an HTTP client of package rest. The
// client's own method does not find them: they are below the authenticating round trippers.
func CloseIdle(c *http.Client) func() {
	return func() { utilnet.CloseIdleConnectionsFor(c.Transport) }
}
