// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/keep"
)

// builder builds the nodes of type t and of all types in it.
type builder struct {
	t     reflect.Type
	nodes map[share.Kept]*deferred
}

func (b *builder) element(t reflect.Type, of *keep.Fields) element {
	key := share.KeptOf(t, of)
	if known, ok := b.nodes[key]; ok {
		if known.done {
			return known.element
		}
		return element{node: known, handlesNull: handlesNull(t)}
	}
	made := new(deferred)
	b.nodes[key] = made
	made.element = element{node: b.node(t, key.Of), handlesNull: handlesNull(t)}
	made.done = true
	return made.element
}

func (b *builder) node(t reflect.Type, of *keep.Fields) node {
	if known := builtinNodes[t]; known != nil {
		return known
	}
	if method := methodNode(t); method != nil {
		return method
	}
	switch t.Kind() {
	case reflect.Struct:
		return b.record(t, of)
	case reflect.Pointer:
		pointer := &pointerNode{t: t.Elem(), element: b.element(t.Elem(), of)}
		if t.Elem().Kind() == reflect.Struct {
			return &sharedNode{node: pointer, site: share.Site{Type: t}}
		}
		return pointer
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return b.list(t, nil)
		}
		return &sharedNode{node: b.list(t, of), site: share.Site{Type: t}}
	case reflect.Map:
		return &sharedNode{node: b.mapping(t, of), site: share.Site{Type: t}}
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return documentNode{}
		}
		return unsupportedNode{"an interface with methods"}
	}
	if basic := basicNodes[t.Kind()]; basic != nil {
		return basic
	}
	return unsupportedNode{"a kind of value that is not known"}
}

// handlesNull reports whether the node of t must also be called for null, which may do more than
// leave a zero value.
func handlesNull(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || builtinNodes[t] != nil {
		return t == durationType
	}
	return reflect.PointerTo(t).Implements(jsonMethod)
}

// basicNodes are the nodes of the kinds of types without elements or fields.
var basicNodes = map[reflect.Kind]node{
	reflect.String:  textNode{},
	reflect.Bool:    boolNode{},
	reflect.Int:     intNode[int]{strconv.IntSize},
	reflect.Int8:    intNode[int8]{8},
	reflect.Int16:   intNode[int16]{16},
	reflect.Int32:   intNode[int32]{32},
	reflect.Int64:   intNode[int64]{64},
	reflect.Uint:    uintNode[uint]{strconv.IntSize},
	reflect.Uint8:   uintNode[uint8]{8},
	reflect.Uint16:  uintNode[uint16]{16},
	reflect.Uint32:  uintNode[uint32]{32},
	reflect.Uint64:  uintNode[uint64]{64},
	reflect.Uintptr: uintNode[uintptr]{strconv.IntSize},
	reflect.Float32: floatNode[float32]{32},
	reflect.Float64: floatNode[float64]{64},
}

func (b *builder) list(t reflect.Type, of *keep.Fields) node {
	elem := t.Elem()
	switch {
	case elem == reflect.TypeFor[byte]():
		return bytesNode{}
	case elem.Kind() == reflect.Uint8:
		return unsupportedNode{"bytes of a type of their own"}
	case elem.Kind() == reflect.String && b.element(elem, nil).node == (textNode{}):
		return textsNode{}
	}
	return &listNode{element: b.element(elem, of), t: t, size: elem.Size(), mutatesOnRead: share.MutatesOnRead(elem)}
}

func (b *builder) mapping(t reflect.Type, of *keep.Fields) node {
	key, elem := t.Key(), t.Elem()
	switch {
	case key.Kind() != reflect.String || methodNode(key) != nil:
		return unsupportedNode{"a map whose keys are no strings"}
	case key == reflect.TypeFor[string]() && elem == key && of == nil:
		return textMap{}
	}
	node := &mapNode{t: t, elem: b.element(elem, nil), quantities: elem == reflect.TypeFor[resource.Quantity]()}
	if of != nil {
		node.kept = map[string]element{}
		for name, of := range of.Named() {
			node.kept[name] = b.element(elem, of)
		}
	}
	return node
}

func (b *builder) record(t reflect.Type, of *keep.Fields) node {
	members := slices.DeleteFunc(membersOf(t), func(m member) bool { return of != nil && of.Of(m.name) == nil })
	isOdd := func(m member) bool { return strings.Trim(m.name, scan.PlainNames) != "" } // it may need an escape
	switch {
	case slices.ContainsFunc(members, isOdd):
		return unsupportedNode{"a struct with an odd name of a field"}
	case len(members) > mostMembers:
		return unsupportedNode{"a struct with too many fields"}
	}
	r := &record{index: make(map[string]int, len(members)), mutatesOnRead: share.MutatesOnRead(t)}
	for _, m := range members {
		within := of
		if of != nil {
			within = of.Of(m.name)
		}
		e, i := element{node: unsupportedNode{m.unsupported}, handlesNull: true}, len(r.members)
		if m.unsupported == "" {
			e = b.element(m.field.Type, within)
		}
		if t == b.t {
			e = kindMember(m.name, e)
		}
		if m.name == "metadata" && t == b.t && m.field.Type.Kind() == reflect.Pointer {
			e.node = privateNode{node: e.node} // Drop.Trim modifies the ObjectMeta
		}
		if share.Unshared(t, m.name, t == b.t) {
			e.node = privateNode{node: e.node}
		}
		key := `"` + m.name + `":`
		r.members = append(r.members, recordMember{element: e, offset: m.offset, key: key})
		r.index[m.name] = i
	}
	r.next = make([]atomic.Uint32, len(r.members)+1)
	for i := range r.members {
		r.next[i].Store(uint32(i + 1))
	}
	if t.Name() == "Secret" {
		return privateNode{node: r, secret: true}
	}
	return r
}

// kindMember returns the element of the kind or apiVersion of the topmost struct, and e for other
// members.
func kindMember(name string, e element) element {
	kind, version := strings.EqualFold(name, "kind"), strings.EqualFold(name, "apiVersion")
	switch {
	case !kind && !version:
		return e
	case name != "kind" && name != "apiVersion" || e.node != textNode{}:
		return element{node: unsupportedNode{"an odd field for a kind or apiVersion"}, handlesNull: true}
	case version:
		e.node = versionNode{}
	}
	return e
}
