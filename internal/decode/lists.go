// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"bytes"
	"io"
)

// ListReader reads a list in JSON item by item. It holds one item at a time, and the list without
// its items.
type ListReader struct {
	w     window
	stub  []byte
	state listState
	names map[string]bool // of the members so far
	count int
	limit int // bytes of the stub
	at    int // of the items in the stub, 0 if they have not begun
	first int // bytes of the first item there
}

// listState is where a ListReader is.
type listState int

const (
	beforeList  listState = iota
	beforeName            // of a member of the list, or the list's end
	behindValue           // of a member
	beforeItem            // or the end of the items
	behindItem
	behindList
)

// NewListReader reads a list whose items, and all the rest, are of at most that many bytes each.
func NewListReader(r io.Reader, limit int) *ListReader {
	return &ListReader{w: window{r: r, limit: limit}, limit: limit, names: map[string]bool{}}
}

// Next returns the next item, which is valid until the next call, and io.EOF behind the last one,
// when the reader was read to its end. An item begins and ends as an object, and is not checked
// otherwise. A list that ends too early is io.ErrUnexpectedEOF; one that is not certain to be a
// list is given up; other errors are the reader's.
func (l *ListReader) Next() ([]byte, error) {
	for {
		item, err := l.step()
		if item != nil || err != nil {
			return item, err
		}
	}
}

// Stub returns the list with its first item only, once Next has returned io.EOF. It is for the
// decoder of the whole list: what is not an item was not checked.
func (l *ListReader) Stub() []byte { return l.stub }

// With returns the list with these items in the place of its own, once Next has returned io.EOF.
func (l *ListReader) With(items [][]byte) []byte {
	return bytes.Join([][]byte{l.stub[:l.at], bytes.Join(items, []byte(",")), l.stub[l.at+l.first:]}, nil)
}

// Before returns the list up to its items, as far as it was read.
func (l *ListReader) Before() []byte {
	if l.at == 0 {
		return l.stub
	}
	return l.stub[:l.at]
}

// Items returns how many items there were so far.
func (l *ListReader) Items() int { return l.count }

// step reads on until something was found.
func (l *ListReader) step() (item []byte, err error) {
	c := l.w.peek()
	if c == 0 && l.w.pos == len(l.w.buf) {
		if l.state == behindList && l.w.err == io.EOF {
			return nil, io.EOF
		}
		return nil, l.w.failure()
	}
	switch {
	case l.state == beforeList && c == '{':
		l.take(beforeName)
	case l.state == beforeName && c == '"':
		return nil, l.member()
	case l.state == behindValue && c == ',':
		l.take(beforeName)
	case l.state == behindValue && c == '}', l.state == beforeName && c == '}' && len(l.stub) == 1:
		l.take(behindList)
	case l.state == beforeItem && c == '{':
		return l.item()
	case l.state == beforeItem && c == ']' && l.count == 0, l.state == behindItem && c == ']':
		l.take(behindValue)
	case l.state == behindItem && c == ',':
		l.w.pos++
		l.state = beforeItem
	default:
		return nil, l.unsure("not a list as it is known")
	}
	if len(l.stub) > l.limit {
		return nil, l.unsure("too much besides the items")
	}
	return nil, nil
}

func (l *ListReader) unsure(why string) error { return &unsure{why: why, at: l.w.pos} }

// take moves one byte to the stub.
func (l *ListReader) take(state listState) {
	l.stub = append(l.stub, l.w.buf[l.w.pos])
	l.w.pos++
	l.state = state
}

// member reads a member of the list up to its value's end, or up to the first item.
func (l *ListReader) member() error {
	name, err := l.w.value()
	if err != nil {
		return err
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		return l.unsure("an escape in a name")
	}
	if l.names[string(name)] {
		return l.unsure("a member twice")
	}
	l.names[string(name)] = true
	items := string(name) == `"items"`
	l.stub = append(l.stub, name...)
	if l.w.peek() != ':' {
		return l.unsure("no colon")
	}
	l.take(behindValue)
	if c := l.w.peek(); items && c == '[' {
		l.take(beforeItem)
		l.at = len(l.stub)
		return nil
	}
	value, err := l.w.value()
	if len(value) == 0 && err == nil {
		err = l.unsure("no value")
	}
	l.stub = append(l.stub, value...)
	return err
}

func (l *ListReader) item() ([]byte, error) {
	item, err := l.w.value()
	if err != nil {
		return nil, err
	}
	if l.count == 0 {
		l.stub = append(l.stub, item...)
		l.first = len(item)
	}
	l.count++
	l.state = behindItem
	return item, nil
}
