// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/binary"
	"io"

	"github.com/kinformer/cache/internal/decode/scan"
)

const (
	// firstBuffer holds most frames of small objects, and is what a quiet watch costs.
	firstBuffer = 8 << 10
	// keptBuffer is the most that is kept while no frame needs more.
	keptBuffer = 256 << 10
	// lengthBytes are what the length before a frame of protobuf takes, the highest byte first.
	lengthBytes = 4
)

// Frames cuts the stream of a watch. Frames in JSON are lines as a rule, but what is a whole object
// is not waited behind; those in protobuf are sent behind their length. A frame has all bytes of
// the stream between its neighbours, but lines of white space are left out.
type Frames struct {
	body     io.Reader
	limit    int
	protobuf bool

	buf      []byte
	from, to int // what was read and not returned
	err      error

	// Of JSON: what was searched for the end of a line, and what was looked at for the end of a
	// value, and how far that is.
	searched, looked int
	extent           extent
}

// NewFrames reads frames of at most that many bytes.
func NewFrames(r io.Reader, e Encoding, limit int) *Frames {
	return &Frames{body: r, limit: limit, protobuf: e == Protobuf, buf: make([]byte, firstBuffer)}
}

// Next returns a frame, valid until the next call. A frame that is too long is given up; other
// errors, io.EOF among them, are the reader's. After an error what is left is Rest's.
func (f *Frames) Next() ([]byte, error) {
	f.shrink()
	for {
		n, err := f.length()
		if err != nil {
			return nil, err
		}
		if n > 0 {
			frame := f.buf[f.from : f.from+n]
			f.from += n
			f.searched, f.looked, f.extent = f.from, f.from, extent{}
			if f.protobuf || len(bytes.TrimSpace(frame)) > 0 {
				return frame, nil
			}
			continue
		}
		if f.err != nil {
			return nil, f.err
		}
		f.read()
	}
}

// Rest returns what was read and not returned, and the error of the reader, nil if it has more.
func (f *Frames) Rest() ([]byte, error) { return f.buf[f.from:f.to], f.err }

// Unread takes the frame back that Next has returned. Next must not be called again.
func (f *Frames) Unread(frame []byte) { f.from -= len(frame) }

// Payload returns what a frame frames.
func (f *Frames) Payload(frame []byte) []byte {
	if f.protobuf {
		return frame[lengthBytes:]
	}
	return frame
}

// length returns that of the next frame, 0 if that is not there to its end.
func (f *Frames) length() (int, error) {
	if f.protobuf {
		return f.lengthByHeader()
	}
	n := f.lengthOfLine()
	if n > f.limit || n == 0 && f.to-f.from > f.limit {
		return 0, &scan.Unsure{Why: "too long"}
	}
	return n, nil
}

func (f *Frames) lengthOfLine() int {
	if i := bytes.IndexByte(f.buf[f.searched:f.to], '\n'); i >= 0 {
		return f.searched + i + 1 - f.from
	}
	f.searched = f.to
	// Servers send lines, but nobody has promised that: a value may end without one. What was read
	// ends with that then, or with a part of the next one, of which more is under way.
	if f.to == f.from || !mayEndValue(f.buf[f.to-1]) {
		return 0
	}
	n, done := f.extent.end(f.buf[f.looked:f.to])
	if f.looked += n; done {
		return f.looked - f.from
	}
	return 0
}

// mayEndValue reports whether an object may be at its end, or have ended, with a byte.
func mayEndValue(b byte) bool { return b == '}' || b == ' ' || b == '\t' || b == '\r' }

func (f *Frames) lengthByHeader() (int, error) {
	if f.to-f.from < lengthBytes {
		return 0, nil
	}
	n := int64(binary.BigEndian.Uint32(f.buf[f.from:]))
	switch {
	case n > int64(f.limit):
		return 0, &scan.Unsure{Why: "too long"}
	case f.to-f.from < lengthBytes+int(n):
		return 0, nil
	}
	return lengthBytes + int(n), nil
}

// read reads once, into memory that has room for more.
func (f *Frames) read() {
	if f.from > 0 && (f.from == f.to || f.to == len(f.buf)) {
		f.searched, f.looked = f.searched-f.from, f.looked-f.from
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
func (f *Frames) shrink() {
	if len(f.buf) > keptBuffer && f.to-f.from <= firstBuffer {
		f.searched, f.looked = f.searched-f.from, f.looked-f.from
		left := f.buf[f.from:f.to]
		f.buf = make([]byte, firstBuffer)
		f.from, f.to = 0, copy(f.buf, left)
	}
}
