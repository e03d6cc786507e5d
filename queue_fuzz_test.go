// Copyright The kinformer Authors.
// SPDX-License-Identifier: Apache-2.0

package cache_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/kinformer/cache"
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
			fifo:  cache.NewDeltaFIFOWithOptions(cache.DeltaFIFOOptions{KeyFunction: itemKey, KnownObjects: known, EmitDeltaTypeReplaced: true}),
			model: queueModel{known: known},
		}
		t.Repeat(map[string]func(*rapid.T){
			"add":     func(t *rapid.T) { r.put(t, cache.Added, r.fifo.Add) },
			"update":  func(t *rapid.T) { r.put(t, cache.Updated, r.fifo.Update) },
			"delete":  func(t *rapid.T) { r.put(t, cache.Deleted, r.fifo.Delete) },
			"replace": r.replace,
			"resync":  r.resync,
			"pop":     r.pop,
		})
	}))
}

// FuzzAtomicRealFIFO does any operations to a RealFIFO as our informers use it, and its model.
func FuzzAtomicRealFIFO(f *testing.F) { f.Fuzz(rapid.MakeFuzz(atomicOperations)) }
