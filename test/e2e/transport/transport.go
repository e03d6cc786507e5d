// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport has the round trippers below every client of a server of package apiserver: one
// counts open bodies and shows a test the frames of watches; the other, if enabled by the environment,
// is direct.Transport. The same tests thus run with informers whose clients decode and with informers
// that decode directly.
package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"github.com/kinformer/cache/direct"
)

// TappedEnv is the environment variable that puts direct.Transport below all clients if it is "1".
const TappedEnv = "KINFORMER_TAPPED"

// Tapped reports whether direct.Transport is below all clients.
func Tapped() bool { return os.Getenv(TappedEnv) == "1" }

// Wrap adds the package's round trippers to c. It must be the first call of c.Wrap.
func Wrap(c *rest.Config) {
	c.Wrap(Around(watched))
	if Tapped() {
		Direct(c)
	}
}

// Direct adds direct.Transport to c, and counts the bodies that it takes over.
func Direct(c *rest.Config) {
	c.Wrap(direct.Transport)
	c.Wrap(Around(countTaken))
}

// Around returns a function for rest.Config.Wrap, which makes do answer the requests of a client.
func Around(do func(next http.RoundTripper, r *http.Request) (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return around{next, do} }
}

type around struct {
	next http.RoundTripper
	do   func(http.RoundTripper, *http.Request) (*http.Response, error)
}

// WrappedRoundTripper gives utilnet.CloseIdleConnectionsFor access to the connections.
func (a around) WrappedRoundTripper() http.RoundTripper { return a.next }

// RoundTrip implements http.RoundTripper.
func (a around) RoundTrip(r *http.Request) (*http.Response, error) { return a.do(a.next, r) }

var counts struct {
	open  atomic.Int64 // open bodies of all clients
	taken atomic.Int64 // bodies taken over by direct.Transport
}

// Open returns the number of open bodies.
func Open() int64 { return counts.open.Load() }

// Taken returns the number of bodies taken over by direct.Transport.
func Taken() int64 { return counts.taken.Load() }

// AddTaken adds bodies taken over in another process.
func AddTaken(n int64) { counts.taken.Add(n) }

// closingPatience bounds the time in which bodies are closed after their readers were stopped.
const closingPatience = time.Minute

// Verify must be called after all tests. It returns an error if bodies are still open, or if TappedEnv
// is set but direct.Transport has taken over no body.
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

// watched sends a request, counts its body and shows a watch to its observer.
func watched(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := next.RoundTrip(r)
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

// body counts as open until it is closed.
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

// countTaken sends a request by direct.Transport, and counts a body that this takes over.
func countTaken(direct http.RoundTripper, r *http.Request) (*http.Response, error) {
	response, err := direct.RoundTrip(r)
	if err == nil && response.StatusCode == http.StatusOK {
		switch response.Body.(type) {
		case *body, *shown: // of watched
		default:
			counts.taken.Add(1)
		}
	}
	return response, err
}

// Observer is shown the frames of a watch. Its methods are called by one goroutine.
type Observer interface {
	// Frame is called with each event before the last bytes of it are passed on to the client. media is
	// the media type. frame is the event without framing; it is valid until Frame returns.
	Frame(media string, frame []byte)
	// Ended is called with io.EOF when the server ends the watch, or with the error when the connection
	// breaks.
	Ended(err error)
}

type observerKey struct{}

// Show returns a context for a request. If the request opens a watch, it is shown to o.
func Show(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// MediaOf returns the media type of the body of a response.
func MediaOf(r *http.Response) string {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // an error returns "", an unknown type
	return media
}

// shown is a body that is shown to an observer while it is read.
type shown struct {
	io.ReadCloser
	ctx      context.Context // of the request
	observer Observer
	media    string
	closed   atomic.Bool

	part  []byte // the incomplete frame
	ended bool
}

func (s *shown) Read(into []byte) (int, error) {
	n, err := s.ReadCloser.Read(into)
	s.part = append(s.part, into[:n]...)
	for {
		whole, frame := cut(s.media, s.part)
		if whole == 0 {
			break
		}
		if len(frame) > 0 {
			s.observer.Frame(s.media, frame)
		}
		s.part = append(s.part[:0], s.part[whole:]...)
	}
	if err != nil && !s.ended && !s.closed.Load() && s.ctx.Err() == nil {
		s.ended = true
		s.observer.Ended(err)
	}
	return n, err
}

func (s *shown) Close() error {
	s.closed.Store(true)
	return s.ReadCloser.Close()
}

// cut returns the length of the first frame of a watch with its framing, 0 if the frame is incomplete,
// and the frame without it. In JSON, the server ends each event with a newline.
func cut(media string, data []byte) (whole int, frame []byte) {
	if media != runtime.ContentTypeProtobuf {
		end := bytes.IndexByte(data, '\n') + 1
		return end, bytes.TrimSpace(data[:end])
	}
	const header = 4
	if len(data) < header {
		return 0, nil
	}
	whole = header + int(binary.BigEndian.Uint32(data))
	if len(data) < whole {
		return 0, nil
	}
	return whole, data[header:whole]
}
