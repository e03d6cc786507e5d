// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import "github.com/kinformer/cache/internal/decode/mem"

// node reads values of one type.
type node interface {
	// json reads a value that is no null into p, which is zero. White space before it was skipped.
	json(d *reader, p mem.Place) bool
}

// element is a node in a struct, list, map or pointer.
type element struct {
	node
	hearsNull bool // json is called for null too
}

// json reads any value into p. Null leaves it as it is, as a rule: whatever it means to its type,
// that is zero.
func (e *element) json(d *reader, p mem.Place) bool {
	if d.Peek() == 'n' && !e.hearsNull {
		return d.Literal("null")
	}
	return e.node.json(d, p)
}

// deferred is the element of a type that contains itself.
type deferred struct {
	element
	done bool
}

func (l *deferred) json(d *reader, p mem.Place) bool { return l.element.node.json(d, p) }

// privateNode reads a value that must not enter a table. If it is a secret, values that enclose it
// must not either.
type privateNode struct {
	node
	secret bool
}

func (n privateNode) json(d *reader, p mem.Place) bool {
	before := d.Private
	if n.secret {
		d.Unsharable++
	}
	d.Private = true
	ok := n.node.json(d, p)
	d.Private = before
	return ok
}

// unsureNode gives values up, of types that are not known for sure.
type unsureNode struct{ why string }

func (u unsureNode) json(d *reader, _ mem.Place) bool { return d.GiveUp(u.why) }
