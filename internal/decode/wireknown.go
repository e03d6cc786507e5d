// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// knownMessage returns the node of a type whose Unmarshal is written by hand, or nil.
func knownMessage(t reflect.Type) messageNode {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return timeMessage{}
	case reflect.TypeFor[resource.Quantity]():
		return quantityMessage{}
	case reflect.TypeFor[metav1.FieldsV1]():
		return fieldsMessage{}
	case reflect.TypeFor[metav1.MicroTime]():
		return ownMessage{t}
	}
	return nil
}

// timeMessage reads times, whose nanoseconds do not count.
type timeMessage struct{}

func (timeMessage) message(d *reader, p place, end int) bool {
	if d.pos == end {
		return true
	}
	seconds, ok := uint64(0), true
	for number := uint64(1); d.pos < end && ok; number++ {
		tag, tagged := d.tag(end)
		if !tagged || number > 2 || tag != number<<3|wireVarint {
			return d.giveUp("an unknown form of a time")
		}
		value, read := d.varint(end)
		if ok = read; number == 1 {
			seconds = value
		}
	}
	get[metav1.Time](p).Time = time.Unix(int64(seconds), 0).Local()
	return ok
}

type quantityMessage struct{}

func (quantityMessage) message(d *reader, p place, end int) bool {
	d.unsharable++
	d.makes(quantityBytes)
	if d.pos == end {
		return true
	}
	text, ok := d.only(end)
	if !ok {
		return false
	}
	parsed, err := resource.ParseQuantity(d.kept(text))
	if err != nil {
		return d.giveUp("not a quantity")
	}
	*get[resource.Quantity](p) = parsed
	return true
}

type fieldsMessage struct{}

func (fieldsMessage) message(d *reader, p place, end int) bool {
	if d.pos == end {
		return true
	}
	raw, ok := d.only(end)
	if ok {
		d.setFields(get[metav1.FieldsV1](p), raw)
	}
	return ok
}

// only reads a message that has one field, of bytes.
func (d *reader) only(end int) ([]byte, bool) {
	if tag, ok := d.tag(end); !ok || tag != 1<<3|wireBytes {
		return nil, d.giveUp("an unknown form of a message with one field")
	}
	b, ok := d.chunk(end)
	if ok && d.pos != end {
		return nil, d.giveUp("a message with more than its one field")
	}
	return b, ok
}

// textsMessage reads lists of strings that are messages of their own, and not nil if they are
// empty.
type textsMessage struct{}

func (textsMessage) message(d *reader, p place, end int) bool {
	if d.pos == end {
		set(p, []string{})
		return true
	}
	const tag = 1<<3 | wireBytes
	if first, ok := d.tag(end); !ok || first != tag {
		return d.giveUp("an unknown form of a list")
	}
	return textsField{tag}.wire(d, p, end) && (d.pos == end || d.giveUp("more than a list"))
}
