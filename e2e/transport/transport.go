// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package transport has what is below every client of a server of package apiserver: what counts
// open bodies and shows a test each watch as the server sends it, and, if the environment says so,
// direct.Transport. So the same tests run with informers whose clients decode, and with informers
// that do that themselves.
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

// Observer is shown a watch as the server sends it. One goroutine calls it.
type Observer interface {
	// Frame is called with each event, before any byte of its last piece goes on to the client.
	// media is how it is written; the frame is valid until Frame returns, and has nothing around
	// the event.
	Frame(media string, frame []byte)
	// Ended is called when the server has ended the watch, or the connection is broken: by io.EOF,
	// or the error.
	Ended(err error)
}

type observerKey struct{}

// Show returns a context whose watch, if a request with it opens one, is shown to o.
func Show(ctx context.Context, o Observer) context.Context {
	return context.WithValue(ctx, observerKey{}, o)
}

// MediaOf returns how the body of a response is written.
func MediaOf(r *http.Response) string {
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // "" is none that anybody knows
	return media
}

// shown is a body that is shown to an observer on its way.
type shown struct {
	io.ReadCloser
	ctx      context.Context // of the request
	observer Observer
	media    string
	closed   atomic.Bool

	part  []byte // of a frame
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

// cut returns how many bytes the first frame of a watch has with what is around it, 0 if it is not
// there to its end. The server ends each event in JSON with a line.
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
