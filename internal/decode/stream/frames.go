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
	// firstBuffer is the initial size of the buffer, in bytes. It holds most frames of small
	// objects, and is the memory of an idle watch.
	firstBuffer = 8 << 10
	// keptBuffer is the largest buffer, in bytes, that is kept while frames are small.
	keptBuffer = 256 << 10
	// lengthBytes is the size of the big-endian length before a frame of protobuf.
	lengthBytes = 4
)

// Frames splits the stream of a watch. A frame in JSON is a line, but Frames returns an object that
// is complete without waiting for the end of its line. A frame in protobuf has a length prefix. The
// frames contain all bytes of the stream, except lines of white space.
//
//	buf  [ returned | ..... frame ..... | unread ]
//	                 ↑ from              ↑ to         searched and looked are in between
type Frames struct {
	body     io.Reader
	limit    int
	protobuf bool

	buf      []byte
	from, to int // the bytes read and not returned
	err      error

	// Of JSON: the positions up to which the buffer was searched for the end of a line and of a
	// value, and the state of the latter search.
	searched, looked int
	extent           extent
}

// NewFrames returns the frames of r, of at most limit bytes each.
func NewFrames(r io.Reader, e Encoding, limit int) *Frames {
	return &Frames{body: r, limit: limit, protobuf: e == Protobuf, buf: make([]byte, firstBuffer)}
}

// Next returns the next frame, valid until the next call. It gives up on a frame that is too long.
// Other errors, including io.EOF, are those of the reader. After an error, Rest returns the
// remaining bytes.
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

// Rest returns the bytes read but not returned, and the error of the reader, or nil if the stream
// continues.
func (f *Frames) Rest() ([]byte, error) { return f.buf[f.from:f.to], f.err }

// Unread puts back the frame that Next returned last. Next must not be called again.
func (f *Frames) Unread(frame []byte) { f.from -= len(frame) }

// Payload returns a frame without its length prefix.
func (f *Frames) Payload(frame []byte) []byte {
	if f.protobuf {
		return frame[lengthBytes:]
	}
	return frame
}

// length returns the length of the next frame, or 0 if the frame is not complete.
func (f *Frames) length() (int, error) {
	if f.protobuf {
		return f.lengthByHeader()
	}
	n := f.lengthOfLine()
	if n > f.limit || n == 0 && f.to-f.from > f.limit {
		return 0, &scan.GiveUpError{Why: "too long"}
	}
	return n, nil
}

func (f *Frames) lengthOfLine() int {
	if i := bytes.IndexByte(f.buf[f.searched:f.to], '\n'); i >= 0 {
		return f.searched + i + 1 - f.from
	}
	f.searched = f.to
	// Servers send lines, but the protocol permits a value without one. The bytes read so far then
	// end with the value, or with part of the next one, whose rest is on its way.
	if f.to == f.from || !mayEndValue(f.buf[f.to-1]) {
		return 0
	}
	n, done := f.extent.end(f.buf[f.looked:f.to])
	if f.looked += n; done {
		return f.looked - f.from
	}
	return 0
}

// mayEndValue reports whether b may be the last byte of an object, or white space after it.
func mayEndValue(b byte) bool { return b == '}' || b == ' ' || b == '\t' || b == '\r' }

func (f *Frames) lengthByHeader() (int, error) {
	if f.to-f.from < lengthBytes {
		return 0, nil
	}
	n := int64(binary.BigEndian.Uint32(f.buf[f.from:]))
	switch {
	case n > int64(f.limit):
		return 0, &scan.GiveUpError{Why: "too long"}
	case f.to-f.from < lengthBytes+int(n):
		return 0, nil
	}
	return lengthBytes + int(n), nil
}

// read reads once, into a buffer with room for more.
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

// shrink releases the memory of a long frame.
func (f *Frames) shrink() {
	if len(f.buf) > keptBuffer && f.to-f.from <= firstBuffer {
		f.searched, f.looked = f.searched-f.from, f.looked-f.from
		left := f.buf[f.from:f.to]
		f.buf = make([]byte, firstBuffer)
		f.from, f.to = 0, copy(f.buf, left)
	}
}
