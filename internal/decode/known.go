// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

var durationType = reflect.TypeFor[metav1.Duration]()

// knownNode returns the node of a type whose UnmarshalJSON is known, or nil. But for Duration, null
// leaves them zero.
func knownNode(t reflect.Type) node {
	switch t {
	case reflect.TypeFor[metav1.Time]():
		return timeNode{}
	case reflect.TypeFor[metav1.MicroTime]():
		return microTimeNode{}
	case durationType:
		return durationNode{}
	case reflect.TypeFor[resource.Quantity]():
		return quantityNode{}
	case reflect.TypeFor[intstr.IntOrString]():
		return intOrTextNode{}
	case reflect.TypeFor[metav1.FieldsV1]():
		return fieldsNode{}
	case reflect.TypeFor[runtime.RawExtension]():
		return extensionNode{}
	}
	return nil
}

type timeNode struct{}

func (timeNode) json(d *reader, p place) bool {
	text, ok := d.text()
	if !ok {
		return false
	}
	moment, ok := instant(text)
	if !ok {
		parsed, err := time.Parse(time.RFC3339, string(text))
		if err != nil {
			return d.giveUp("not a time")
		}
		moment = parsed.Local()
	}
	get[metav1.Time](p).Time = moment
	return true
}

type microTimeNode struct{}

func (microTimeNode) json(d *reader, p place) bool {
	text, ok := d.text()
	if !ok {
		return false
	}
	parsed, err := time.Parse(metav1.RFC3339Micro, string(text))
	if err != nil {
		return d.giveUp("not a time with microseconds")
	}
	get[metav1.MicroTime](p).Time = parsed.Local()
	return true
}

// instant returns the time that a text such as 2026-01-05T08:00:00Z means, or false for another
// form of it.
func instant(text []byte) (time.Time, bool) {
	const form = "dddd-dd-ddTdd:dd:ddZ"
	if len(text) != len(form) {
		return time.Time{}, false
	}
	for i, c := range text {
		if f := form[i]; f == 'd' && c-'0' > 9 || f != 'd' && f != c {
			return time.Time{}, false
		}
	}
	two := func(i int) int { return int(text[i]-'0')*10 + int(text[i+1]-'0') }
	year, month, day := two(0)*100+two(2), time.Month(two(5)), two(8)
	hour, minute, second := two(11), two(14), two(17)
	if month < 1 || month > 12 || minute > 59 || second > 59 {
		return time.Time{}, false
	}
	moment := time.Date(year, month, day, hour, minute, second, 0, time.UTC)
	return moment.Local(), moment.Day() == day // else there is no such day, or hour of it
}

type durationNode struct{}

func (durationNode) json(d *reader, p place) bool {
	text, ok := d.text()
	if !ok {
		return false
	}
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return d.giveUp("not a duration")
	}
	get[metav1.Duration](p).Duration = parsed
	return true
}

// quantityNode reads quantities, which are strings or numbers. Their escapes are not resolved by
// the reference.
type quantityNode struct{}

func (quantityNode) json(d *reader, p place) bool {
	var text []byte
	var ok bool
	if d.is('"') {
		text, ok = d.plain()
	} else {
		text, _, ok = d.number()
	}
	if !ok {
		return false
	}
	d.unsharable++
	d.makes(quantityBytes)
	parsed, err := resource.ParseQuantity(strings.TrimSpace(d.kept(text)))
	if err != nil {
		return d.giveUp("not a quantity")
	}
	*get[resource.Quantity](p) = parsed
	return true
}

type intOrTextNode struct{}

func (intOrTextNode) json(d *reader, p place) bool {
	v := get[intstr.IntOrString](p)
	if !d.is('"') {
		n, ok := d.integer(32)
		v.Type, v.IntVal = intstr.Int, int32(n)
		return ok
	}
	text, ok := d.text()
	if !ok {
		return false
	}
	v.Type, v.StrVal = intstr.String, d.kept(text)
	return true
}

type fieldsNode struct{}

func (fieldsNode) json(d *reader, p place) bool {
	raw, ok := d.raw()
	if !ok {
		return false
	}
	d.setFields(get[metav1.FieldsV1](p), raw)
	return true
}

type extensionNode struct{}

func (extensionNode) json(d *reader, p place) bool {
	raw, ok := d.raw()
	if !ok {
		return false
	}
	get[runtime.RawExtension](p).Raw = exactly(raw)
	d.makes(len(raw))
	return true
}
