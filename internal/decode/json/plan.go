// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"fmt"
	"reflect"

	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/keep"
)

// Plan decodes values of one type. It is immutable, except for guesses about the next document.
type Plan struct {
	t    reflect.Type
	root element
}

// PlanOf returns the plan of a type, usually a struct, of whose fields it decodes those of; nil: all. It
// returns an error if the type is not supported.
func PlanOf(t reflect.Type, of *keep.Fields) (*Plan, error) {
	if t == nil || t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface {
		return nil, fmt.Errorf("decode: no plan of %v: not a type of objects", t)
	}
	b := &builder{t: t, nodes: map[share.Kept]*deferred{}}
	plan := &Plan{t: t, root: b.element(t, of)}
	if shared, ok := plan.root.node.(*sharedNode); ok {
		plan.root.node = shared.node // an object that is a map is never shared itself
	}
	if none, ok := plan.root.node.(unsupportedNode); ok {
		return nil, fmt.Errorf("decode: no plan of %v: %s", t, none.why)
	}
	return plan, nil
}

// Read decodes a document into *into, a new value of the plan's type.
func (p *Plan) Read(data []byte, into any, o share.Options) error {
	to, err := scan.Target(into, p.t)
	if err != nil {
		return err
	}
	d := newDecoder(data, o)
	if d.Peek() != '{' {
		return d.release(d.GiveUp("not an object"))
	}
	return d.release(p.root.node.json(d, to) && d.End())
}
