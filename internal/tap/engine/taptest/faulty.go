// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package taptest provides decoders that fail on demand, and server responses, for tests of package tap.
package taptest

import (
	"errors"
	"io"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/decode"
	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
)

var errRefused = errors.New("refused")

// Decoders returns a Maker of the decoders of package engine, without former objects. They give up if refuse
// returns true. damage breaks their results. Both may be nil.
func Decoders(refuse func(runtime.Object) bool, damage func(runtime.Object)) engine.Maker {
	own := engine.OwnDecoders(&tap.Ledger{})
	return func(t reflect.Type, e engine.Encoding) engine.Decoder {
		return faulty{own(t, e), refuse, damage}
	}
}

// Engine returns a maker of engines with the decoders of a Maker.
func Engine(decoders engine.Maker) tap.Maker {
	return func(lists clientgo.ListerWatcherWithContext, example any, o tap.Options) tap.Engine {
		return engine.New(lists, example, engine.Options{Options: o, Make: decoders})
	}
}

type faulty struct {
	engine.Decoder
	refuse func(runtime.Object) bool
	damage func(runtime.Object)
}

func (d faulty) Object(f engine.Frame, _ decode.Former, check bool) (runtime.Object, decode.Row, error) {
	obj, _, err := d.Decoder.Object(f, decode.Former{}, check)
	obj, err = d.finish(obj, err)
	return obj, nil, err
}

func (d faulty) List(body io.Reader, check bool) engine.List {
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
	engine.List
	decoder faulty
}

func (l faultyList) Again(wire []byte) (runtime.Object, error) {
	return l.decoder.finish(l.List.Again(wire))
}

func (l faultyList) Next() (engine.Item, error) {
	item, err := l.List.Next()
	if err == nil {
		item.Object, item.Why = l.decoder.finish(item.Object, item.Why)
	}
	return item, err
}
