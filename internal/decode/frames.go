// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"

	"k8s.io/apimachinery/pkg/watch"
)

// frameHeads are how frames of the watch begin as the API server writes them.
var frameHeads = []struct {
	event watch.EventType
	text  string
}{
	{watch.Modified, `{"type":"MODIFIED","object":`},
	{watch.Added, `{"type":"ADDED","object":`},
	{watch.Deleted, `{"type":"DELETED","object":`},
	{watch.Bookmark, `{"type":"BOOKMARK","object":`},
}

// WatchFrame takes a frame of a watch in JSON apart. What it returns as the object is one value,
// and the frame what client-go's decoder would make of it, if a decoder of this package accepts it.
// Errors and what is written in another way are given up.
func WatchFrame(frame []byte) (watch.EventType, []byte, error) {
	frame = bytes.TrimRight(frame, " \t\r\n")
	for _, head := range frameHeads {
		begin, end := len(head.text), len(frame)-1
		if end >= begin && string(frame[:begin]) == head.text && frame[end] == '}' {
			return head.event, frame[begin:end:end], nil
		}
	}
	return "", nil, &unsure{why: "an unknown form of a frame"}
}

// Frames splits a stream of frames. Those in JSON are lines as a rule, but what is a whole value is
// not waited behind; those in protobuf are sent behind their length.
type Frames struct {
	w        window
	protobuf bool
	from     int // of the frame that was returned last, in what was read
}

// NewFrames reads frames in JSON, of at most that many bytes.
func NewFrames(r io.Reader, limit int) *Frames { return &Frames{w: window{r: r, limit: limit}} }

// NewFramesProtobuf reads frames in protobuf.
func NewFramesProtobuf(r io.Reader, limit int) *Frames {
	return &Frames{w: window{r: r, limit: limit}, protobuf: true}
}

// Next returns the next frame, which is valid until the next call. The end of the stream between
// frames is io.EOF. A frame that is cut by it, is too large, or begins as none does, is given up;
// other errors are the reader's.
func (f *Frames) Next() ([]byte, error) {
	f.w.begin = f.w.pos
	var frame []byte
	var err error
	if f.protobuf {
		frame, err = f.measured()
	} else {
		frame, err = f.line()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = &unsure{why: "a frame that is cut"}
	}
	return frame, err
}

// lengthBytes are what a frame's length takes, with the highest byte first.
const lengthBytes = 4

// measured returns the next frame in protobuf.
func (f *Frames) measured() ([]byte, error) {
	w := &f.w
	ok := w.need(lengthBytes)
	if f.from = w.begin; !ok {
		if len(w.buf) == w.begin {
			return nil, w.err
		}
		return nil, w.failure()
	}
	n := int64(binary.BigEndian.Uint32(w.buf[w.pos:]))
	if n > int64(w.limit) {
		return nil, &unsure{why: "too long", at: w.pos}
	}
	ok = w.need(lengthBytes + int(n))
	if f.from = w.begin; !ok {
		return nil, w.failure()
	}
	begin := w.pos + lengthBytes
	w.pos = begin + int(n)
	return w.buf[begin:w.pos:w.pos], nil
}

// line returns the next frame in JSON.
func (f *Frames) line() ([]byte, error) {
	w := &f.w
	switch c := w.peek(); {
	case c == 0 && w.pos == len(w.buf):
		f.from = w.pos
		return nil, w.err
	case c != '{':
		f.from = w.pos
		return nil, &unsure{why: "not an object", at: w.pos}
	}
	w.begin = w.pos
	for e := (extent{}); ; {
		f.from = w.begin
		if n := bytes.IndexByte(w.buf[w.pos:], '\n'); n >= 0 {
			w.pos += n + 1
			break
		}
		n, done := e.end(w.buf[w.pos:])
		if w.pos += n; done {
			break
		}
		if !w.fill() {
			f.from = w.begin
			return nil, w.failure()
		}
	}
	return w.buf[w.begin:w.pos:w.pos], nil
}

// Rest is what is left of the stream, from the frame on that Next returned last, or did not return
// for its error. Next must not be called again.
func (f *Frames) Rest() io.Reader {
	read := bytes.NewReader(f.w.buf[f.from:])
	if f.w.err != nil {
		return io.MultiReader(read, failing{f.w.err})
	}
	return io.MultiReader(read, f.w.r)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
