// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"reflect"

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
	b := &builder{t: t, nodes: map[share.Kept]*deferredMessage{}}
	root := b.message(t, of)
	return &Plan{t, root, layoutOf(t, root, deepestParts)}
}

// Read decodes a message into *into, a new value of the plan's type.
func (p *Plan) Read(data []byte, into any, o share.Options) error {
	to, err := scan.Target(into, p.t)
	if err != nil {
		return err
	}
	d := newDecoder(data, o)
	return d.release(p.root.message(d, to, len(data)))
}
