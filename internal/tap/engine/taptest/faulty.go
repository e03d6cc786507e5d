// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

// Package taptest provides decoders that fail on demand, and server responses, for tests of package tap.
package taptest

import (
	"errors"
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgo "k8s.io/client-go/tools/cache"

	"github.com/kinformer/cache/internal/tap"
	"github.com/kinformer/cache/internal/tap/engine"
)

var errRefused = errors.New("refused")

// Decoders returns a Maker of the decoders of package engine, without former objects. They give up if refuse
// returns true. damage breaks their results. Both may be nil.
func Decoders(refuse func(runtime.Object) bool, damage func(runtime.Object)) engine.Maker {
	own := engine.OwnDecoders(&tap.Ledger{})
	return func(t reflect.Type, e engine.Encoding) engine.Decode {
		decode := own(t, e)
		return func(data []byte, list *metav1.TypeMeta) (runtime.Object, error) {
			obj, err := decode(data, list)
			switch {
			case err != nil:
				return nil, err
			case refuse != nil && refuse(obj):
				return nil, errRefused
			case damage != nil:
				damage(obj)
			}
			return obj, nil
		}
	}
}

// Engine returns a maker of engines with the decoders of a Maker.
func Engine(decoders engine.Maker) tap.Maker {
	return func(lists clientgo.ListerWatcherWithContext, example any, o tap.Options) tap.Engine {
		return engine.New(lists, example, engine.Options{Options: o, Make: decoders})
	}
}
