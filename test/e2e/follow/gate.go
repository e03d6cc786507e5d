// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kinformer/cache/test/e2e/transport"
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
		permission context.Context // ends with Withdraw; nil: not asked for since Restore
		withdraw   context.CancelFunc
	}
}

// Wrap is a function for rest.Config.Wrap.
func (g *Gate) Wrap(next http.RoundTripper) http.RoundTripper { return transport.Around(g.pass)(next) }

// Withdraw withdraws the permission and ends the open watches, as servers do from time to time.
func (g *Gate) Withdraw() {
	g.permission()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.withdraw()
}

// Restore restores the permission.
func (g *Gate) Restore() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.permission = nil
}

// permission returns a context that has ended if pods must not be read.
func (g *Gate) permission() context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.mu.permission == nil {
		g.mu.permission, g.mu.withdraw = context.WithCancel(context.Background())
	}
	return g.mu.permission
}

// refuse returns the answer for why.
func (g *Gate) refuse(r *http.Request, why *apierrors.StatusError) (*http.Response, error) {
	g.Own.Add(1)
	status := why.ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Type", runtime.ContentTypeJSON)
	answer.WriteHeader(int(status.Code))
	err := json.NewEncoder(answer).Encode(status)
	response := answer.Result()
	response.Request = r
	return response, err
}

// pass refuses a request, or sends it by next.
func (g *Gate) pass(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	if g.Refuse != nil {
		if seconds := g.Refuse(r); seconds > 0 {
			return g.refuse(r, apierrors.NewTooManyRequests("busy, as a test wants it", seconds))
		}
	}
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/pods") {
		return next.RoundTrip(r)
	}
	permission := g.permission()
	if permission.Err() != nil {
		return g.refuse(r, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("as a test wants it")))
	}
	response, err := next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK && r.URL.Query().Get("watch") != "" {
		of := response.Body
		// The informer closes it again, and receives that error.
		forget := context.AfterFunc(permission, func() { _ = of.Close() })
		response.Body = &cutBody{of, permission, forget}
	}
	return response, err
}

// cutBody is the body of a watch. It ends with io.EOF when the permission is withdrawn.
type cutBody struct {
	io.ReadCloser
	permission context.Context
	forget     func() bool
}

func (b *cutBody) Close() error {
	b.forget()
	return b.ReadCloser.Close()
}

func (b *cutBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && b.permission.Err() != nil {
		err = io.EOF
	}
	return n, err
}

// CloseIdle returns a function that closes the idle connections of an HTTP client of package rest. The
// client's own method does not find them: they are below the authenticating round trippers.
func CloseIdle(c *http.Client) func() {
	return func() { utilnet.CloseIdleConnectionsFor(c.Transport) }
}
