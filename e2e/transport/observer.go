// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"mime"
	"net/http"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
)

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
