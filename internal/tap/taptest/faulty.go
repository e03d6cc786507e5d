// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package taptest provides decoders that fail on demand, and server responses, for tests of package tap.
package taptest

import (
	"errors"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kinformer/cache/internal/tap"
)

var errRefused = errors.New("refused")

// Decoders returns a Maker of the decoders of package tap, without former objects. They give up if refuse
// returns true. damage breaks their results. Both may be nil.
func Decoders(refuse func(runtime.Object) bool, damage func(runtime.Object)) tap.Maker {
	own := tap.OwnDecoders(tap.Options{Ledger: &tap.Ledger{}}, nil)
	return func(t reflect.Type, e tap.Encoding) tap.Decoder {
		return faulty{own(t, e), refuse, damage}
	}
}

type faulty struct {
	tap.Decoder
	refuse func(runtime.Object) bool
	damage func(runtime.Object)
}

func (d faulty) Object(f tap.Frame, check bool) (runtime.Object, error) {
	return d.finish(d.Decoder.Object(f, check))
}

func (d faulty) List(body io.Reader, check bool) tap.List {
	return faultyList{d.Decoder.List(body, check), d}
}

func (d faulty) finish(obj runtime.Object, err error) (runtime.Object, error) {
	if err != nil {
		return nil, err
	}
	if d.refuse != nil && d.refuse(obj) {
		return nil, errRefused
	}
	if d.damage != nil {
		d.damage(obj)
	}
	return obj, nil
}

type faultyList struct {
	tap.List
	decoder faulty
}

func (l faultyList) Next() (tap.Item, error) {
	item, err := l.List.Next()
	if err == nil {
		item.Object, item.Why = l.decoder.finish(item.Object, item.Why)
	}
	return item, err
}
