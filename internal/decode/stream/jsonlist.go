// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"bytes"
	"io"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kinformer/cache/internal/decode/scan"
)

// jsonList reads a list in JSON.
type jsonList struct {
	w        window
	stub     []byte // the list without its items
	state    listState
	names    map[string]bool // names of the members read so far, quoted
	head     metav1.TypeMeta
	about    About
	hasItems bool // an item was read
	limit    int  // of the stub, in bytes, and of each of its values
	at       int  // the index of the items in stub; 0 before the first item
}

// Next implements List.
func (l *jsonList) Next() ([]byte, error) {
	for {
		item, err := l.step()
		if item != nil || err != nil {
			return item, err
		}
	}
}

// With implements List.
func (l *jsonList) With(items [][]byte) []byte {
	return bytes.Join([][]byte{l.stub[:l.at], bytes.Join(items, []byte(",")), l.stub[l.at:]}, nil)
}

// Head implements List. It is empty if the server writes kind and apiVersion after the items, as
// with names in alphabetical order.
func (l *jsonList) Head() metav1.TypeMeta { return l.head }

// About implements List.
func (l *jsonList) About() About { return l.about }

// step reads a token of the list. It returns an item if the token is one.
func (l *jsonList) step() (item []byte, err error) {
	c := l.w.peek()
	if c == 0 && l.w.pos == len(l.w.buf) {
		if l.state == behindList && l.w.err == io.EOF {
			return nil, l.over()
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
	case l.state == beforeItem && c == ']' && !l.hasItems, l.state == behindItem && c == ']':
		l.take(behindValue)
	case l.state == behindItem && c == ',':
		l.w.pos++
		l.state = beforeItem
	case l.state == beforeList:
		return nil, &NoListError{"no JSON object"}
	default:
		return nil, l.giveUp("not a list as it is known")
	}
	if len(l.stub) > l.limit {
		return nil, l.giveUp("too much besides the items")
	}
	return nil, nil
}

// over returns io.EOF for a list that was read to its end. An object that has no items, and is not of a
// kind of lists, is none.
func (l *jsonList) over() error {
	var rest struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name            string `json:"name"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
	}
	_ = kjson.Unmarshal(l.stub, &rest)
	l.about = About{rest.Kind, rest.Metadata.ResourceVersion}
	named := rest.Metadata.Name != "" || rest.Kind == "Status" || rest.Kind == "Table"
	if l.hasItems || l.names[`"items"`] || strings.HasSuffix(rest.Kind, "List") || l.about.Version != "" && !named {
		return io.EOF
	}
	return NoList(rest.Kind)
}

func (l *jsonList) giveUp(why string) error { return &scan.GiveUpError{Why: why, At: l.w.pos} }

// take moves one byte to the stub.
func (l *jsonList) take(state listState) {
	l.stub = append(l.stub, l.w.buf[l.w.pos])
	l.w.pos++
	l.state = state
}

// member reads a member of the list to the end of its value. It reads items up to the first item
// only.
func (l *jsonList) member() error {
	name, err := l.w.value()
	if err != nil {
		return err
	}
	if bytes.IndexByte(name, '\\') >= 0 {
		return l.giveUp("an escape in a name")
	}
	if l.names[string(name)] {
		return l.giveUp("duplicate member")
	}
	l.names[string(name)] = true
	items := string(name) == `"items"`
	l.stub = append(l.stub, name...)
	if l.w.peek() != ':' {
		return l.giveUp("missing colon")
	}
	l.take(behindValue)
	if c := l.w.peek(); items && c == '[' {
		l.take(beforeItem)
		l.at = len(l.stub)
		return nil
	}
	value, err := l.w.value()
	if len(value) == 0 && err == nil {
		err = l.giveUp("no value")
	}
	l.stub = append(l.stub, value...)
	return err
}

func (l *jsonList) item() ([]byte, error) {
	l.w.limit = longestItem
	item, err := l.w.value()
	l.w.limit = l.limit
	if err != nil {
		return nil, err
	}
	if l.state = behindItem; l.hasItems {
		return item, nil
	}
	l.hasItems = true
	before := append(bytes.Clone(l.stub), "]}"...)
	_ = kjson.Unmarshal(before, &l.head)
	return item, nil
}

// listState is the position in a list.
type listState int

const (
	beforeList  listState = iota
	beforeName            // or before the end of the list
	behindValue           // of a member
	beforeItem            // or before the end of the items
	behindItem
	behindList
)
