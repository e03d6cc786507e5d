// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"reflect"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/keep"
)

// builder builds the nodes of message type t and of all messages in it.
type builder struct {
	t     reflect.Type
	nodes map[share.Kept]*deferredMessage
}

func (b *builder) message(t reflect.Type, of *keep.Fields) messageNode {
	key := share.KeptOf(t, of)
	if known, ok := b.nodes[key]; ok {
		if known.messageNode != nil {
			return known.messageNode
		}
		return known
	}
	made := new(deferredMessage)
	b.nodes[key] = made
	made.messageNode = b.newMessage(t, key.Of)
	return made.messageNode
}

// newMessage returns the node of a type. Only in Kubernetes' own modules is the Unmarshal of a type
// known to be generated from the tags of its fields.
func (b *builder) newMessage(t reflect.Type, of *keep.Fields) messageNode {
	path := t.PkgPath()
	switch {
	case !reflect.PointerTo(t).Implements(unmarshalMethod):
		return unsupportedMessage{"a type without Unmarshal"}
	case !strings.HasPrefix(path, "k8s.io/api/") && !strings.HasPrefix(path, "k8s.io/apimachinery/"):
		return ownMessage{t, of}
	}
	if known := builtinMessages[t]; known != nil {
		return known
	}
	switch {
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		return textsMessage{}
	case t.Kind() != reflect.Struct:
		return ownMessage{t, nil}
	}
	made := b.fields(t, of)
	if t.Name() == "Secret" {
		return privateMessage{made}
	}
	return made
}

// fields builds the node of a struct whose fields have tags. It returns an ownMessage if a tag is
// missing or not understood.
func (b *builder) fields(t reflect.Type, of *keep.Fields) messageNode {
	var list fields
	writes := false // reading the struct may modify it
	for field := range t.Fields() {
		tag, tagged := field.Tag.Lookup("protobuf")
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		skipped := field.Tag.Get("json") == "-" || !field.IsExported() || field.Type == reflect.TypeFor[metav1.TypeMeta]()
		if !tagged && skipped {
			continue
		}
		number, ok := numberOf(tag)
		if !ok {
			return ownMessage{t, of}
		}
		within := of
		if of != nil && !keep.IsInline(field) {
			if within = of.Of(name); within == nil {
				continue
			}
		}
		for number >= len(list) {
			list = append(list, wireField{})
		}
		if list[number].tag != 0 {
			return ownMessage{t, of}
		}
		node, wire := b.field(field.Type, uint64(number), within)
		writes = writes || share.MutatesOnRead(field.Type)
		partial := b.partialOf(field.Type, within)
		if shared, ok := node.(*sharedField); ok {
			shared.site.In = t.Name() + "." + name
			shared.partial = partial
		}
		if share.Unshared(t, name, t == b.t) {
			node = privateField{node}
		}
		list[number] = newWireField(node, uint64(number)<<3|wire, field.Offset)
		list[number].partial = partial
	}
	if writes {
		return mutatingMessage{&list}
	}
	return &list
}

// partialOf returns the fields of the messages of a field, if only some are kept, and otherwise nil.
func (b *builder) partialOf(t reflect.Type, of *keep.Fields) *fields {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if made := b.nodes[share.KeptOf(t, of)]; made != nil && of != nil && !of.All() {
		partial, _ := made.messageNode.(*fields)
		return partial
	}
	return nil
}

func newWireField(node wireNode, tag uint64, offset uintptr) wireField {
	f := wireField{wireNode: node, tag: tag, offset: offset}
	switch known := node.(type) {
	case textField:
		f.text = true
	case messageField:
		f.inner, _ = known.messageNode.(*fields)
	}
	return f
}

// numberOf returns the field number of a tag such as bytes,1,opt,name=metadata.
func numberOf(tag string) (int, bool) {
	parts := strings.SplitN(tag, ",", 3)
	if len(parts) < 2 {
		return 0, false
	}
	n, err := strconv.Atoi(parts[1])
	return n, err == nil && n > 0 && n < mostFields
}

// field returns the node and the wire type of a field.
func (b *builder) field(t reflect.Type, number uint64, of *keep.Fields) (wireNode, uint64) {
	tag := number<<3 | scan.WireBytes
	switch {
	case b.isMessage(t):
		return messageField{b.message(t, of)}, scan.WireBytes
	case t.Kind() == reflect.Pointer:
		node, wire := b.field(t.Elem(), number, of)
		switch t.Elem().Kind() {
		case reflect.Pointer, reflect.Map, reflect.Slice:
			node = unsupportedMessage{"a pointer to a pointer, map or list"}
		}
		pointer := &pointerField{wireNode: node, alloc: makerOf(t.Elem())}
		if b.isMessage(t.Elem()) && t.Elem() != reflect.TypeFor[metav1.Time]() {
			return &sharedField{wireNode: pointer, site: share.Site{Type: t}, tag: tag}, wire
		}
		return pointer, wire
	case t.Kind() == reflect.Map:
		return &sharedField{wireNode: b.mapping(t, tag, of), site: share.Site{Type: t}, tag: tag, many: true}, scan.WireBytes
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return b.list(t, number, of)
	}
	return basicField(t)
}

// isMessage reports whether a type is a message, rather than a named scalar or list.
func (b *builder) isMessage(t reflect.Type) bool {
	own := t.Name() != "" && reflect.PointerTo(t).Implements(unmarshalMethod)
	return own || t.Kind() == reflect.Struct
}

func (b *builder) list(t reflect.Type, number uint64, of *keep.Fields) (wireNode, uint64) {
	elem := t.Elem()
	tag := number<<3 | scan.WireBytes
	switch {
	case b.isMessage(elem):
		return &sharedField{wireNode: &messagesField{messageNode: b.message(elem, of), t: t, tag: tag, size: elem.Size()}, site: share.Site{Type: t}, tag: tag, many: true}, scan.WireBytes
	case elem.Kind() == reflect.String:
		return &sharedField{wireNode: textsField{tag}, site: share.Site{Type: t}, tag: tag, many: true}, scan.WireBytes
	}
	node, wire := basicField(elem)
	return &scalarsField{wireNode: node, t: t, tag: number<<3 | wire, size: elem.Size()}, wire
}

func (b *builder) mapping(t reflect.Type, tag uint64, of *keep.Fields) wireNode {
	text, all := reflect.TypeFor[string](), of == nil || of.All()
	switch key, elem := t.Key(), t.Elem(); {
	case key.Kind() != reflect.String:
		return unsupportedMessage{"a map whose keys are no strings"}
	case all && key == text && elem == text:
		return textMapField{tag}
	case all && key == text && elem == reflect.TypeFor[[]byte]():
		return bytesMapField{tag}
	}
	node := &mapField{t: t, tag: tag, quantities: t.Elem() == reflect.TypeFor[resource.Quantity]()}
	if all {
		node.value, node.valueWire = b.value(t.Elem(), nil)
		return node
	}
	node.kept = map[string]wireNode{}
	for name, of := range of.Named() {
		node.kept[name], node.valueWire = b.value(t.Elem(), of)
	}
	return node
}

// value returns the node and the wire type of the value of a map.
func (b *builder) value(t reflect.Type, of *keep.Fields) (wireNode, uint64) {
	if b.isMessage(t) {
		return messageField{b.message(t, of)}, scan.WireBytes
	}
	return basicField(t)
}
