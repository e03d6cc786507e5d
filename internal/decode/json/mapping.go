// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"reflect"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/share"
)

// textMap decodes maps of strings.
type textMap struct{}

func (textMap) json(d *decoder, p mem.Place) bool {
	if !d.Open('{', "not an object") {
		return false
	}
	if d.Peek() == '}' {
		mem.Set(p, map[string]string{})
		return d.Close()
	}
	base := len(d.pairs)
	for {
		name, ok := d.Name()
		if !ok || !d.textMember(name) {
			return false
		}
		if another, ok := d.More('}'); !another {
			mem.Set(p, d.popTexts(base))
			return ok
		}
	}
}

// textMember decodes the string of a member and pushes the pair.
func (d *decoder) textMember(name []byte) bool {
	member, ok := pair{key: d.Intern(name)}, false
	if d.Is('n') {
		ok = d.Literal("null")
	} else {
		ok = textNode{}.json(d, mem.In(&member.text))
	}
	d.pairs = append(d.pairs, member)
	return ok
}

// popTexts pops pairs down to base and returns them as a map.
func (d *decoder) popTexts(base int) map[string]string {
	made := make(map[string]string, len(d.pairs)-base)
	for i := range d.pairs[base:] {
		made[d.pairs[base+i].key] = d.pairs[base+i].text
	}
	clear(d.pairs[base:])
	d.pairs = d.pairs[:base]
	return made
}

// mapNode decodes maps of other elements.
type mapNode struct {
	elem       element
	t          reflect.Type
	quantities bool               // the elements are quantities
	kept       map[string]element // if not nil, only these members are kept, and of none the map is nil
}

func (n *mapNode) json(d *decoder, p mem.Place) bool {
	if !d.Open('{', "not an object") {
		return false
	}
	to := mem.Pointer(n.t, p).Elem()
	if n.kept == nil {
		to.Set(reflect.MakeMap(n.t))
	}
	if d.Peek() == '}' {
		return d.Close()
	}
	key, value := reflect.New(n.t.Key()).Elem(), reflect.New(n.t.Elem())
	for {
		name, ok := d.Name()
		if !ok || !n.entry(d, name, to, key, value) {
			return false
		}
		if another, ok := d.More('}'); !another {
			return ok
		}
	}
}

// entry decodes the value of a name, with room for the key and the value.
func (n *mapNode) entry(d *decoder, name []byte, to, key, value reflect.Value) bool {
	elem := &n.elem
	if n.kept != nil {
		of, is := n.kept[string(name)]
		if !is {
			return d.Omit()
		}
		if elem = &of; to.IsNil() {
			to.Set(reflect.MakeMap(n.t))
		}
	}
	key.SetString(d.Intern(name))
	before := d.Unsharable
	if !elem.json(d, mem.Of(value)) {
		return false
	}
	if n.quantities && d.Shares() && share.IsShort(*mem.Get[resource.Quantity](mem.Of(value))) {
		d.Unsharable = before
	}
	to.SetMapIndex(key, value.Elem())
	value.Elem().SetZero()
	return true
}
