// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package json

import (
	"fmt"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// Plan reads values of one type.
type Plan struct {
	t    reflect.Type
	root element
}

// PlanOf returns the plan of a type, which is a struct as a rule, or says why there is none.
func PlanOf(t reflect.Type) (*Plan, error) {
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
	return plan, nil
}

// Read reads a document into the value that into points to, which is new and of the plan's type.
func (p *Plan) Read(data []byte, into any, o share.Options) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != p.t {
		return fmt.Errorf("%w: a plan of %v was given a %T", scan.ErrGiveUp, p.t, into)
	}
	d := newReader(data, o)
	if d.Peek() != '{' {
		return d.release(d.GiveUp("not an object"))
	}
	return d.release(p.root.node.json(d, mem.Of(v)) && d.End())
}
