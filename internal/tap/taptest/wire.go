// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package taptest

import (
	"io"
	"net/http"
	"sync/atomic"
)

// Wire is a server without a network, as a RoundTripper.
type Wire struct {
	Media string // of its answers
	// Answer returns the pieces of a body, and whether it goes on behind them, for ever.
	Answer func(*http.Request) (pieces [][]byte, hangs bool)

	Open, Served atomic.Int32 // bodies that are not closed, and all
}

// RoundTrip answers.
func (w *Wire) RoundTrip(r *http.Request) (*http.Response, error) {
	pieces, hangs := w.Answer(r)
	w.Open.Add(1)
	w.Served.Add(1)
	read, write := io.Pipe()
	go func() {
		for _, piece := range pieces {
			if _, err := write.Write(piece); err != nil {
				return
			}
		}
		if hangs {
			<-r.Context().Done()
			_ = write.CloseWithError(r.Context().Err())
			return
		}
		_ = write.Close()
	}()
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {w.Media}}, Request: r,
		Body: &openBody{PipeReader: read, open: &w.Open},
	}, nil
}

type openBody struct {
	*io.PipeReader
	open   *atomic.Int32
	closed atomic.Bool
}

func (b *openBody) Close() error {
	if !b.closed.Swap(true) {
		b.open.Add(-1)
	}
	return b.PipeReader.Close()
}
