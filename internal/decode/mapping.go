// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"
)

func (b *builder) mapping(t reflect.Type) node {
	key, elem := t.Key(), t.Elem()
	switch {
	case key.Kind() != reflect.String || methodNode(key) != nil:
		return unsureNode{"a map whose keys are no strings"}
	case key == reflect.TypeFor[string]() && elem == key:
		return textMap{}
	}
	return &mapNode{t: t, elem: b.element(elem), quantities: elem == quantityType}
}

// pair is a member of a map that is being read.
type pair struct {
	key  string
	text string
	any  any
}

// textMap reads maps of strings.
type textMap struct{}

func (textMap) json(d *reader, p place) bool {
	if !d.enter('{', "not an object") {
		return false
	}
	if d.peek() == '}' {
		set(p, map[string]string{})
		d.made += mapBytes(0, 0)
		return d.leave()
	}
	base := len(d.pairs)
	for {
		name, ok := d.name()
		if !ok || !d.textMember(name) {
			return false
		}
		if another, ok := d.more('}'); !another {
			set(p, d.popTexts(base))
			return ok
		}
	}
}

// textMember reads the text of a member, and puts it on the stack.
func (d *reader) textMember(name []byte) bool {
	member, ok := pair{key: d.kept(name)}, false
	if d.is('n') {
		ok = d.literal("null")
	} else {
		ok = textNode{}.json(d, placeIn(&member.text))
	}
	d.pairs = append(d.pairs, member)
	return ok
}

// popTexts takes pairs off the stack, as a map.
func (d *reader) popTexts(base int) map[string]string {
	made := make(map[string]string, len(d.pairs)-base)
	for i := range d.pairs[base:] {
		made[d.pairs[base+i].key] = d.pairs[base+i].text
	}
	d.pop(base)
	d.made += mapBytes(len(made), 2*textBytes)
	return made
}

// pop takes pairs off the stack.
func (d *reader) pop(base int) {
	clear(d.pairs[base:])
	d.pairs = d.pairs[:base]
}

// mapNode reads other maps.
type mapNode struct {
	elem       element
	t          reflect.Type
	quantities bool // are its values
}

func (n *mapNode) json(d *reader, p place) bool {
	if !d.enter('{', "not an object") {
		return false
	}
	made := reflect.MakeMap(n.t)
	pointerAt(n.t, p).Elem().Set(made)
	if d.peek() == '}' {
		d.made += mapBytes(0, 0)
		return d.leave()
	}
	key, value := reflect.New(n.t.Key()).Elem(), reflect.New(n.t.Elem())
	for {
		name, ok := d.name()
		if !ok {
			return false
		}
		key.SetString(d.kept(name))
		before := d.unsharable
		if !n.elem.json(d, placeOf(value)) {
			return false
		}
		if n.quantities && d.parts != nil && isShort(*get[resource.Quantity](placeOf(value))) {
			d.unsharable = before
		}
		made.SetMapIndex(key, value.Elem())
		value.Elem().SetZero()
		if another, ok := d.more('}'); !another {
			d.made += mapBytes(made.Len(), mapSlot(n.t))
			return ok
		}
	}
}
