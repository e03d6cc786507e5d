// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
)

// fields reads messages that are structs. It has the fields by their numbers.
type fields []wireField

// mostFields bounds the numbers of fields. The largest of Kubernetes is 44; a type with larger ones
// reads itself.
const mostFields = 64

// wireField is zero for a number that no field has.
type wireField struct {
	wireNode
	text   bool    // it is a textField
	inner  *fields // it is a messageField of these; or nil
	tag    uint64
	offset uintptr
}

func (f *fields) message(d *reader, p mem.Place, end int) bool {
	if d.Depth++; d.Depth > scan.Deepest {
		return d.GiveUp("too deep")
	}
	d.reached = max(d.reached, d.Depth)
	list, seen := *f, uint64(0)
	for d.Pos < end {
		tag, ok := d.Tag(end)
		if !ok {
			return false
		}
		number := tag >> 3
		if number >= uint64(len(list)) || list[number].tag == 0 {
			if !d.Pass(tag&7, end) {
				return false
			}
			continue
		}
		field := &list[number]
		switch {
		case field.tag != tag:
			return d.GiveUp("a field in another wire type")
		case seen>>number&1 != 0:
			return d.GiveUp("a field twice, or not in one piece")
		}
		seen |= 1 << number
		if !field.read(d, mem.Offset(p, field.offset), end) {
			return false
		}
	}
	d.Depth--
	return true
}

// read is wire, without a call for what most fields are: texts and messages that are short.
func (f *wireField) read(d *reader, p mem.Place, end int) bool {
	switch {
	case f.text:
		if from, to, ok := d.Short(end); ok {
			d.Pos = to
			mem.Set(p, d.Kept(d.Data[from:to]))
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

// restlessMessage is a message with a field that may write to itself when it is read from.
type restlessMessage struct{ messageNode }

func (r restlessMessage) message(d *reader, p mem.Place, end int) bool {
	d.Unsharable++
	return r.messageNode.message(d, p, end)
}

// unsureMessage gives messages up, of types that are not known for sure.
type unsureMessage struct{ why string }

func (u unsureMessage) message(d *reader, _ mem.Place, _ int) bool { return d.GiveUp(u.why) }
func (u unsureMessage) wire(d *reader, _ mem.Place, _ int) bool    { return d.GiveUp(u.why) }

// ownMessage is for types that read themselves, and whose tags may mean anything.
type ownMessage struct{ t reflect.Type }

type unmarshaler interface{ Unmarshal([]byte) error }

var unmarshalMethod = reflect.TypeFor[unmarshaler]()

func (o ownMessage) message(d *reader, p mem.Place, end int) bool {
	d.Unsharable++ // for all that is known
	method := mem.Pointer(o.t, p).Interface().(unmarshaler)
	if method.Unmarshal(append([]byte(nil), d.Data[d.Pos:end]...)) != nil {
		return d.GiveUp("an error of Unmarshal")
	}
	d.Pos = end
	return true
}

// deferredMessage is a message that contains itself.
type deferredMessage struct{ messageNode }

// messageField reads a message in a struct.
type messageField struct{ messageNode }

func (m messageField) wire(d *reader, p mem.Place, end int) bool {
	end, ok := d.Length(end)
	return ok && m.message(d, p, end)
}

// pointerField reads a field that is a pointer.
type pointerField struct {
	wireNode
	make func() mem.Place
}

func (n *pointerField) wire(d *reader, p mem.Place, end int) bool {
	to := n.make()
	mem.Set(p, to)
	return n.wireNode.wire(d, to, end)
}

// messagesField reads a list of messages.
type messagesField struct {
	messageNode
	t    reflect.Type // of the slice
	tag  uint64
	size uintptr
}

func (m *messagesField) wire(d *reader, p mem.Place, end int) bool {
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

// privateField reads a value that must not enter a table, and privateMessage a secret: values that
// enclose it must not either.
type (
	privateField   struct{ wireNode }
	privateMessage struct{ messageNode }
)

func (n privateField) wire(d *reader, p mem.Place, end int) bool {
	before := d.Private
	d.Private = true
	ok := n.wireNode.wire(d, p, end)
	d.Private = before
	return ok
}

func (n privateMessage) message(d *reader, p mem.Place, end int) bool {
	before := d.Private
	d.Private = true
	d.Unsharable++
	ok := n.messageNode.message(d, p, end)
	d.Private = before
	return ok
}

// makerOf returns a function that makes a variable of a type. Types that objects have many pointers
// to are known here, for reflect is slow.
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
