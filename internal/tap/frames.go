// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
)

const (
	// firstBuffer holds most frames of small objects, and is what a quiet watch costs.
	firstBuffer = 8 << 10
	// keptBuffer is the most that is kept while no frame needs more.
	keptBuffer = 256 << 10
	// maxFrame is what is read as one frame. Objects of etcd have 1.5 MiB; client-go takes 16 MiB
	// of JSON, and has its own way to refuse more.
	maxFrame = 8 << 20
	// header is the length before a frame of protobuf.
	header = 4
)

// errTooLong tells that a frame is none for us.
var errTooLong = errors.New("the frame is too long")

// frames cuts a watch stream. A frame has all bytes of the stream between its neighbours.
type frames struct {
	body     io.Reader
	encoding Encoding

	buf      []byte
	from, to int // what was read and not returned
	err      error

	// Of JSON: what was looked at for the end of a line, and the brackets of a line that is not
	// there to its end.
	looked  int
	nesting nesting
}

func newFrames(body io.Reader, e Encoding) *frames {
	return &frames{body: body, encoding: e, buf: make([]byte, firstBuffer)}
}

// next returns a frame, valid until the next call. After an error what is left is rest's.
func (f *frames) next() ([]byte, error) {
	f.shrink()
	for {
		n, err := f.length()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			frame := f.buf[f.from : f.from+n]
			f.from += n
			f.looked, f.nesting = f.from, nesting{}
			return frame, nil
		}
		if f.err != nil {
			return nil, f.err
		}
		f.read()
	}
}

// rest returns what was read and not returned, and the error of the body, nil if it has more.
func (f *frames) rest() ([]byte, error) { return f.buf[f.from:f.to], f.err }

// unread takes the frame back that next has returned.
func (f *frames) unread(frame []byte) { f.from -= len(frame) }

// payload returns what a frame frames.
func (f *frames) payload(frame []byte) []byte {
	if f.encoding == Protobuf {
		return frame[header:]
	}
	return frame
}

// whole reports whether client-go, too, takes the frame for exactly one.
func (f *frames) whole(frame []byte) bool {
	return f.encoding == Protobuf || json.Valid(frame)
}

// blank reports whether client-go skips the frame.
func (f *frames) blank(frame []byte) bool {
	return f.encoding == JSON && len(bytes.TrimSpace(frame)) == 0
}

// length returns that of the next frame, 0 if that is not there to its end.
func (f *frames) length() (int, error) {
	if f.encoding == Protobuf {
		return f.lengthByHeader()
	}
	n := f.lengthOfLine()
	if n > maxFrame || n == 0 && f.to-f.from > maxFrame {
		return 0, errTooLong
	}
	return n, nil
}

func (f *frames) lengthOfLine() int {
	more := f.buf[f.looked:f.to]
	if i := bytes.IndexByte(more, '\n'); i >= 0 {
		return f.looked + i + 1 - f.from
	}
	// Servers send lines, but nobody has promised that: a value may end without one.
	if end := f.nesting.end(more); end > 0 {
		return f.looked + end - f.from
	}
	f.looked = f.to
	return 0
}

func (f *frames) lengthByHeader() (int, error) {
	if f.to-f.from < header {
		return 0, nil
	}
	n := binary.BigEndian.Uint32(f.buf[f.from:])
	switch {
	case n > maxFrame:
		return 0, errTooLong
	case f.to-f.from < header+int(n):
		return 0, nil
	}
	return header + int(n), nil
}

// read reads once, into memory that has room for more.
func (f *frames) read() {
	if f.from > 0 && (f.from == f.to || f.to == len(f.buf)) {
		f.looked -= f.from
		f.to = copy(f.buf, f.buf[f.from:f.to])
		f.from = 0
	}
	if f.to == len(f.buf) {
		f.buf = append(f.buf, make([]byte, len(f.buf))...)
	}
	n, err := f.body.Read(f.buf[f.to:])
	f.to += n
	f.err = err
}

// shrink gives memory back that a long frame has needed.
func (f *frames) shrink() {
	if len(f.buf) > keptBuffer && f.to-f.from <= firstBuffer {
		f.looked -= f.from
		left := f.buf[f.from:f.to]
		f.buf = make([]byte, firstBuffer)
		f.from, f.to = 0, copy(f.buf, left)
	}
}

// nesting follows the brackets of a JSON value.
type nesting struct {
	depth            int
	inText, escaping bool
}

// end goes on with more of the value, and returns how much of that belongs to it if it ends there,
// or
// 0. Only an object or an array has an end that can be seen.
func (n *nesting) end(more []byte) int {
	for i, c := range more {
		switch {
		case n.escaping:
			n.escaping = false
		case n.inText:
			n.escaping, n.inText = c == '\\', c != '"'
		case c == '"':
			n.inText = true
		case c == '{' || c == '[':
			n.depth++
		case c == '}' || c == ']':
			if n.depth--; n.depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
