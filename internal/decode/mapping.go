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
	return &mapNode{t: t, elem: b.element(elem)}
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
		return d.leave()
	}
	base := len(d.pairs)
	for {
		var member pair
		if !member.read(d) {
			return false
		}
		d.pairs = append(d.pairs, member)
		if another, ok := d.more('}'); !another {
			made := make(map[string]string, len(d.pairs)-base)
			for i := range d.pairs[base:] {
				made[d.pairs[base+i].key] = d.pairs[base+i].text
			}
			d.pop(base)
			set(p, made)
			return ok
		}
	}
}

func (member *pair) read(d *reader) bool {
	name, ok := d.key()
	if !ok {
		return false
	}
	member.key = d.kept(name)
	if d.is('n') {
		return d.literal("null")
	}
	return textNode{}.json(d, placeIn(&member.text))
}

// pop takes pairs off the stack.
func (d *reader) pop(base int) {
	clear(d.pairs[base:])
	d.pairs = d.pairs[:base]
}

// mapNode reads other maps.
type mapNode struct {
	elem element
	t    reflect.Type
}

func (n *mapNode) json(d *reader, p place) bool {
	if !d.enter('{', "not an object") {
		return false
	}
	restless := d.restless
	made := reflect.MakeMap(n.t)
	pointerAt(n.t, p).Elem().Set(made)
	if d.peek() == '}' {
		return d.leave()
	}
	key, value := reflect.New(n.t.Key()).Elem(), reflect.New(n.t.Elem())
	for {
		name, ok := d.key()
		if !ok {
			return false
		}
		key.SetString(d.kept(name))
		if !n.elem.json(d, placeOf(value)) {
			return false
		}
		made.SetMapIndex(key, value.Elem())
		value.Elem().SetZero()
		if another, ok := d.more('}'); !another {
			if n.t.Elem() == reflect.TypeFor[resource.Quantity]() {
				d.restless = restless // values of maps cannot be written to, but by their copies
			}
			return ok
		}
	}
}
