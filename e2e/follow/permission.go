// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Permission is below the REST clients of a test, and is what the server has to say about their
// user: it may list and watch pods, or each such request is answered with 403, as while somebody
// writes the rules anew. Its methods may be called concurrently.
type Permission struct {
	Denied atomic.Int64 // requests that were answered with 403

	mu struct {
		sync.Mutex
		withdrawn bool
		watches   map[*cutBody]struct{}
	}
}

// Wrap fits rest.Config.Wrap.
func (p *Permission) Wrap(next http.RoundTripper) http.RoundTripper { return permitted{p, next} }

// Withdraw takes the permission away, and ends the watches that are open, as servers do from time
// to time.
func (p *Permission) Withdraw() {
	p.mu.Lock()
	watches := p.mu.watches
	p.mu.withdrawn, p.mu.watches = true, nil
	p.mu.Unlock()
	for w := range watches {
		w.cut.Store(true)
		_ = w.Close() // the informer closes it once more, and hears of what went wrong
	}
}

// Restore gives the permission back.
func (p *Permission) Restore() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mu.withdrawn = false
}

// follow returns the body of a watch that Withdraw ends, nil if the permission is withdrawn.
func (p *Permission) follow(body io.ReadCloser) io.ReadCloser {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.withdrawn {
		return nil
	}
	if p.mu.watches == nil {
		p.mu.watches = map[*cutBody]struct{}{}
	}
	w := &cutBody{ReadCloser: body}
	p.mu.watches[w] = struct{}{}
	return w
}

func (p *Permission) deny(r *http.Request) (*http.Response, error) {
	p.Denied.Add(1)
	return refusal(r, apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("as a test wants it")))
}

type permitted struct {
	*Permission
	next http.RoundTripper
}

// WrappedRoundTripper lets utilnet.CloseIdleConnectionsFor find the connections.
func (p permitted) WrappedRoundTripper() http.RoundTripper { return p.next }

// RoundTrip implements http.RoundTripper.
func (p permitted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/pods") {
		return p.next.RoundTrip(r)
	}
	p.mu.Lock()
	withdrawn := p.mu.withdrawn
	p.mu.Unlock()
	if withdrawn {
		return p.deny(r)
	}
	response, err := p.next.RoundTrip(r)
	if err != nil || response.StatusCode != http.StatusOK || r.URL.Query().Get("watch") == "" {
		return response, err
	}
	body := p.follow(response.Body)
	if body == nil { // withdrawn meanwhile
		_ = response.Body.Close()
		return p.deny(r)
	}
	response.Body = body
	return response, nil
}

// cutBody is the body of a watch, which ends in order when it is cut.
type cutBody struct {
	io.ReadCloser
	cut atomic.Bool
}

func (b *cutBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if err != nil && b.cut.Load() {
		err = io.EOF
	}
	return n, err
}
