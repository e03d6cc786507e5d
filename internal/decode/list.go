// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"sync/atomic"
)

func (b *builder) list(t reflect.Type) node {
	elem := t.Elem()
	switch {
	case elem == reflect.TypeFor[byte]():
		return bytesNode{}
	case elem.Kind() == reflect.Uint8:
		return unsureNode{"bytes of a type of their own"}
	case elem.Kind() == reflect.String && b.element(elem).node == (textNode{}):
		return textsNode{}
	}
	return &listNode{element: b.element(elem), t: t, size: elem.Size(), restless: restless(elem)}
}

// listNode reads slices.
type listNode struct {
	element
	t        reflect.Type // of the slice
	size     uintptr      // of an element
	restless bool         // an element may write to itself when it is read from
	last     atomic.Int32 // length of the last list, which the next one may have too
}

func (n *listNode) json(d *reader, p place) bool {
	if !d.enter('[', "not an array") {
		return false
	}
	if d.peek() == ']' {
		set(p, slice{first: placeOf(reflect.MakeSlice(n.t, 0, 0))})
		return d.leave()
	}
	if n.restless {
		d.unsharable++
	}
	room := min(max(int(n.last.Load()), 1), 64)
	list := reflect.MakeSlice(n.t, room, room)
	for i := 0; ; {
		if i == room {
			room *= 2
			list = resized(n.t, list, i, room)
		}
		if !n.element.json(d, offset(placeOf(list), uintptr(i)*n.size)) {
			return false
		}
		i++
		if another, ok := d.more(']'); !another {
			d.makes(n.store(p, list, i, room) * int(n.size))
			return ok
		}
	}
}

// store puts a list of so many elements to p, with little memory behind them, and returns for how
// many there is.
func (n *listNode) store(p place, list reflect.Value, length, room int) int {
	if int(n.last.Load()) != length {
		n.last.Store(int32(length))
	}
	if room > length && uintptr(room-length)*n.size >= 64 {
		list, room = resized(n.t, list, length, length), length
	}
	set(p, slice{first: placeOf(list), len: length, cap: length})
	return room
}

// resized returns a new slice with the first elements of a list.
func resized(t reflect.Type, list reflect.Value, length, room int) reflect.Value {
	other := reflect.MakeSlice(t, room, room)
	reflect.Copy(other, list.Slice(0, length))
	return other
}

// textsNode reads lists of strings.
type textsNode struct{}

func (textsNode) json(d *reader, p place) bool {
	if !d.enter('[', "not an array") {
		return false
	}
	if d.peek() == ']' {
		set(p, []string{})
		return d.leave()
	}
	base := len(d.texts)
	for {
		text := ""
		if d.peek() == 'n' {
			if !d.literal("null") {
				return false
			}
		} else if !(textNode{}).json(d, placeIn(&text)) {
			return false
		}
		d.texts = append(d.texts, text)
		if another, ok := d.more(']'); !another {
			made := make([]string, len(d.texts)-base)
			copy(made, d.texts[base:])
			clear(d.texts[base:])
			d.texts = d.texts[:base]
			set(p, made)
			d.makes(textBytes * len(made))
			return ok
		}
	}
}
