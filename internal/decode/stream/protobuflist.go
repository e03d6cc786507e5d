// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"encoding/binary"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/scan"
)

// protobufList reads a list in protobuf.
type protobufList struct {
	w        window
	state    listState
	stub     []byte // the list in the envelope, without its items
	about    About
	head     []byte // the envelope before the list
	end      uint64 // of the list, in bytes from the beginning of the data
	hasItems bool   // an item was read
	place    int    // the index of the first item in stub
	limit    int    // of a field of the list that is no item, and of all of them, in bytes
}

// The tags of the envelope and of lists.
const (
	envelopeType   = 1<<3 | scan.WireBytes
	envelopeObject = 2<<3 | scan.WireBytes
	listMeta       = 1<<3 | scan.WireBytes
	listItem       = 2<<3 | scan.WireBytes
)

// Next implements List.
func (l *protobufList) Next() ([]byte, error) {
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
			return nil, l.giveUp("a field beyond the end of the list")
		}
		if tag == listItem {
			if !l.hasItems {
				l.hasItems, l.place = true, len(l.stub)
			}
			return field, nil
		}
		if meta := (metav1.ListMeta{}); tag == listMeta && meta.Unmarshal(field) == nil {
			l.about.Version = meta.ResourceVersion
		}
		if l.stub = appendField(l.stub, tag, field); len(l.stub) > l.limit {
			return nil, l.giveUp("too much besides the items")
		}
	}
	return nil, l.close()
}

// With implements List.
func (l *protobufList) With(items [][]byte) []byte {
	list := bytes.Clone(l.stub[:l.place])
	for _, item := range items {
		list = appendField(list, listItem, item)
	}
	return appendField(bytes.Clone(l.head), envelopeObject, append(list, l.stub[l.place:]...))
}

// Head implements List. It is empty, because items in protobuf need no head.
func (l *protobufList) Head() metav1.TypeMeta { return metav1.TypeMeta{} }

// About implements List.
func (l *protobufList) About() About { return l.about }

func (l *protobufList) giveUp(why string) error { return &scan.GiveUpError{Why: why, At: int(l.at())} }

// at returns the position, in bytes from the beginning of the data.
func (l *protobufList) at() uint64 { return l.w.gone + uint64(l.w.pos) }

// open reads the envelope up to the first field of the list.
func (l *protobufList) open() error {
	if !l.w.need(len(envelopeMark)) {
		return l.w.failure()
	}
	if string(l.w.buf[:len(envelopeMark)]) != envelopeMark {
		return l.giveUp("no protobuf of Kubernetes")
	}
	l.w.pos = len(envelopeMark)
	tag, about, err := l.field()
	if err != nil {
		return err
	}
	_, kind, ok := openTypeMeta(about)
	if tag != envelopeType || !ok {
		return l.giveUp("not a list")
	}
	if !bytes.HasSuffix(kind, []byte("List")) {
		return NoList(string(kind))
	}
	l.about.Kind = string(kind)
	l.head = appendField([]byte(envelopeMark), tag, about)
	if tag, err = l.number(); err != nil {
		return err
	}
	size, err := l.number()
	if err != nil {
		return err
	}
	if tag != envelopeObject || size > 1<<40 {
		return l.giveUp("unexpected field")
	}
	l.end = l.at() + size
	return nil
}

// close reads the rest of the envelope, which may contain empty fields only.
func (l *protobufList) close() error {
	for l.state = behindList; l.w.need(1); {
		tag, field, err := l.field()
		if err != nil {
			return err
		}
		if len(field) > 0 || tag != 3<<3|scan.WireBytes && tag != 4<<3|scan.WireBytes {
			return l.giveUp("an envelope with an unknown content")
		}
	}
	if l.at() < l.end {
		return l.w.failure()
	}
	return l.w.err
}

// number reads a varint.
func (l *protobufList) number() (uint64, error) {
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
	return 0, l.giveUp("a number of more than 64 bits")
}

// field reads a field of type bytes. field is valid until the next call.
func (l *protobufList) field() (tag uint64, field []byte, err error) {
	l.w.begin = l.w.pos
	if tag, err = l.number(); err != nil {
		return 0, nil, err
	}
	if tag&7 != scan.WireBytes || tag < 8 || tag>>3 > scan.MostField {
		return 0, nil, l.giveUp("a field of the list that is no bytes")
	}
	size, err := l.number()
	if err != nil {
		return 0, nil, err
	}
	limit := l.limit
	if tag == listItem {
		limit = longestItem
	}
	if size > uint64(limit) {
		return 0, nil, l.giveUp("too long")
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
