// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/keep"
)

// fields decodes messages into structs. The index of a field is its number.
type fields []wireField

// mostFields bounds field numbers. The largest in Kubernetes is 44. A type with a larger number
// decodes itself.
const mostFields = 64

// wireField is a field. It is zero for an unused number.
type wireField struct {
	wireNode
	text   bool    // wireNode is a textField
	inner  *fields // the fields if wireNode is a messageField of them, else nil
	tag    uint64
	offset uintptr

	partial *fields // those of its messages, if only some are kept
}

func (f *fields) message(d *decoder, p mem.Place, end int) bool {
	if d.Depth++; d.Depth > scan.Deepest {
		return d.GiveUp("too deep")
	}
	d.reached = max(d.reached, d.Depth)
	list, seen := *f, uint64(0)
	for d.Pos < end {
		begin := d.Pos
		tag, ok := d.Tag(end)
		if !ok {
			return false
		}
		number := tag >> 3
		if number >= uint64(len(list)) || list[number].tag == 0 {
			if !d.Pass(tag&7, end) {
				return false
			}
			d.Skipped += d.Pos - begin
			continue
		}
		field := &list[number]
		switch {
		case field.tag != tag:
			return d.GiveUp("a field with another wire type")
		case seen>>number&1 != 0:
			return d.GiveUp("a repeated or split field")
		}
		seen |= 1 << number
		if !field.read(d, mem.Offset(p, field.offset), end) {
			return false
		}
	}
	d.Depth--
	return true
}

// read is wire, inlined for the most frequent fields: short strings and messages.
func (f *wireField) read(d *decoder, p mem.Place, end int) bool {
	switch {
	case f.text:
		if from, to, ok := d.Short(end); ok {
			d.Pos = to
			mem.Set(p, d.Intern(d.Data[from:to]))
			return true
		}
	case f.inner != nil:
		if from, to, ok := d.Short(end); ok {
			d.Pos = from
			return f.inner.message(d, p, to)
		}
	}
	return f.wire(d, p, end)
}

// mutatingMessage decodes a message with a field that a read may modify.
type mutatingMessage struct{ messageNode }

func (r mutatingMessage) message(d *decoder, p mem.Place, end int) bool {
	d.Unsharable++
	return r.messageNode.message(d, p, end)
}

// unsupportedMessage gives up on messages and fields of a type that this package does not support.
type unsupportedMessage struct{ why string }

func (u unsupportedMessage) message(d *decoder, _ mem.Place, _ int) bool { return d.GiveUp(u.why) }
func (u unsupportedMessage) wire(d *decoder, _ mem.Place, _ int) bool    { return d.GiveUp(u.why) }

// ownMessage decodes types by their own Unmarshal, whose tags may mean anything.
type ownMessage struct {
	t  reflect.Type
	of *keep.Fields // removes the fields that are not kept
}

type unmarshaler interface{ Unmarshal([]byte) error }

var unmarshalMethod = reflect.TypeFor[unmarshaler]()

func (o ownMessage) message(d *decoder, p mem.Place, end int) bool {
	d.Unsharable++ // nothing is known about the type
	method := mem.Pointer(o.t, p).Interface().(unmarshaler)
	if method.Unmarshal(append([]byte(nil), d.Data[d.Pos:end]...)) != nil {
		return d.GiveUp("an error of Unmarshal")
	}
	d.Pos = end
	o.of.Prune(method)
	return true
}

// deferredMessage is the node of a message that contains itself. It is filled in after the node is
// built.
type deferredMessage struct{ messageNode }

// messageField decodes a message in a struct.
type messageField struct{ messageNode }

func (m messageField) wire(d *decoder, p mem.Place, end int) bool {
	end, ok := d.Length(end)
	return ok && m.message(d, p, end)
}

// pointerField decodes a field that is a pointer.
type pointerField struct {
	wireNode
	alloc func() mem.Place
}

func (n *pointerField) wire(d *decoder, p mem.Place, end int) bool {
	to := n.alloc()
	mem.Set(p, to)
	return n.wireNode.wire(d, to, end)
}

// messagesField decodes a list of messages.
type messagesField struct {
	messageNode
	t    reflect.Type // of the slice
	tag  uint64
	size uintptr
}

func (m *messagesField) wire(d *decoder, p mem.Place, end int) bool {
	n, _, ok := d.Run(m.tag, end)
	if !ok {
		return false
	}
	first := mem.MakeList(m.t, p, n)
	for i := range n {
		if !d.Again(i, end) {
			return false
		}
		to, ok := d.Length(end)
		if !ok || !m.message(d, mem.Offset(first, uintptr(i)*m.size), to) {
			return false
		}
	}
	return true
}

// A privateField decodes a value that must not enter a table. A privateMessage decodes a secret:
// values that enclose it must not enter a table either.
type (
	privateField   struct{ wireNode }
	privateMessage struct{ messageNode }
)

func (n privateField) wire(d *decoder, p mem.Place, end int) bool {
	before := d.Private
	d.Private = true
	ok := n.wireNode.wire(d, p, end)
	d.Private = before
	return ok
}

func (n privateMessage) message(d *decoder, p mem.Place, end int) bool {
	before := d.Private
	d.Private = true
	d.Unsharable++
	ok := n.messageNode.message(d, p, end)
	d.Private = before
	return ok
}

// makerOf returns a function that allocates a variable of a type. It avoids reflect, which is
// slower, for the types to which objects have most pointers.
func makerOf(t reflect.Type) func() mem.Place {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return variable[metav1.Time]
	case reflect.TypeFor[metav1.FieldsV1]():
		return variable[metav1.FieldsV1]
	}
	switch t.Kind() {
	case reflect.Bool:
		return variable[bool]
	case reflect.Int32:
		return variable[int32]
	case reflect.Int64:
		return variable[int64]
	case reflect.String:
		return variable[string]
	}
	return func() mem.Place { return mem.Of(reflect.New(t)) }
}

func variable[T any]() mem.Place { return mem.In(new(T)) }
