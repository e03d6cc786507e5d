// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package tap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
)

// The fields of a runtime.Unknown, and of lists: all of them are bytes.
const (
	tagOfMeta    = 1<<3 | 2 // of both
	tagOfRaw     = 2<<3 | 2
	tagOfItem    = 2<<3 | 2
	tagOfCoding  = 3<<3 | 2
	tagOfContent = 4<<3 | 2
)

// protobufList is a list in protobuf. It holds one item at a time, and the list without its items.
//
//	magic  Unknown{ typeMeta, raw: List{ metadata, items... }, contentEncoding, contentType }
type protobufList struct {
	decoder protobufDecoder
	wire    wireReader
	begun   bool
	end     int64 // of raw

	typeMeta       []byte // the field
	before, behind []byte // the items: other fields of the list
	items          int
	tail           []byte // the fields behind raw
}

var errInterleaved = errors.New("other fields between the items")

func (l *protobufList) Next() (Item, error) {
	if !l.begun {
		if err := l.begin(); err != nil {
			return Item{}, err
		}
	}
	for l.wire.at < l.end {
		tag, data, field, err := l.wire.field()
		switch {
		case err != nil:
			return Item{}, err
		case l.wire.at > l.end:
			return Item{}, errMalformed
		case tag != tagOfItem && l.items == 0:
			l.before = append(l.before, field...)
		case tag != tagOfItem:
			l.behind = append(l.behind, field...)
		case len(l.behind) > 0:
			return Item{}, errInterleaved
		default:
			l.items++
			obj, err := l.decoder.object(data)
			return Item{Wire: data, Object: obj, Why: err}, nil
		}
	}
	return Item{}, l.finish()
}

// begin reads up to the list's fields.
func (l *protobufList) begin() error {
	head, err := l.wire.bytes(len(magic))
	if err != nil {
		return err
	}
	if string(head) != magic {
		return errNoMagic
	}
	tag, data, field, err := l.wire.field()
	if err != nil {
		return err
	}
	var meta runtime.TypeMeta
	if tag != tagOfMeta || meta.Unmarshal(data) != nil || !strings.HasSuffix(meta.Kind, "List") {
		return errors.New("no list")
	}
	l.typeMeta = bytes.Clone(field)
	tag, err = l.wire.uvarint()
	if err != nil {
		return err
	}
	n, err := l.wire.uvarint()
	if err != nil {
		return err
	}
	if tag != tagOfRaw || n > 1<<40 {
		return errMalformed
	}
	l.begun, l.end = true, l.wire.at+int64(n)
	return nil
}

// finish reads what is behind the list's fields. Its error is io.EOF if that is as it should be.
func (l *protobufList) finish() error {
	for {
		tag, data, field, err := l.wire.field()
		switch {
		case err != nil:
			return err
		case tag != tagOfCoding && tag != tagOfContent || len(data) > 0:
			return errOtherWay
		}
		l.tail = append(l.tail, field...)
	}
}

func (l *protobufList) With(items [][]byte) []byte {
	size := len(l.before) + len(l.behind)
	for _, item := range items {
		size += 1 + binary.MaxVarintLen64 + len(item)
	}
	raw := append(make([]byte, 0, size), l.before...)
	for _, item := range items {
		raw = append(binary.AppendUvarint(append(raw, tagOfItem), uint64(len(item))), item...)
	}
	raw = append(raw, l.behind...)
	whole := append([]byte(magic), l.typeMeta...)
	whole = binary.AppendUvarint(append(whole, tagOfRaw), uint64(len(raw)))
	return append(append(whole, raw...), l.tail...)
}

// wireReader reads fields of bytes.
type wireReader struct {
	r        io.Reader
	at       int64 // how much was taken
	buf      []byte
	from, to int
	err      error // of r, behind what is in buf
}

// field returns the next field: its tag, its content, and all of it, valid until the next call. The
// error is io.EOF before a field, and io.ErrUnexpectedEOF within one. Only fields of bytes are read.
func (w *wireReader) field() (tag uint64, data, field []byte, err error) {
	if !w.has(1) {
		return 0, nil, nil, w.err
	}
	for n := 2; ; n++ {
		if n > 2*binary.MaxVarintLen64 {
			return 0, nil, nil, errMalformed
		}
		if !w.has(n) {
			return 0, nil, nil, w.cut()
		}
		tag, t := binary.Uvarint(w.buf[w.from : w.from+n])
		if t <= 0 {
			continue
		}
		length, l := binary.Uvarint(w.buf[w.from+t : w.from+n])
		if l <= 0 {
			continue
		}
		if tag&7 != 2 || length > maxItem {
			return 0, nil, nil, errMalformed
		}
		if !w.has(t + l + int(length)) {
			return 0, nil, nil, w.cut()
		}
		field = w.take(t + l + int(length))
		return tag, field[t+l:], field, nil
	}
}

func (w *wireReader) bytes(n int) ([]byte, error) {
	if !w.has(n) {
		return nil, w.cut()
	}
	return w.take(n), nil
}

func (w *wireReader) uvarint() (uint64, error) {
	for n := 1; n <= binary.MaxVarintLen64; n++ {
		if !w.has(n) {
			return 0, w.cut()
		}
		if v, used := binary.Uvarint(w.buf[w.from : w.from+n]); used > 0 {
			w.take(used)
			return v, nil
		}
	}
	return 0, errMalformed
}

func (w *wireReader) take(n int) []byte {
	taken := w.buf[w.from : w.from+n : w.from+n]
	w.from += n
	w.at += int64(n)
	return taken
}

// cut is the error where more was expected.
func (w *wireReader) cut() error {
	if w.err == nil {
		return errMalformed
	}
	if errors.Is(w.err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return w.err
}

// has reads until there are n bytes, and reports whether there are.
func (w *wireReader) has(n int) bool {
	for w.to-w.from < n {
		if w.err != nil {
			return false
		}
		w.fill(n)
	}
	return true
}

const wireBuffer = 32 << 10

func (w *wireReader) fill(n int) {
	if len(w.buf)-w.from < n || w.from == w.to {
		buf := w.buf
		if len(buf) < n || len(buf) == 0 {
			buf = make([]byte, max(wireBuffer, 2*n))
		}
		w.to = copy(buf, w.buf[w.from:w.to])
		w.buf, w.from = buf, 0
	}
	var read int
	read, w.err = w.r.Read(w.buf[w.to:])
	w.to += read
}
