// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"errors"
	"io"

	"github.com/kinformer/cache/internal/decode/scan"
)

// firstWindow is the number of bytes read at a time. It is usually the size of the window, too.
const firstWindow = 32 << 10

// longestItem is the most bytes of an item of a list. A client holds the whole list, so an item costs it no less.
const longestItem = 1 << 30

// window is the part of a stream that is kept in memory:
//
//	stream  [ dropped (gone) | ... value ... | ....... ]
//	                   buf[0] ↑   begin ↑  pos ↑       ↑ len(buf)
type window struct {
	r     io.Reader
	buf   []byte // the bytes read and not yet dropped
	begin int    // of the current value; bytes before it may be dropped
	pos   int    // of the next byte
	limit int    // the most bytes to keep from begin on
	err   error  // of r: nothing follows buf
	gone  uint64 // the number of bytes before buf
}

// fill reads more. If it returns false, err is the error of the reader, or nil if the window is at
// its limit.
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

// need reads until n bytes follow the position.
func (w *window) need(n int) bool {
	for len(w.buf)-w.pos < n {
		if !w.fill() {
			return false
		}
	}
	return true
}

// failure returns the error after fill returned false within a value.
func (w *window) failure() error {
	switch {
	case w.err == nil:
		return &scan.GiveUpError{Why: "too long", At: w.pos}
	case errors.Is(w.err, io.EOF):
		return io.ErrUnexpectedEOF
	}
	return w.err
}

// peek skips white space and returns the next byte, or 0 if no more can be read.
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

// value reads any value. Only its brackets and quotes are examined; the value is not checked
// otherwise.
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
