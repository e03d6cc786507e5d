// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache

import (
	"testing"

	"pgregory.net/rapid"
)

// FuzzRealFIFO does any operations to a RealFIFO and its model.
func FuzzRealFIFO(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { driveRealFIFO(t) }))
}

// FuzzDeltaFIFO does any operations to a DeltaFIFO and its model.
func FuzzDeltaFIFO(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		known := knownItems{}
		r := &deltaFIFORig{
			fifo:  NewDeltaFIFOWithOptions(DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: known, EmitDeltaTypeReplaced: true}),
			model: queueModel{known: known},
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":     func(t *rapid.T) { r.put(t, Added, r.fifo.Add) },
			"update":  func(t *rapid.T) { r.put(t, Updated, r.fifo.Update) },
			"delete":  func(t *rapid.T) { r.put(t, Deleted, r.fifo.Delete) },
			"replace": r.replace,
			"resync":  r.resync,
			"pop":     r.pop,
		})
	}))
}

// FuzzAtomicRealFIFO does any operations to a RealFIFO as our informers use it, and its model.
func FuzzAtomicRealFIFO(f *testing.F) { f.Fuzz(rapid.MakeFuzz(atomicOperations)) }
