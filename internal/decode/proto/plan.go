// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"fmt"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
	"github.com/kinformer/cache/internal/keep"
)

// Plan decodes messages of one type. It is immutable.
type Plan struct {
	t    reflect.Type
	root messageNode

	layout *layout // of root; nil: Update decodes the whole object
}

// PlanOf returns the plan of a type, of whose fields it decodes those of; nil: all. If the type is not supported,
// every call gives up.
func PlanOf(t reflect.Type, of *keep.Fields) *Plan {
	root := newBuilder(t).message(t, of)
	return &Plan{t, root, layoutOf(t, root, deepestParts)}
}

// Read decodes a message into *into, a new value of the plan's type.
func (p *Plan) Read(data []byte, into any, o share.Options) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != p.t {
		return fmt.Errorf("%w: a plan of %v was given a %T", scan.ErrGiveUp, p.t, into)
	}
	d := newDecoder(data, o)
	return d.release(p.root.message(d, mem.Of(v), len(data)))
}
