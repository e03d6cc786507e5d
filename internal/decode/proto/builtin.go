// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"reflect"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// builtinMessages are the nodes of the types whose Unmarshal is hand-written. Except for that of
// MicroTime, it is replaced by this package.
var builtinMessages = map[reflect.Type]messageNode{
	reflect.TypeFor[metav1.Time]():       timeMessage{},
	reflect.TypeFor[resource.Quantity](): quantityMessage{},
	reflect.TypeFor[metav1.FieldsV1]():   fieldsMessage{},
	reflect.TypeFor[metav1.MicroTime]():  ownMessage{reflect.TypeFor[metav1.MicroTime](), nil},
}

// timeMessage decodes times. Nanoseconds are ignored, as in Time.Unmarshal.
type timeMessage struct{}

func (timeMessage) message(d *decoder, p mem.Place, end int) bool {
	if d.Pos == end {
		return true
	}
	seconds, ok := uint64(0), true
	for number := uint64(1); d.Pos < end && ok; number++ {
		tag, tagged := d.Tag(end)
		if !tagged || number > 2 || tag != number<<3|scan.WireVarint {
			return d.GiveUp("an unknown form of a time")
		}
		value, read := d.Varint(end)
		if ok = read; number == 1 {
			seconds = value
		}
	}
	mem.Get[metav1.Time](p).Time = time.Unix(int64(seconds), 0).Local()
	return ok
}

type quantityMessage struct{}

func (quantityMessage) message(d *decoder, p mem.Place, end int) bool {
	d.Unsharable++
	if d.Pos == end {
		return true
	}
	text, ok := d.only(end)
	if !ok {
		return false
	}
	parsed, err := resource.ParseQuantity(d.Intern(text))
	if err != nil {
		return d.GiveUp("not a quantity")
	}
	*mem.Get[resource.Quantity](p) = parsed
	return true
}

type fieldsMessage struct{}

func (fieldsMessage) message(d *decoder, p mem.Place, end int) bool {
	if d.Pos == end {
		return true
	}
	raw, ok := d.only(end)
	if ok {
		share.SetFields(mem.Get[metav1.FieldsV1](p), raw)
	}
	return ok
}

// only reads a message that consists of one field of type bytes.
func (d *decoder) only(end int) ([]byte, bool) {
	if tag, ok := d.Tag(end); !ok || tag != 1<<3|scan.WireBytes {
		return nil, d.GiveUp("an unknown form of a message with one field")
	}
	b, ok := d.Chunk(end)
	if ok && d.Pos != end {
		return nil, d.GiveUp("unexpected second field")
	}
	return b, ok
}

// textsMessage decodes lists of strings that are messages of their own. An empty list is not nil.
type textsMessage struct{}

func (textsMessage) message(d *decoder, p mem.Place, end int) bool {
	if d.Pos == end {
		mem.Set(p, []string{})
		return true
	}
	const tag = 1<<3 | scan.WireBytes
	if first, ok := d.Tag(end); !ok || first != tag {
		return d.GiveUp("an unknown form of a list")
	}
	return textsField{tag}.wire(d, p, end) && (d.Pos == end || d.GiveUp("trailing data in a list"))
}
