// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Throttle is below the REST client of an informer, which itself repeats what was answered with 429
// and a Retry-After header, up to ten times, so that one such answer in eleven gets to the
// informer. It counts the answers, and gives some in place of the server: without the header, and
// with the delay in the status, which is how the last of the eleven looks from above.
//
// Refuse, if not nil, is asked before each request, concurrently, and set before the first: 0 sends
// it to the server, and more than that is the delay in seconds.
type Throttle struct {
	Refuse func(*http.Request) (seconds int)

	Server atomic.Int64 // answers of 429 by the server
	Own    atomic.Int64 // answers of 429 in its place
}

// Wrap fits rest.Config.Wrap.
func (t *Throttle) Wrap(next http.RoundTripper) http.RoundTripper { return throttled{t, next} }

type throttled struct {
	*Throttle
	next http.RoundTripper
}

// WrappedRoundTripper lets utilnet.CloseIdleConnectionsFor find the connections.
func (t throttled) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t throttled) RoundTrip(r *http.Request) (*http.Response, error) {
	if t.Refuse != nil {
		if seconds := t.Refuse(r); seconds > 0 {
			t.Own.Add(1)
			return refusal(r, apierrors.NewTooManyRequests("busy, as a test wants it", seconds))
		}
	}
	response, err := t.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusTooManyRequests {
		t.Server.Add(1)
	}
	return response, err
}

// refusal is an answer of the server that says why.
func refusal(r *http.Request, why *apierrors.StatusError) (*http.Response, error) {
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

// CloseIdle returns what releases the connections of an HTTP client of the rest package. The
// client's own method does not see them: they are below the round trippers that authenticate.
func CloseIdle(c *http.Client) func() {
	return func() { utilnet.CloseIdleConnectionsFor(c.Transport) }
}

// Occupy keeps one request of the user of config in flight, nearly all the time, until stop is
// called, which waits for the end. A server with Options.MaxRequestsInFlight of 1 then answers all
// others with 429, but for watches and administrators, which it exempts. Each request lists at a
// version that is far away, for which the watch cache waits 3 s; several take turns.
func Occupy(ctx context.Context, config *rest.Config) (stop func(), err error) {
	const (
		requests = 4
		between  = 2 * time.Millisecond
	)
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath, config.NegotiatedSerializer = &corev1.SchemeGroupVersion, "/api", scheme.Codecs.WithoutConversion()
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("occupy: %w", err)
	}
	client, err := rest.RESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return nil, fmt.Errorf("occupy: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range requests {
		group.Go(func() {
			pause := time.NewTicker(between)
			defer pause.Stop()
			for ctx.Err() == nil {
				// What the answer is does not matter.
				_, _ = client.Get().MaxRetries(0).Resource("pods").Param("resourceVersion", "9000000000000000000").DoRaw(ctx)
				select {
				case <-pause.C:
				case <-ctx.Done():
				}
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
		CloseIdle(httpClient)()
	}, nil
}
