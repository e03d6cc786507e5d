// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import "github.com/kinformer/cache/internal/decode/mem"

// A node decodes values of one type. The nodes of a type form a tree, or a graph if a type contains
// itself:
//
//	Pod → record → metadata  record → labels  sharedNode → textMap
//	             → spec      record → containers  sharedNode → listNode → record
type node interface {
	// json decodes a value other than null into p, which is zero. White space before the value has
	// been skipped.
	json(d *decoder, p mem.Place) bool
}

// element is the node of a field, element or pointer.
type element struct {
	node
	handlesNull bool // json is also called for null
}

// json decodes any value into p. Null leaves p as it is, which is zero, unless the node handles null.
func (e *element) json(d *decoder, p mem.Place) bool {
	if d.Peek() == 'n' && !e.handlesNull {
		return d.Literal("null")
	}
	return e.node.json(d, p)
}

// deferred is the element of a type that contains itself. It is filled in after the node of the
// type is built.
type deferred struct {
	element
	done bool
}

func (l *deferred) json(d *decoder, p mem.Place) bool { return l.element.node.json(d, p) }

// privateNode decodes a value that must not enter a table. If the value is a secret, values that
// enclose it must not enter one either.
type privateNode struct {
	node
	secret bool
}

func (n privateNode) json(d *decoder, p mem.Place) bool {
	before := d.Private
	if n.secret {
		d.Unsharable++
	}
	d.Private = true
	ok := n.node.json(d, p)
	d.Private = before
	return ok
}

// unsupportedNode gives up on values of a type that this package does not support.
type unsupportedNode struct{ why string }

func (u unsupportedNode) json(d *decoder, _ mem.Place) bool { return d.GiveUp(u.why) }
