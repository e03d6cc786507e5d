// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"reflect"
	"sync/atomic"

	"github.com/kinformer/cache/internal/decode/mem"
)

// listNode decodes slices.
type listNode struct {
	element
	t             reflect.Type // of the slice
	size          uintptr      // of an element, in bytes
	mutatesOnRead bool         // reading an element may modify it
	last          atomic.Int32 // the length of the last list, a guess for the next one
}

func (n *listNode) json(d *decoder, p mem.Place) bool {
	if !d.Open('[', "not an array") {
		return false
	}
	if d.Peek() == ']' {
		mem.Set(p, mem.Slice{First: mem.Of(reflect.MakeSlice(n.t, 0, 0))})
		return d.Close()
	}
	if n.mutatesOnRead {
		d.Unsharable++
	}
	room := min(max(int(n.last.Load()), 1), 64)
	list := reflect.MakeSlice(n.t, room, room)
	for i := 0; ; {
		if i == room {
			room *= 2
			list = resized(n.t, list, i, room)
		}
		if !n.element.json(d, mem.Offset(mem.Of(list), uintptr(i)*n.size)) {
			return false
		}
		i++
		if another, ok := d.More(']'); !another {
			n.store(p, list, i, room)
			return ok
		}
	}
}

// store stores the first length elements of list at p, without much unused capacity.
func (n *listNode) store(p mem.Place, list reflect.Value, length, room int) {
	if int(n.last.Load()) != length {
		n.last.Store(int32(length))
	}
	if room > length && uintptr(room-length)*n.size >= 64 {
		list = resized(n.t, list, length, length)
	}
	mem.Set(p, mem.Slice{First: mem.Of(list), Len: length, Cap: length})
}

// resized returns a new slice of room elements with a copy of the first length elements of list.
func resized(t reflect.Type, list reflect.Value, length, room int) reflect.Value {
	other := reflect.MakeSlice(t, room, room)
	reflect.Copy(other, list.Slice(0, length))
	return other
}

// textsNode decodes slices of strings.
type textsNode struct{}

func (textsNode) json(d *decoder, p mem.Place) bool {
	if !d.Open('[', "not an array") {
		return false
	}
	if d.Peek() == ']' {
		mem.Set(p, []string{})
		return d.Close()
	}
	base := len(d.texts)
	for {
		text := ""
		if d.Peek() == 'n' {
			if !d.Literal("null") {
				return false
			}
		} else if !(textNode{}).json(d, mem.In(&text)) {
			return false
		}
		d.texts = append(d.texts, text)
		if another, ok := d.More(']'); !another {
			made := make([]string, len(d.texts)-base)
			copy(made, d.texts[base:])
			clear(d.texts[base:])
			d.texts = d.texts[:base]
			mem.Set(p, made)
			return ok
		}
	}
}
