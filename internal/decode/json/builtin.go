// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/share"
)

var durationType = reflect.TypeFor[metav1.Duration]()

// builtinNodes are the nodes of the types whose UnmarshalJSON is replaced by this package, and of
// json.Number. Except for Duration, null sets these types to zero.
var builtinNodes = map[reflect.Type]node{
	reflect.TypeFor[json.Number]():          unsupportedNode{"a json.Number"},
	reflect.TypeFor[metav1.Time]():          timeNode{},
	reflect.TypeFor[metav1.MicroTime]():     microTimeNode{},
	durationType:                            durationNode{},
	reflect.TypeFor[resource.Quantity]():    quantityNode{},
	reflect.TypeFor[intstr.IntOrString]():   intOrTextNode{},
	reflect.TypeFor[metav1.FieldsV1]():      fieldsNode{},
	reflect.TypeFor[runtime.RawExtension](): extensionNode{},
}

type timeNode struct{}

func (timeNode) json(d *decoder, p mem.Place) bool {
	text, ok := d.Text()
	if !ok {
		return false
	}
	moment, ok := instant(text)
	if !ok {
		parsed, err := time.Parse(time.RFC3339, string(text))
		if err != nil {
			return d.GiveUp("not a time")
		}
		moment = parsed.Local()
	}
	mem.Get[metav1.Time](p).Time = moment
	return true
}

type microTimeNode struct{}

func (microTimeNode) json(d *decoder, p mem.Place) bool {
	text, ok := d.Text()
	if !ok {
		return false
	}
	parsed, err := time.Parse(metav1.RFC3339Micro, string(text))
	if err != nil {
		return d.GiveUp("not a time with microseconds")
	}
	mem.Get[metav1.MicroTime](p).Time = parsed.Local()
	return true
}

// instant parses a time of the form 2026-01-05T08:00:00Z. It reports false for any other form.
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
	return moment.Local(), moment.Day() == day // otherwise there is no such day or hour
}

type durationNode struct{}

func (durationNode) json(d *decoder, p mem.Place) bool {
	text, ok := d.Text()
	if !ok {
		return false
	}
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return d.GiveUp("not a duration")
	}
	mem.Get[metav1.Duration](p).Duration = parsed
	return true
}

// quantityNode decodes quantities, which are strings or numbers. It gives up on strings with
// escapes, because Quantity.UnmarshalJSON does not resolve them.
type quantityNode struct{}

func (quantityNode) json(d *decoder, p mem.Place) bool {
	var text []byte
	var ok bool
	if d.Is('"') {
		text, ok = d.Plain()
	} else {
		text, _, ok = d.Number()
	}
	if !ok {
		return false
	}
	d.Unsharable++
	parsed, err := resource.ParseQuantity(strings.TrimSpace(d.Intern(text)))
	if err != nil {
		return d.GiveUp("not a quantity")
	}
	*mem.Get[resource.Quantity](p) = parsed
	return true
}

type intOrTextNode struct{}

func (intOrTextNode) json(d *decoder, p mem.Place) bool {
	v := mem.Get[intstr.IntOrString](p)
	if !d.Is('"') {
		n, ok := d.Integer(32)
		v.Type, v.IntVal = intstr.Int, int32(n)
		return ok
	}
	text, ok := d.Text()
	if !ok {
		return false
	}
	v.Type, v.StrVal = intstr.String, d.Intern(text)
	return true
}

type fieldsNode struct{}

func (fieldsNode) json(d *decoder, p mem.Place) bool {
	raw, ok := d.Raw()
	if !ok {
		return false
	}
	share.SetFields(mem.Get[metav1.FieldsV1](p), raw)
	return true
}

type extensionNode struct{}

func (extensionNode) json(d *decoder, p mem.Place) bool {
	raw, ok := d.Raw()
	if !ok {
		return false
	}
	mem.Get[runtime.RawExtension](p).Raw = share.Exactly(raw)
	return true
}
