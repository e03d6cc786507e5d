// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport has what is below every client of a server of package apiserver: what counts
// open bodies and shows a test each watch as the server sends it, and, if the environment says so,
// direct.Transport. So the same tests run with informers whose clients decode, and with informers
// that do that themselves.
package transport

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/direct"
)

// TappedEnv is the environment variable that puts direct.Transport below all clients, if it is "1".
const TappedEnv = "KINFORMER_TAPPED"

// Tapped reports whether direct.Transport is below all clients.
func Tapped() bool { return os.Getenv(TappedEnv) == "1" }

// Wrap gives clients of a config what is below every client. Nothing may have been wrapped before.
func Wrap(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return bottom{next} })
	if Tapped() {
		Direct(c)
	}
}

// Direct gives clients of a config direct.Transport, and counts the bodies that it takes.
func Direct(c *rest.Config) {
	c.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return above{direct.Transport(next)}
	})
}

var counts struct {
	open  atomic.Int64 // bodies of all clients that are not closed
	taken atomic.Int64 // bodies that direct.Transport has taken
}

// Open returns how many bodies are open.
func Open() int64 { return counts.open.Load() }

// Taken returns how many bodies direct.Transport has taken.
func Taken() int64 { return counts.taken.Load() }

// AddTaken counts those that it has taken in another process.
func AddTaken(n int64) { counts.taken.Add(n) }

// closingPatience is how long bodies may take to be closed when what has read them was stopped.
const closingPatience = time.Minute

// Verify is called when all tests have ended. The error says that bodies were left open, or that
// informers should have decoded directly, and none of their requests was taken for that.
func Verify() error {
	var errs []error
	for end := time.Now().Add(closingPatience); Open() > 0 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := Open(); n > 0 {
		errs = append(errs, fmt.Errorf("%d bodies are open", n))
	}
	if Tapped() && Taken() == 0 {
		errs = append(errs, errors.New(TappedEnv+" is set, and direct.Transport has taken no body"))
	}
	return errors.Join(errs...)
}

// bottom sends requests.
type bottom struct{ next http.RoundTripper }

// WrappedRoundTripper lets utilnet.CloseIdleConnectionsFor find the connections.
func (b bottom) WrappedRoundTripper() http.RoundTripper { return b.next }

// RoundTrip implements http.RoundTripper.
func (b bottom) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err != nil || response.Body == nil {
		return response, err
	}
	counts.open.Add(1)
	response.Body = &body{ReadCloser: response.Body}
	if o, _ := r.Context().Value(observerKey{}).(Observer); o != nil && response.StatusCode == http.StatusOK {
		response.Body = &shown{ReadCloser: response.Body, ctx: r.Context(), observer: o, media: MediaOf(response)}
	}
	return response, nil
}

// body counts while it is open.
type body struct {
	io.ReadCloser
	closed atomic.Bool
}

func (b *body) Close() error {
	if !b.closed.Swap(true) {
		counts.open.Add(-1)
	}
	return b.ReadCloser.Close()
}

// above is over direct.Transport, and sees whether it has taken a body.
type above struct{ next http.RoundTripper }

// WrappedRoundTripper lets utilnet.CloseIdleConnectionsFor find the connections.
func (a above) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper.
func (a above) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := a.next.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK {
		switch response.Body.(type) {
		case *body, *shown: // as the bottom has made it
		default:
			counts.taken.Add(1)
		}
	}
	return response, err
}
