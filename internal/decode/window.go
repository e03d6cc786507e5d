// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"errors"
	"io"
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
		return &unsure{why: "too long", at: w.pos}
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

// extent finds the end of a value in pieces of it.
type extent struct {
	depth   int
	text    bool // within a string
	escaped bool // behind a backslash
	scalar  bool // a number or literal, which ends before what is none
}

// end returns how many bytes of b are the value's, and whether it ends with them.
func (e *extent) end(b []byte) (int, bool) {
	i := 0
	if e.escaped && len(b) > 0 {
		e.escaped = false
		i = 1
	}
	for i < len(b) {
		if e.text {
			i = e.inText(b, i)
			if !e.text && e.depth == 0 {
				return i, true
			}
			continue
		}
		switch b[i] {
		case '"':
			e.text = true
		case '{', '[':
			e.depth++
		case '}', ']':
			if e.scalar {
				return i, true
			}
			if e.depth--; e.depth == 0 {
				return i + 1, true
			}
		case ',', ' ', '\t', '\n', '\r', ':':
			if e.scalar {
				return i, true
			}
		}
		i++
	}
	return len(b), false
}

// inText returns where the string ends, or b.
func (e *extent) inText(b []byte, i int) int {
	for i = plainUntil(b, i); i < len(b); i = plainUntil(b, i) {
		switch b[i] {
		case '"':
			e.text = false
			return i + 1
		case '\\':
			if i++; i == len(b) {
				e.escaped = true
				return i
			}
		}
		i++
	}
	return i
}
