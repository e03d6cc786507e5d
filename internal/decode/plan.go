// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package decode

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
)

// Plan reads values of one type.
type Plan struct {
	t    reflect.Type
	root element

	wireOnce sync.Once
	wire     messageNode
}

// plans has the plan of each type that was asked for: reflect.Type → *Plan.
var plans sync.Map

// PlanOf returns the plan of a type, which is a struct as a rule, or says why there is none. Plans
// are made once.
func PlanOf(t reflect.Type) (*Plan, error) {
	if known, ok := plans.Load(t); ok {
		return known.(*Plan), nil
	}
	if t == nil || t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return nil, fmt.Errorf("decode: no plan of %v: not a type of objects", t)
	}
	b := &builder{t: t, known: map[reflect.Type]*deferred{}}
	plan := &Plan{t: t, root: b.element(t)}
	if shared, ok := plan.root.node.(*sharedNode); ok {
		plan.root.node = shared.node // an object that is a map is one of its own
	}
	if none, ok := plan.root.node.(unsureNode); ok {
		return nil, fmt.Errorf("decode: no plan of %v: %s", t, none.why)
	}
	made, _ := plans.LoadOrStore(t, plan)
	return made.(*Plan), nil
}

// JSON reads a document into the value that into points to, which is new and of the plan's type.
func (p *Plan) JSON(data []byte, into any, o Options) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != p.t {
		return fmt.Errorf("%w: a plan of %v was given a %T", ErrGiveUp, p.t, into)
	}
	d := newReader(data, o)
	if d.parts != nil {
		d.findBrackets()
	}
	if d.peek() != '{' {
		return d.release(d.giveUp("not an object"))
	}
	return d.release(p.root.node.json(d, placeOf(v)) && d.end())
}

// node reads values of one type.
type node interface {
	// json reads a value that is no null into p, which is zero. White space before it was skipped.
	json(d *reader, p place) bool
}

// element is a node in a struct, list, map or pointer.
type element struct {
	node
	hearsNull bool // json is called for null too
}

// json reads any value into p. Null leaves it as it is, as a rule: whatever it means to its type,
// that is zero.
func (e *element) json(d *reader, p place) bool {
	if d.peek() == 'n' && !e.hearsNull {
		return d.literal("null")
	}
	return e.node.json(d, p)
}

// deferred is the element of a type that contains itself.
type deferred struct {
	element
	done bool
}

// builder makes the nodes of a type and of all that are below it.
type builder struct {
	t     reflect.Type
	known map[reflect.Type]*deferred
}

var (
	jsonMethod = reflect.TypeFor[json.Unmarshaler]()
	textMethod = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (b *builder) element(t reflect.Type) element {
	if known, ok := b.known[t]; ok {
		if known.done {
			return known.element
		}
		return element{node: known, hearsNull: hearsNull(t)}
	}
	made := new(deferred)
	b.known[t] = made
	made.element = element{node: b.node(t), hearsNull: hearsNull(t)}
	made.done = true
	return made.element
}

func (l *deferred) json(d *reader, p place) bool { return l.element.node.json(d, p) }

// privateNode reads what is kept in no table; what is around a secret neither is.
type privateNode struct {
	node
	secret bool
}

func (n privateNode) json(d *reader, p place) bool {
	before := d.private
	if n.secret {
		d.unsharable++
	}
	d.private = true
	ok := n.node.json(d, p)
	d.private = before
	return ok
}

func (b *builder) node(t reflect.Type) node {
	if known := knownNode(t); known != nil {
		return known
	}
	if method := methodNode(t); method != nil {
		return method
	}
	switch t.Kind() {
	case reflect.Struct:
		return b.record(t)
	case reflect.Pointer:
		pointer := &pointerNode{t: t.Elem(), element: b.element(t.Elem()), size: int(t.Elem().Size())}
		if t.Elem().Kind() == reflect.Struct {
			return &sharedNode{node: pointer, t: t}
		}
		return pointer
	case reflect.Slice:
		if t.Elem() == reflect.TypeFor[byte]() {
			return b.list(t)
		}
		return &sharedNode{node: b.list(t), t: t}
	case reflect.Map:
		return &sharedNode{node: b.mapping(t), t: t}
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return documentNode{}
		}
		return unsureNode{"an interface with methods"}
	}
	return basicNode(t)
}

// methodNode returns the node of a type that reads itself, or nil. Those without a name do so only
// behind a pointer: too odd.
func methodNode(t reflect.Type) node {
	if t.Kind() == reflect.Interface || t.Kind() == reflect.Pointer {
		return nil
	}
	p := reflect.PointerTo(t)
	switch own := p.Implements(jsonMethod); {
	case !own && !p.Implements(textMethod):
		return nil
	case t.Name() == "":
		return unsureNode{"a type without a name that has methods"}
	case own:
		return ownJSON{t}
	}
	return ownText{t}
}

// hearsNull reports whether null is more than zero to a type.
func hearsNull(t reflect.Type) bool {
	if t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface || knownNode(t) != nil {
		return t == durationType
	}
	return reflect.PointerTo(t).Implements(jsonMethod)
}

// unsureNode is for types that nothing is certain of.
type unsureNode struct{ why string }

func (u unsureNode) json(d *reader, _ place) bool { return d.giveUp(u.why) }

// ownJSON is for types with UnmarshalJSON.
type ownJSON struct{ t reflect.Type }

func (o ownJSON) json(d *reader, p place) bool {
	raw, ok := d.raw()
	if !ok {
		return false
	}
	d.unsharable++ // for all that is known
	method := pointerAt(o.t, p).Interface().(json.Unmarshaler)
	if method.UnmarshalJSON(append([]byte(nil), raw...)) != nil {
		return d.giveUp("an error of UnmarshalJSON")
	}
	return true
}

// ownText is for types with UnmarshalText.
type ownText struct{ t reflect.Type }

func (o ownText) json(d *reader, p place) bool {
	text, ok := d.text()
	if !ok {
		return false
	}
	d.unsharable++ // for all that is known
	method := pointerAt(o.t, p).Interface().(encoding.TextUnmarshaler)
	if method.UnmarshalText(append([]byte{}, text...)) != nil {
		return d.giveUp("an error of UnmarshalText")
	}
	return true
}
