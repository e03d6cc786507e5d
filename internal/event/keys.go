// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package event

import (
	clientgo "k8s.io/client-go/tools/cache"
)

// KeyFinder returns the string of a key that it holds. It does not keep text.
type KeyFinder interface {
	Key(text []byte) (key string, ok bool)
}

// Wrapping is what a queue looks into for the object that the key function gets. Each queue takes
// what client-go's does.
type Wrapping int

const (
	OpensNothing    Wrapping = iota // FIFO
	OpensTombstones                 // DeltaFIFO: Deltas, a DeletedFinalStateUnknown, and one in Deltas
	OpensDeltas                     // RealFIFO: these and a Delta
)

// open returns the object, or the tombstone, in what may wrap it.
func (w Wrapping) open(obj any) (inside any, err error) {
	if w < OpensTombstones {
		return obj, nil
	}
	if wrapped, ok := obj.(clientgo.Deltas); ok {
		if len(wrapped) == 0 {
			return nil, clientgo.KeyError{Obj: obj, Err: clientgo.ErrZeroLengthDeltasObject}
		}
		obj = wrapped.Newest().Object
	}
	if wrapped, ok := obj.(clientgo.Delta); ok && w >= OpensDeltas {
		obj = wrapped.Object
	}
	return obj, nil
}
