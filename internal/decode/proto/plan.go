// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package proto

import (
	"fmt"
	"reflect"

	"github.com/kinformer/cache/internal/decode/mem"
	"github.com/kinformer/cache/internal/decode/scan"
	"github.com/kinformer/cache/internal/decode/share"
)

// Plan reads messages of one type.
type Plan struct {
	t    reflect.Type
	root messageNode

	layout *layout // of root; nil: updates are read as a whole
}

// PlanOf returns the plan of a type.
func PlanOf(t reflect.Type) *Plan {
	root := newBuilder(t).message(t)
	return &Plan{t, root, layoutOf(t, root, deepestParts)}
}

// Read reads a message into the value that into points to, which is new and of the plan's type.
func (p *Plan) Read(data []byte, into any, o share.Options) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Type().Elem() != p.t {
		return fmt.Errorf("%w: a plan of %v was given a %T", scan.ErrGiveUp, p.t, into)
	}
	d := newReader(data, o)
	return d.release(p.root.message(d, mem.Of(v), len(data)))
}
