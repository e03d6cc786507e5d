// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"fmt"
	"reflect"
)

// Protobuf reads a message into the value that into points to, which is new and of the plan's
// type. It is what the Raw of a runtime.Unknown holds; see [Envelope].
func (p *Plan) Protobuf(data []byte, into any, o Options) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != p.t {
		return fmt.Errorf("%w: a plan of %v was given a %T", ErrGiveUp, p.t, into)
	}
	p.wireOnce.Do(func() { p.wire = newWireBuilder(p.t).message(p.t) })
	d := newReader(data, o)
	return d.release(p.wire.message(d, placeOf(v), len(data)))
}

// wireNode reads fields of one type.
type wireNode interface {
	// wire reads a field, whose tag was read, into p, which is zero; and those of the same tag that
	// follow it if they are elements of one list or map. They end before end.
	wire(d *reader, p place, end int) bool
}

// messageNode reads messages of one type.
type messageNode interface {
	// message reads what lies before end into p, which is zero.
	message(d *reader, p place, end int) bool
}

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

func (f *fields) message(d *reader, p place, end int) bool {
	if d.depth++; d.depth > deepest {
		return d.giveUp("too deep")
	}
	d.reached = max(d.reached, d.depth)
	list, seen := *f, uint64(0)
	for d.pos < end {
		tag, ok := d.tag(end)
		if !ok {
			return false
		}
		number := tag >> 3
		if number >= uint64(len(list)) || list[number].tag == 0 {
			if !d.pass(tag&7, end) {
				return false
			}
			continue
		}
		field := &list[number]
		switch {
		case field.tag != tag:
			return d.giveUp("a field in another wire type")
		case seen>>number&1 != 0:
			return d.giveUp("a field twice, or not in one piece")
		}
		seen |= 1 << number
		if !field.read(d, offset(p, field.offset), end) {
			return false
		}
	}
	d.depth--
	return true
}

// read is wire, without a call for what most fields are: texts and messages that are short.
func (f *wireField) read(d *reader, p place, end int) bool {
	switch {
	case f.text:
		if from, to, ok := d.short(end); ok {
			d.pos = to
			set(p, d.kept(d.data[from:to]))
			return true
		}
	case f.inner != nil:
		if from, to, ok := d.short(end); ok {
			d.pos = from
			return f.inner.message(d, p, to)
		}
	}
	return f.wire(d, p, end)
}

// restlessMessage is a message with a field that may write to itself when it is read from.
type restlessMessage struct{ messageNode }

func (r restlessMessage) message(d *reader, p place, end int) bool {
	d.unsharable++
	return r.messageNode.message(d, p, end)
}

// unsureMessage is for messages that nothing is certain of.
type unsureMessage struct{ why string }

func (u unsureMessage) message(d *reader, _ place, _ int) bool { return d.giveUp(u.why) }
func (u unsureMessage) wire(d *reader, _ place, _ int) bool    { return d.giveUp(u.why) }

// ownMessage is for types that read themselves, and whose tags may mean anything.
type ownMessage struct{ t reflect.Type }

type unmarshaler interface{ Unmarshal([]byte) error }

var unmarshalMethod = reflect.TypeFor[unmarshaler]()

func (o ownMessage) message(d *reader, p place, end int) bool {
	d.unsharable++ // for all that is known
	method := pointerAt(o.t, p).Interface().(unmarshaler)
	if method.Unmarshal(append([]byte(nil), d.data[d.pos:end]...)) != nil {
		return d.giveUp("an error of Unmarshal")
	}
	d.pos = end
	return true
}

// deferredMessage is a message that contains itself.
type deferredMessage struct{ messageNode }

// messageField reads a message in a struct.
type messageField struct{ messageNode }

func (m messageField) wire(d *reader, p place, end int) bool {
	end, ok := d.length(end)
	return ok && m.message(d, p, end)
}

// pointerField reads a field that is a pointer.
type pointerField struct {
	wireNode
	make func() place
	size int
}

func (n *pointerField) wire(d *reader, p place, end int) bool {
	to := n.make()
	d.makes(n.size)
	set(p, to)
	return n.wireNode.wire(d, to, end)
}

// messagesField reads a list of messages.
type messagesField struct {
	messageNode
	t    reflect.Type // of the slice
	tag  uint64
	size uintptr
}

func (m *messagesField) wire(d *reader, p place, end int) bool {
	n, ok := d.run(m.tag, end)
	if !ok {
		return false
	}
	first := makeList(m.t, p, n)
	d.makes(n * int(m.size))
	for i := range n {
		if !d.again(i, end) {
			return false
		}
		to, ok := d.length(end)
		if !ok || !m.message(d, offset(first, uintptr(i)*m.size), to) {
			return false
		}
	}
	return true
}

// privateField reads what is kept in no table, and privateMessage a secret, which is not, nor what
// is around it.
type (
	privateField   struct{ wireNode }
	privateMessage struct{ messageNode }
)

func (n privateField) wire(d *reader, p place, end int) bool {
	before := d.private
	d.private = true
	ok := n.wireNode.wire(d, p, end)
	d.private = before
	return ok
}

func (n privateMessage) message(d *reader, p place, end int) bool {
	before := d.private
	d.private = true
	d.unsharable++
	ok := n.messageNode.message(d, p, end)
	d.private = before
	return ok
}
