// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"encoding/binary"
	"io"
)

// ListReaderProtobuf is a [ListReader] for lists in protobuf.
type ListReaderProtobuf struct {
	w     window
	state listState
	stub  []byte // of the list that is in the envelope
	head  []byte // what comes before it in the envelope
	end   uint64 // of the list, counted from the begin of the data
	count int
	limit int
	first slot // of the first item in the stub
}

// slot is a part of a document: from begin up to end.
type slot struct{ begin, end int }

// NewListReaderProtobuf reads a list whose items, and all the rest, are of at most that many bytes
// each.
func NewListReaderProtobuf(r io.Reader, limit int) *ListReaderProtobuf {
	return &ListReaderProtobuf{w: window{r: r, limit: limit}, limit: limit}
}

// Fields of the envelope and of lists.
const (
	envelopeType   = 1<<3 | wireBytes
	envelopeObject = 2<<3 | wireBytes
	listItem       = 2<<3 | wireBytes
)

// Next returns the next item, as [ListReader.Next] does. It is a whole message for
// [Plan.Protobuf]. A list that ends too early is given up or io.ErrUnexpectedEOF.
func (l *ListReaderProtobuf) Next() ([]byte, error) {
	if l.state == beforeList {
		if err := l.open(); err != nil {
			return nil, err
		}
		l.state = beforeItem
	}
	for l.state == beforeItem && l.at() < l.end {
		tag, field, err := l.field()
		if err != nil {
			return nil, err
		}
		if l.at() > l.end {
			return nil, l.unsure("a field beyond the end of the list")
		}
		if tag == listItem {
			l.count++
			if l.count == 1 {
				l.first.begin = len(l.stub)
				l.stub = appendField(l.stub, listItem, field)
				l.first.end = len(l.stub)
			}
			return field, nil
		}
		if l.stub = appendField(l.stub, tag, field); len(l.stub) > l.limit {
			return nil, l.unsure("too much besides the items")
		}
	}
	return nil, l.close()
}

// Stub returns the list with its first item only, in its envelope, once Next has returned io.EOF.
func (l *ListReaderProtobuf) Stub() []byte {
	return appendField(bytes.Clone(l.head), envelopeObject, l.stub)
}

// With returns the list with these items in the place of its own, once Next has returned io.EOF.
func (l *ListReaderProtobuf) With(items [][]byte) []byte {
	list := bytes.Clone(l.stub[:l.first.begin])
	for _, item := range items {
		list = appendField(list, listItem, item)
	}
	return appendField(bytes.Clone(l.head), envelopeObject, append(list, l.stub[l.first.end:]...))
}

// Items returns how many items there were so far.
func (l *ListReaderProtobuf) Items() int { return l.count }

func (l *ListReaderProtobuf) unsure(why string) error { return &unsure{why: why, at: int(l.at())} }

// at is the position, counted from the begin of the data.
func (l *ListReaderProtobuf) at() uint64 { return l.w.gone + uint64(l.w.pos) }

// open reads the envelope up to the first field of the list.
func (l *ListReaderProtobuf) open() error {
	if !l.w.need(len(envelopeMark)) {
		return l.w.failure()
	}
	if string(l.w.buf[:len(envelopeMark)]) != envelopeMark {
		return l.unsure("no protobuf of Kubernetes")
	}
	l.w.pos = len(envelopeMark)
	tag, about, err := l.field()
	if err != nil {
		return err
	}
	_, rest, ok := split(about, 1)
	kind, rest, named := split(rest, 2)
	ok = ok && named && len(rest) == 0 && bytes.HasSuffix(kind, []byte("List"))
	if tag != envelopeType || !ok {
		return l.unsure("not a list")
	}
	l.head = appendField([]byte(envelopeMark), tag, about)
	if tag, err = l.number(); err != nil {
		return err
	}
	size, err := l.number()
	if err != nil {
		return err
	}
	if tag != envelopeObject || size > 1<<40 {
		return l.unsure("another field than was expected")
	}
	l.end = l.at() + size
	return nil
}

// close reads what is behind the list: nothing, or empty fields.
func (l *ListReaderProtobuf) close() error {
	for l.state = behindList; l.w.need(1); {
		tag, field, err := l.field()
		if err != nil {
			return err
		}
		if len(field) > 0 || tag != 3<<3|wireBytes && tag != 4<<3|wireBytes {
			return l.unsure("an envelope with an unknown content")
		}
	}
	if l.at() < l.end {
		return l.w.failure()
	}
	return l.w.err
}

// number reads a number at the position.
func (l *ListReaderProtobuf) number() (uint64, error) {
	for n := 1; n <= binary.MaxVarintLen64; n++ {
		if !l.w.need(n) {
			return 0, l.w.failure()
		}
		if l.w.buf[l.w.pos+n-1] >= 0x80 {
			continue
		}
		value, size := binary.Uvarint(l.w.buf[l.w.pos : l.w.pos+n])
		if size != n {
			break
		}
		l.w.pos += n
		return value, nil
	}
	return 0, l.unsure("a number of more than 64 bits")
}

// field reads a field of bytes, which are valid until the next one is read.
func (l *ListReaderProtobuf) field() (tag uint64, field []byte, err error) {
	l.w.begin = l.w.pos
	if tag, err = l.number(); err != nil {
		return 0, nil, err
	}
	if tag&7 != wireBytes || tag < 8 || tag>>3 > mostField {
		return 0, nil, l.unsure("a field of the list that is no bytes")
	}
	size, err := l.number()
	if err != nil {
		return 0, nil, err
	}
	if size > uint64(l.limit) {
		return 0, nil, l.unsure("too long")
	}
	if !l.w.need(int(size)) {
		return 0, nil, l.w.failure()
	}
	begin := l.w.pos
	l.w.pos += int(size)
	return tag, l.w.buf[begin:l.w.pos:l.w.pos], nil
}

func appendField(b []byte, tag uint64, field []byte) []byte {
	b = binary.AppendUvarint(b, tag)
	b = binary.AppendUvarint(b, uint64(len(field)))
	return append(b, field...)
}
