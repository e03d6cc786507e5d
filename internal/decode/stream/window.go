// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"io"

	"github.com/kinformer/cache/internal/decode/scan"
)

// firstWindow is how much is read at a time, and most of the time all that is kept.
const firstWindow = 32 << 10

// window is the part of a stream that is looked at.
type window struct {
	r     io.Reader
	buf   []byte // what was read and is needed
	begin int    // of the value that is looked at; what is before it may go
	pos   int    // of the next byte
	limit int    // most bytes from begin on
	err   error  // of r: nothing comes behind buf
	gone  uint64 // bytes that were before buf
}

// fill reads more, or reports false: with the reader's error in err, or none if there is no room.
func (w *window) fill() bool {
	if w.err != nil {
		return false
	}
	if w.begin > 0 {
		w.buf = w.buf[:copy(w.buf, w.buf[w.begin:])]
		w.pos -= w.begin
		w.gone += uint64(w.begin)
		w.begin = 0
	}
	if len(w.buf) >= w.limit {
		return false
	}
	if len(w.buf) == cap(w.buf) {
		larger := make([]byte, len(w.buf), max(firstWindow, 2*cap(w.buf)))
		copy(larger, w.buf)
		w.buf = larger
	}
	for tries := 0; ; tries++ {
		n, err := w.r.Read(w.buf[len(w.buf):cap(w.buf)])
		w.buf = w.buf[:len(w.buf)+n]
		if w.err = err; err == nil && n == 0 && tries < 100 {
			continue
		}
		if n == 0 && err == nil {
			w.err = io.ErrNoProgress
		}
		return n > 0
	}
}

// need reads until there are so many bytes at the position.
func (w *window) need(n int) bool {
	for len(w.buf)-w.pos < n {
		if !w.fill() {
			return false
		}
	}
	return true
}

// failure is why fill reported false within a value.
func (w *window) failure() error {
	switch {
	case w.err == nil:
		return &scan.Unsure{Why: "too long", At: w.pos}
	case errors.Is(w.err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return w.err
}

// peek skips white space and returns the byte behind it, or 0 where nothing more can be read.
func (w *window) peek() byte {
	for {
		for ; w.pos < len(w.buf); w.pos++ {
			switch c := w.buf[w.pos]; c {
			case ' ', '\t', '\n', '\r':
			default:
				return c
			}
		}
		w.begin = w.pos
		if !w.fill() {
			return 0
		}
	}
}

// value reads any value up to its end, which is found by its brackets and quotes: what is between
// is not checked.
func (w *window) value() ([]byte, error) {
	first := w.peek()
	w.begin = w.pos
	e := extent{scalar: first != '{' && first != '[' && first != '"'}
	for {
		n, done := e.end(w.buf[w.pos:])
		w.pos += n
		if done {
			return w.buf[w.begin:w.pos:w.pos], nil
		}
		if !w.fill() {
			return nil, w.failure()
		}
	}
}
