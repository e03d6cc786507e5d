// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/cache/internal/decode/scan"
)

// jsonList reads a list in JSON.
type jsonList struct {
	w     window
	stub  []byte // the list without its items
	state listState
	names map[string]bool // of the members so far
	head  metav1.TypeMeta
	any   bool // there was an item
	limit int  // bytes of the stub
	at    int  // of the items in the stub, 0 if they have not begun
}

// Next is that of List.
func (l *jsonList) Next() ([]byte, error) {
	for {
		item, err := l.step()
		if item != nil || err != nil {
			return item, err
		}
	}
}

// With is that of List.
func (l *jsonList) With(items [][]byte) []byte {
	return bytes.Join([][]byte{l.stub[:l.at], bytes.Join(items, []byte(",")), l.stub[l.at:]}, nil)
}

// Head is that of List. If it is not there, as where names are in alphabetical order, it is empty.
func (l *jsonList) Head() metav1.TypeMeta { return l.head }

// step reads on until something was found.
func (l *jsonList) step() (item []byte, err error) {
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
	case l.state == beforeItem && c == ']' && !l.any, l.state == behindItem && c == ']':
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

func (l *jsonList) unsure(why string) error { return &scan.Unsure{Why: why, At: l.w.pos} }

// take moves one byte to the stub.
func (l *jsonList) take(state listState) {
	l.stub = append(l.stub, l.w.buf[l.w.pos])
	l.w.pos++
	l.state = state
}

// member reads a member of the list up to its value's end, or up to the first item.
func (l *jsonList) member() error {
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

func (l *jsonList) item() ([]byte, error) {
	item, err := l.w.value()
	if err != nil {
		return nil, err
	}
	if l.state = behindItem; l.any {
		return item, nil
	}
	l.any = true
	before := append(bytes.Clone(l.stub), "]}"...)
	_ = kjson.Unmarshal(before, &l.head)
	return item, nil
}

// listState is where the reading of a list is.
type listState int

const (
	beforeList  listState = iota
	beforeName            // of a member of the list, or the list's end
	behindValue           // of a member
	beforeItem            // or the end of the items
	behindItem
	behindList
)
